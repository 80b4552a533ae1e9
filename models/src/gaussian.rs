//! Gaussian target with known normaliser, moments and mean-field optimum; randomly drawn ones for simulations.

use std::f64::consts::PI;

use faer::linalg::solvers::{Llt, LltError};
use faer::{Mat, MatMut, MatRef, Side};
use mcsa_core::numeric::{dot, sum_squares_scaled};
use mcsa_core::{
    Columns, ColumnsMut, Curvature, Error, ExactDraws, Gradient, LogDensity, Stream, all_finite, batch_mut,
    borrow, one, same_length,
};
use rand_distr::{ChiSquared, Distribution};

use crate::GroundTruth;
use crate::support::decided;
pub(crate) use mcsa_numeric::linear::Triangle;

/// Normalised Gaussian with a given mean and covariance.
///
/// ```text
/// log p(z) = -|y|^2/2 - sum log L_ii - (d/2) log 2 pi,   y = L^-1 (z - mean),   covariance = L L^T
/// ```
///
/// The optimum of the inclusive KL divergence over mean-field Gaussians has the target's mean and marginal
/// standard deviations (moment matching), which makes this target the first test of a method.
///
/// A diagonal covariance costs `d` operations per point and no further memory; a full one `d^2 / 2`, with `L` read once per batch.
///
/// ```
/// use mcsa_core::LogDensity;
/// let target = mcsa_models::Gaussian::standard(2);
/// assert!((target.log_density(&[0.0, 0.0], &mut [0.0; 2]) + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-15);
/// ```
#[derive(Debug, Clone)]
pub struct Gaussian {
    mean: Vec<f64>,
    shape: Shape,
    log_peak: f64,
}

#[derive(Debug, Clone)]
enum Shape {
    Diagonal { scale: Vec<f64>, inverse: Vec<f64> },
    Full(Triangle),
}

impl Gaussian {
    /// Standard Gaussian: mean zero and unit covariance. Dimension 0 is the point mass on the empty vector.
    pub fn standard(dim: usize) -> Self {
        Self::with_shape(vec![0.0; dim], Shape::Diagonal { scale: vec![1.0; dim], inverse: vec![1.0; dim] })
    }

    /// Gaussian with independent coordinates, from their means and standard deviations.
    ///
    /// # Errors
    /// If the lengths differ, a mean is not finite, or a scale or its reciprocal is not positive and finite.
    pub fn diagonal(mean: Vec<f64>, scale: Vec<f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Gaussian");
        all_finite("mean", &mean).map_err(refuse)?;
        same_length("scale", mean.len(), scale.len()).map_err(refuse)?;
        let inverse: Vec<f64> = scale.iter().map(|s| s.recip()).collect();
        let usable = |x: f64| x > 0.0 && x.is_finite();
        if let Some(i) = (0..scale.len()).find(|&i| !(usable(scale[i]) && usable(inverse[i]))) {
            return Err(refuse(Error::parameter("scale", scale[i], "positive and finite")));
        }
        Ok(Self::with_shape(mean, Shape::Diagonal { scale, inverse }))
    }

    /// Gaussian with a mean and a full covariance, of which only the lower triangle is read.
    ///
    /// # Errors
    /// If the shapes differ, a number is not finite, or the covariance is not positive definite.
    pub fn new(mean: Vec<f64>, covariance: MatRef<'_, f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Gaussian");
        let dim = mean.len();
        all_finite("mean", &mean).map_err(refuse)?;
        same_length("covariance rows", dim, covariance.nrows()).map_err(refuse)?;
        same_length("covariance columns", dim, covariance.ncols()).map_err(refuse)?;
        let covariance = Mat::from_fn(dim, dim, |i, j| covariance[(i.max(j), i.min(j))]);
        for j in 0..dim {
            all_finite("covariance", covariance.col_as_slice(j)).map_err(refuse)?;
        }
        match Llt::new(covariance.as_ref(), Side::Lower) {
            Ok(llt) => Ok(Self::with_shape(mean, Shape::Full(Triangle::new(llt.L())))),
            Err(LltError::NonPositivePivot { index }) => {
                Err(refuse(Error::NotPositiveDefinite { what: "covariance", pivot: index }))
            }
        }
    }

    /// Gaussian with a mean and the Cholesky factor `L` of its covariance, of which only the lower triangle is read.
    ///
    /// # Errors
    /// If the shapes differ, a number is not finite, or the diagonal is not positive.
    pub fn from_factor(mean: Vec<f64>, factor: MatRef<'_, f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Gaussian");
        let dim = mean.len();
        all_finite("mean", &mean).map_err(refuse)?;
        same_length("factor rows", dim, factor.nrows()).map_err(refuse)?;
        same_length("factor columns", dim, factor.ncols()).map_err(refuse)?;
        for k in 0..dim {
            all_finite("factor", &factor.column(k)[k..]).map_err(refuse)?;
            if factor[(k, k)] <= 0.0 {
                return Err(refuse(Error::parameter("factor's diagonal", factor[(k, k)], "positive")));
            }
        }
        Ok(Self::with_shape(mean, Shape::Full(Triangle::new(factor))))
    }

    fn with_shape(mean: Vec<f64>, shape: Shape) -> Self {
        let log_det: f64 = match &shape {
            Shape::Diagonal { scale, .. } => scale.iter().map(|s| s.ln()).sum(),
            Shape::Full(triangle) => triangle.log_det(),
        };
        let log_peak = -log_det - 0.5 * mean.len() as f64 * (2.0 * PI).ln();
        Self { mean, shape, log_peak }
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The variance of coordinate `i`.
    pub fn variance(&self, i: usize) -> f64 {
        match &self.shape {
            Shape::Diagonal { scale, .. } => scale[i] * scale[i],
            Shape::Full(triangle) => triangle.row(i).iter().map(|l| l * l).sum(),
        }
    }

    /// The covariance `L L^T`, computed at each call.
    pub fn covariance(&self) -> Mat<f64> {
        let dim = self.mean.len();
        Mat::from_fn(dim, dim, |i, j| match &self.shape {
            Shape::Full(triangle) => triangle.row(i).iter().zip(triangle.row(j)).map(|(a, b)| a * b).sum(),
            Shape::Diagonal { .. } if i != j => 0.0,
            Shape::Diagonal { .. } => self.variance(i),
        })
    }

    /// Minimum of `KL(p || q)` over mean-field Gaussians `q`: `(sum log covariance_ii - log det covariance) / 2`.
    pub fn mean_field_floor(&self) -> f64 {
        match &self.shape {
            Shape::Diagonal { .. } => 0.0,
            Shape::Full(triangle) => {
                (0..self.mean.len()).map(|i| 0.5 * self.variance(i).ln()).sum::<f64>() - triangle.log_det()
            }
        }
    }

    fn value(&self, form: f64, z: &[f64]) -> f64 {
        decided(self.log_peak - 0.5 * form, z)
    }

    /// Writes `L^-1 (z - mean)` of each column to `ys`, and the log densities.
    fn whitened_into(&self, triangle: &Triangle, z: MatRef<'_, f64>, out: &mut [f64], ys: &mut [f64]) {
        let dim = z.nrows().max(1);
        for (j, y) in ys.chunks_exact_mut(dim).enumerate() {
            y.iter_mut().zip(z.column(j).iter().zip(&self.mean)).for_each(|(y, (z, mean))| *y = z - mean);
        }
        triangle.whiten(ys);
        for (j, out) in out.iter_mut().enumerate() {
            let y = &ys[j * z.nrows()..][..z.nrows()];
            *out = self.value(dot(y, y), z.column(j));
        }
    }
}

impl LogDensity for Gaussian {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn work_len(&self, columns: usize) -> usize {
        match self.shape {
            Shape::Diagonal { .. } => 0,
            Shape::Full(_) => self.dim() * columns,
        }
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut out = [0.0];
        self.log_densities(one(z), &mut out, work);
        out[0]
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], mut work: &mut [f64]) {
        assert!(z.ncols() == out.len() && z.nrows() == self.dim(), "a density per column");
        match &self.shape {
            Shape::Diagonal { inverse, .. } => {
                for (j, out) in out.iter_mut().enumerate() {
                    *out = self.value(sum_squares_scaled(z.column(j), &self.mean, inverse), z.column(j));
                }
            }
            Shape::Full(triangle) => {
                let ys = borrow(&mut work, z.nrows() * z.ncols());
                self.whitened_into(triangle, z, out, ys);
            }
        }
    }
}

impl Gradient for Gaussian {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let (mut out, dim) = ([0.0], gradient.len());
        self.gradients_into(one(z), &mut out, batch_mut(gradient, dim, 1), work);
        out[0]
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        assert!(gradients.ncols() == out.len() && gradients.nrows() == self.dim(), "a gradient per column");
        match &self.shape {
            Shape::Diagonal { inverse, .. } => {
                self.log_densities(z, out, work);
                for j in 0..out.len() {
                    let parts = z.column(j).iter().zip(self.mean.iter().zip(inverse));
                    for (g, (z, (mean, inverse))) in gradients.column_mut(j).iter_mut().zip(parts) {
                        *g = (mean - z) * inverse * inverse;
                    }
                }
            }
            Shape::Full(triangle) => {
                let ys = borrow(&mut work, z.nrows() * z.ncols());
                self.whitened_into(triangle, z, out, ys);
                triangle.whiten_back(ys);
                for (j, y) in ys.chunks_exact(z.nrows().max(1)).enumerate() {
                    gradients.column_mut(j).iter_mut().zip(y).for_each(|(g, y)| *g = -y);
                }
            }
        }
    }
}

impl Curvature for Gaussian {
    fn hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        match &self.shape {
            Shape::Diagonal { inverse, .. } => {
                out.iter_mut().zip(v).zip(inverse).for_each(|((out, v), s)| *out = -v * s * s);
            }
            Shape::Full(triangle) => {
                out.copy_from_slice(v);
                triangle.whiten(out);
                triangle.whiten_back(out);
                out.iter_mut().for_each(|x| *x = -*x);
            }
        }
    }
}

impl ExactDraws for Gaussian {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        match &self.shape {
            Shape::Diagonal { scale, .. } => z.iter_mut().zip(scale).for_each(|(z, scale)| *z *= scale),
            Shape::Full(triangle) => triangle.colour(z),
        }
        z.iter_mut().zip(&self.mean).for_each(|(z, mean)| *z += mean);
    }
}

impl GroundTruth for Gaussian {
    fn mean(&self) -> Option<Vec<f64>> {
        Some(self.mean.clone())
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        Some(self.covariance())
    }
}

impl Gaussian {
    /// Draws a Gaussian with independent coordinates of very different scales: `mean ~ N(0, I)`, `variance_i = exp(N(0, 1))`.
    ///
    /// The target of the simulations of MCSE and CW, which call it isotropic.
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
    /// It is drawn by Bartlett's decomposition. The `nu` of the paper is not the number of degrees of freedom: its code takes
    /// `freedom = d + nu`.
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

    #[test]
    fn bad_input_is_refused_with_its_place() {
        let refused = |mean: Vec<f64>, covariance: Mat<f64>| {
            Gaussian::new(mean, covariance.as_ref()).unwrap_err().to_string()
        };
        assert_eq!(
            refused(vec![0.0], Mat::identity(2, 2)),
            "Gaussian: covariance rows has length 2, expected 1"
        );
        assert_eq!(
            refused(vec![f64::NAN], Mat::identity(1, 1)),
            "Gaussian: mean[0] is NaN, expected a finite number"
        );
        let indefinite = refused(vec![0.0; 2], faer::mat![[1.0, 2.0], [2.0, 1.0]]);
        assert!(indefinite.contains("not positive definite"), "{indefinite}");
    }

    #[test]
    fn dimension_zero_is_a_point_mass() {
        assert_eq!(Gaussian::standard(0).log_density(&[], &mut []), 0.0);
        assert_eq!(Gaussian::new(vec![], Mat::new().as_ref()).unwrap().dim(), 0);
    }

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
