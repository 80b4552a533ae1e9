//! Randomly drawn Gaussian targets for simulations.

use faer::Mat;
use mcsa_core::{Error, Stream};
use rand_distr::{ChiSquared, Distribution};

use super::Gaussian;

impl Gaussian {
    /// Draws a Gaussian with independent coordinates of very different scales: `mean ~ N(0, I)`, `variance_i = exp(N(0, 1))`.
    ///
    /// The target of the simulations of MCSE and CW, which call it isotropic.
    ///
    /// ```
    /// let target = mcsa_models::Gaussian::random_diagonal(100, &mut mcsa_core::Seed::new(1).stream(0, 0))?;
    /// assert_eq!(target.mean_field_floor(), 0.0);
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a variance underflows to 0, which in practice does not happen.
    pub fn random_diagonal(dim: usize, stream: &mut Stream) -> Result<Self, Error> {
        let mut mean = vec![0.0; dim];
        stream.normals_into(&mut mean);
        let scales = (0..dim).map(|_| (0.5 * stream.normal()).exp()).collect();
        Self::diagonal(mean, scales)
    }

    /// Draws a correlated Gaussian with Wishart covariance (pMCSA, section 5.1): `mean ~ N(0, I)`,
    ///
    /// ```text
    /// covariance ~ Wishart(freedom, diag(1/d, 2/d, .., 1)),   E[covariance] = freedom diag(1/d, 2/d, .., 1)
    /// ```
    ///
    /// Drawn by Bartlett's decomposition. Unlike the paper, whose `nu` is not the number of degrees of freedom, as its code takes
    /// `freedom = d + nu`.
    ///
    /// ```
    /// let target = mcsa_models::Gaussian::random_wishart(100, 600.0, &mut mcsa_core::Seed::new(1).stream(0, 0))?;
    /// // The divergence that no mean-field Gaussian gets below.
    /// assert!((3.5..5.5).contains(&target.mean_field_floor()));
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `freedom` is not a finite number above `dim - 1`.
    pub fn random_wishart(dim: usize, freedom: f64, stream: &mut Stream) -> Result<Self, Error> {
        let refuse = |_| {
            Error::parameter("freedom", freedom, "a finite number above the dimension less one")
                .within("Gaussian::random_wishart")
        };
        if !(freedom > dim as f64 - 1.0 && freedom.is_finite()) {
            return Err(refuse(()));
        }
        let mut mean = vec![0.0; dim];
        stream.normals_into(&mut mean);
        let mut factor = Mat::zeros(dim, dim);
        for i in 0..dim {
            let scale = ((i + 1) as f64 / dim as f64).sqrt();
            for k in 0..i {
                factor[(i, k)] = scale * stream.normal();
            }
            let chi = ChiSquared::new(freedom - i as f64).map_err(|_| refuse(()))?;
            factor[(i, i)] = scale * chi.sample(stream).sqrt();
        }
        Self::from_factor(mean, factor.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    /// The mean of 4096 Wishart matrices is within 6 standard errors: `Var[S_ij] = freedom (V_ij^2 + V_ii V_jj)`.
    #[test]
    fn wishart_matrices_have_their_mean() {
        let (n, dim, freedom) = (4096, 3, 4.5);
        let mut sum = Mat::<f64>::zeros(dim, dim);
        let mut stream = Seed::new(1).stream(0, 0);
        for _ in 0..n {
            sum += Gaussian::random_wishart(dim, freedom, &mut stream).unwrap().covariance();
        }
        let scale = |i: usize| (i + 1) as f64 / dim as f64;
        for i in 0..dim {
            for j in 0..dim {
                let v = if i == j { scale(i) } else { 0.0 };
                let error = (freedom * (v * v + scale(i) * scale(j)) / f64::from(n)).sqrt();
                assert!((sum[(i, j)] / f64::from(n) - freedom * v).abs() < 6.0 * error);
            }
        }
    }

    #[test]
    fn too_few_degrees_of_freedom_are_refused() {
        let error = Gaussian::random_wishart(3, 2.0, &mut Seed::new(1).stream(0, 0)).unwrap_err().to_string();
        assert!(error.contains("freedom is 2"), "{error}");
    }

    /// `rand_distr` does not promise stable values; a change of its gamma sampler breaks this test.
    #[test]
    fn the_first_targets_stay_what_they_are() {
        let target = Gaussian::random_wishart(2, 5.0, &mut Seed::new(1).stream(0, 0)).unwrap();
        let found = [target.mean()[0], target.mean()[1], target.variance(0), target.variance(1)];
        let expected =
            [0.104_907_041_583_832_8, -2.143_301_583_074_664_7, 3.391_832_966_574_236, 1.809_372_002_186_259];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
