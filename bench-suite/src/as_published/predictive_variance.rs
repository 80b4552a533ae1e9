//! The predictive variance of Gaussian process regression, as the scripts had it.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};
use mcsa::{Error, same_length};

/// The variance of a new latent value as the scripts of `pMCSA` computed it.
///
/// ```text
/// published:  k** - k^T (K + diag(1 / s^2))^-1 k
/// correct:    k** - k^T K^-1 k + k^T K^-1 diag(s^2) K^-1 k
/// ```
/// Here `s^2` are the *variational* variances of the latent values. The published rule has the shape of Laplace's method with
/// the likelihood's curvature replaced by `s^2`: the wider `q_lambda` is, the *smaller* the variance it predicts.
/// The correct rule is what [`mcsa_models::RobustGaussianProcess`] uses.
///
/// # Errors
/// If the shapes differ, a variance is not positive, or the sum of matrices is not positive definite.
pub fn predictive_variance(
    prior: f64,
    cross: &[f64],
    kernel: MatRef<'_, f64>,
    variances: &[f64],
) -> Result<f64, Error> {
    let n = cross.len();
    same_length("kernel rows", n, kernel.nrows())?;
    same_length("kernel columns", n, kernel.ncols())?;
    same_length("variances", n, variances.len())?;
    if let Some(&value) = variances.iter().find(|&&v| !(v > 0.0 && v.is_finite())) {
        return Err(Error::parameter("a variance", value, "positive and finite"));
    }
    let sum = Mat::from_fn(n, n, |i, j| kernel[(i, j)] + if i == j { 1.0 / variances[i] } else { 0.0 });
    let factor =
        sum.llt(Side::Lower).map_err(|_| Error::invalid("K + diag(1 / s^2) is not positive definite"))?;
    let solved = factor.solve(Mat::from_fn(n, 1, |i, _| cross[i]));
    Ok(prior - (0..n).map(|i| cross[i] * solved[(i, 0)]).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    /// One datum, by hand: with `K = k** = 1` and `k = c`, published `1 - c^2 / (1 + 1/s^2)`, correct
    /// `1 - c^2 + c^2 s^2`.
    #[test]
    fn uncertainty_goes_the_wrong_way() {
        let cross = 0.8_f64;
        let published = |s2: f64| predictive_variance(1.0, &[cross], mat![[1.0]].as_ref(), &[s2]).unwrap();
        let correct = |s2: f64| 1.0 - cross * cross * (1.0 - s2);
        for s2 in [0.1, 0.5, 0.9] {
            assert!((published(s2) - (1.0 - cross * cross / (1.0 + 1.0 / s2))).abs() < 1e-15);
        }
        assert!(published(0.9) < published(0.1), "a wider q predicts less variance");
        assert!(correct(0.9) > correct(0.1), "where it should predict more");
        // A q as wide as the prior says nothing: then the prior's variance is right, and not what was published.
        assert_eq!(correct(1.0), 1.0);
        assert!((published(1.0) - 0.68).abs() < 1e-15);
    }

    #[test]
    fn bad_input_is_refused() {
        let kernel = Mat::<f64>::identity(2, 2);
        assert!(predictive_variance(1.0, &[0.1], kernel.as_ref(), &[1.0]).is_err());
        assert!(predictive_variance(1.0, &[0.1, 0.1], kernel.as_ref(), &[1.0, f64::NAN]).is_err());
        assert!(predictive_variance(1.0, &[0.1, 0.1], kernel.as_ref(), &[1.0, 0.0]).is_err());
    }
}
