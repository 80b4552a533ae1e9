//! Predictive variance of Gaussian process regression as computed by the published scripts.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};
use mcsa_core::{Error, same_length};

/// Variances of new latent values as computed by the scripts of `pMCSA`; `cross` has a column for each.
///
/// ```text
/// published:  k** - k^T (K + diag(1 / s^2))^-1 k
/// correct:    k** - k^T K^-1 k + k^T K^-1 diag(s^2) K^-1 k
/// ```
/// Here `s^2` are the *variational* variances of the latent values. The published rule has the form of Laplace's method with
/// the likelihood's curvature replaced by `s^2`: the wider `q_lambda` is, the *smaller* the predicted variance.
/// [`mcsa_models::RobustGaussianProcess`] uses the correct rule.
///
/// # Errors
/// If the shapes differ, a variance is not positive, or the sum of matrices is not positive definite.
pub fn predictive_variance(
    prior: f64,
    cross: MatRef<'_, f64>,
    kernel: MatRef<'_, f64>,
    variances: &[f64],
) -> Result<Vec<f64>, Error> {
    let n = cross.nrows();
    same_length("kernel rows", n, kernel.nrows())?;
    same_length("kernel columns", n, kernel.ncols())?;
    same_length("variances", n, variances.len())?;
    if let Some(&value) = variances.iter().find(|&&v| !(v > 0.0 && v.is_finite())) {
        return Err(Error::parameter("a variance", value, "positive and finite"));
    }
    let sum = Mat::from_fn(n, n, |i, j| kernel[(i, j)] + if i == j { 1.0 / variances[i] } else { 0.0 });
    let factor =
        sum.llt(Side::Lower).map_err(|_| Error::invalid("K + diag(1 / s^2) is not positive definite"))?;
    let solved = factor.solve(cross);
    let explained = |j: usize| (0..n).map(|i| cross[(i, j)] * solved[(i, j)]).sum::<f64>();
    Ok((0..cross.ncols()).map(|j| prior - explained(j)).collect())
}

/// Kernel of the Gaussian processes between rows of `x` and rows of `other`.
///
/// ```text
/// a^2 (1 + r sqrt 5 + 5 r^2/3) e^(-r sqrt 5),   r^2 = sum_k (x_ik - x_jk)^2 / l_k^2
/// ```
pub fn kernel(
    x: MatRef<'_, f64>,
    other: MatRef<'_, f64>,
    log_amplitude: f64,
    log_lengths: &[f64],
) -> Mat<f64> {
    Mat::from_fn(x.nrows(), other.nrows(), |i, j| {
        let term = |(k, log): (usize, &f64)| ((x[(i, k)] - other[(j, k)]) * (-log).exp()).powi(2);
        let s = (5.0 * log_lengths.iter().enumerate().map(term).sum::<f64>()).sqrt();
        (2.0 * log_amplitude - s).exp() * (1.0 + s + s * s / 3.0)
    })
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
        let published = |s2: f64| {
            predictive_variance(1.0, mat![[cross]].as_ref(), mat![[1.0]].as_ref(), &[s2]).unwrap()[0]
        };
        let correct = |s2: f64| 1.0 - cross * cross * (1.0 - s2);
        for s2 in [0.1, 0.5, 0.9] {
            assert!((published(s2) - (1.0 - cross * cross / (1.0 + 1.0 / s2))).abs() < 1e-15);
        }
        assert!(published(0.9) < published(0.1), "a wider q predicts less variance");
        assert!(correct(0.9) > correct(0.1), "where it should predict more");
        // A q as wide as the prior carries no information: the prior's variance is then correct, and differs from the
        // published rule.
        assert_eq!(correct(1.0), 1.0);
        assert!((published(1.0) - 0.68).abs() < 1e-15);
    }

    #[test]
    fn bad_input_is_refused() {
        let kernel = Mat::<f64>::identity(2, 2);
        let refused = |cross: Mat<f64>, variances: &[f64]| {
            predictive_variance(1.0, cross.as_ref(), kernel.as_ref(), variances).is_err()
        };
        assert!(refused(mat![[0.1]], &[1.0]));
        assert!(refused(mat![[0.1], [0.1]], &[1.0, f64::NAN]));
        assert!(refused(mat![[0.1], [0.1]], &[1.0, 0.0]));
        assert!(!refused(mat![[0.1], [0.1]], &[1.0, 1.0]));
    }

    /// With the correct rule this kernel reproduces the model's predictions, so it is the model's kernel.
    #[test]
    fn the_kernel_is_that_of_the_model() {
        let (x, new) = (mat![[0.0, 1.0], [0.7, -0.4], [-1.1, 0.3]], mat![[0.2, 0.1], [0.0, 1.0]]);
        let model = mcsa_models::RobustGaussianProcess::new(x.as_ref(), &[0.3, 0.1, -2.0]).unwrap();
        let mean: [f64; 9] = [0.1, -0.7, 0.3, 1.0, 0.2, -0.1, 0.5, -0.2, 0.1];
        let variance = [0.3; 9];
        let nugget = (2.0 * mean[1]).exp() + 1e-6;
        let mut square = kernel(x.as_ref(), x.as_ref(), mean[2], &mean[4..6]);
        (0..3).for_each(|i| square[(i, i)] += nugget);
        let cross = kernel(x.as_ref(), new.as_ref(), mean[2], &mean[4..6]);
        let solved = square.llt(Side::Lower).unwrap().solve(&cross);
        let found = model.predict_from_moments(new.as_ref(), &mean, &variance).unwrap();
        for (j, (m, v)) in found.into_iter().enumerate() {
            let expected: f64 = (0..3).map(|i| solved[(i, j)] * mean[6 + i]).sum();
            let term = |i: usize| solved[(i, j)] * (0.3 * solved[(i, j)] - cross[(i, j)]);
            let spread = (2.0 * mean[2]).exp() + nugget + (0..3).map(term).sum::<f64>();
            assert!((m - expected).abs() < 1e-10 && (v - spread).abs() < 1e-10, "{j}");
        }
    }
}
