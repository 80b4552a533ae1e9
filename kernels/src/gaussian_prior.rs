//! Gaussian prior, parameterised by a Cholesky factor.

use mcsa_core::{Error, all_finite, same_length};
use serde::{Deserialize, Serialize};

/// Gaussian distribution with a mean and the lower Cholesky factor F of its covariance.
///
/// ```text
/// z = mean + F n,   n ~ N(0, I),   covariance = F F^T
/// ```
///
/// Serialised as `mean` and `factor`, the latter a list of rows that end at the diagonal.
///
/// ```
/// use mcsa_kernels::GaussianPrior;
/// let prior = GaussianPrior::new(vec![1.0, 0.0], vec![vec![2.0], vec![1.0, 1.0]])?;
/// let mut n = [0.0; 2];
/// prior.whiten_into(&[3.0, 2.0], &mut n);
/// assert_eq!(n, [1.0, 1.0]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings", into = "Settings")]
pub struct GaussianPrior {
    mean: Vec<f64>,
    /// The lower triangle of F, row by row.
    factor: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    mean: Vec<f64>,
    factor: Vec<Vec<f64>>,
}

impl TryFrom<Settings> for GaussianPrior {
    type Error = Error;

    fn try_from(Settings { mean, factor }: Settings) -> Result<Self, Error> {
        Self::new(mean, factor)
    }
}

impl From<GaussianPrior> for Settings {
    fn from(prior: GaussianPrior) -> Self {
        let factor = (0..prior.mean.len()).map(|i| prior.row(i).to_vec()).collect();
        Self { mean: prior.mean, factor }
    }
}

impl GaussianPrior {
    /// A Gaussian with this mean and these rows of the lower factor: row `i` has `i + 1` entries, the last positive.
    ///
    /// # Errors
    /// If the number of rows differs from the dimension, row `i` does not have `i + 1` entries, a number is not finite or a
    /// diagonal entry is not positive.
    pub fn new(mean: Vec<f64>, factor: Vec<Vec<f64>>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("GaussianPrior");
        all_finite("mean", &mean).map_err(refuse)?;
        same_length("factor", mean.len(), factor.len()).map_err(refuse)?;
        for (i, row) in factor.iter().enumerate() {
            same_length("a row of the factor", i + 1, row.len()).map_err(refuse)?;
            all_finite("a row of the factor", row).map_err(refuse)?;
            if row[i] <= 0.0 {
                return Err(refuse(Error::parameter("a diagonal entry of the factor", row[i], "positive")));
            }
        }
        Ok(Self { mean, factor: factor.concat() })
    }

    /// The standard Gaussian: mean zero, unit covariance.
    pub fn standard(dim: usize) -> Self {
        let row = |i: usize| (0..=i).map(move |k| if k == i { 1.0 } else { 0.0 });
        Self { mean: vec![0.0; dim], factor: (0..dim).flat_map(row).collect() }
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Row `i` of the factor, up to the diagonal.
    ///
    /// # Panics
    /// If `i` is not below the dimension.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.factor[i * (i + 1) / 2..][..i + 1]
    }

    /// Checks that the prior has dimension `dim`.
    ///
    /// # Errors
    /// If the dimensions differ.
    pub(crate) fn fits(&self, dim: usize) -> Result<(), Error> {
        same_length("the mean of the prior", dim, self.mean.len())
    }

    /// Whitens a point: `out = F^-1 (z - mean)`.
    ///
    /// # Panics
    /// If the dimension of the point differs from that of the prior.
    pub fn whiten_into(&self, z: &[f64], out: &mut [f64]) {
        assert_eq!(z.len(), self.mean.len(), "a point of the prior's dimension");
        for i in 0..z.len() {
            let row = self.row(i);
            let above: f64 = row[..i].iter().zip(&*out).map(|(f, y)| f * y).sum();
            out[i] = (z[i] - self.mean[i] - above) / row[i];
        }
    }

    /// Colours standard normal noise: `out = F n`, so that `mean + F n` is a draw of the prior.
    ///
    /// # Panics
    /// If `out` is longer than the mean.
    pub fn colour_into(&self, noise: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.row(i).iter().zip(noise).map(|(f, n)| f * n).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colouring_undoes_whitening() {
        let prior =
            GaussianPrior::new(vec![0.5, -1.0, 2.0], vec![vec![2.0], vec![-0.5, 0.7], vec![0.1, 0.2, 1.5]])
                .unwrap();
        let (z, mut y, mut back) = ([0.3, 1.4, -2.0], [0.0; 3], [0.0; 3]);
        prior.whiten_into(&z, &mut y);
        prior.colour_into(&y, &mut back);
        for i in 0..3 {
            assert!((back[i] + prior.mean[i] - z[i]).abs() < 1e-14);
        }
        assert_eq!(prior.row(2), [0.1, 0.2, 1.5]);
        assert_eq!(GaussianPrior::standard(2).factor, [1.0, 0.0, 1.0]);
    }

    #[test]
    fn bad_factors_are_refused() {
        let refused = |mean: Vec<f64>, factor| GaussianPrior::new(mean, factor).unwrap_err().to_string();
        assert_eq!(refused(vec![0.0], vec![]), "GaussianPrior: factor has length 0, expected 1");
        assert!(refused(vec![0.0], vec![vec![0.0]]).contains("expected positive"));
        assert!(refused(vec![0.0], vec![vec![f64::NAN]]).contains("expected a finite number"));
        assert!(refused(vec![f64::INFINITY], vec![vec![1.0]]).starts_with("GaussianPrior: mean[0]"));
        assert!(
            refused(vec![0.0; 2], vec![vec![1.0], vec![1.0]]).contains("a row of the factor has length 1")
        );
    }
}
