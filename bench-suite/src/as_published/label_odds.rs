//! Predictive probability of labels under a Gaussian process as computed by the published scripts.

use std::f64::consts::PI;

use faer::MatRef;
use mcsa_core::Error;
use mcsa_models::{GaussianProcessClassification, Link, Probit};

/// Log odds of label 1 at the rows of `x` as computed by the scripts of `MCMC-SE`, from the mean of `z` under `q`.
///
/// ```text
/// published:  Phi(m* / sqrt(8/pi + v)),            v = k** - k*' K^-1 k*
/// correct:    1 / (1 + exp(-m* / sqrt(1 + pi v*/8))),  v* = v + k*' K^-1 S_f K^-1 k*
/// ```
/// The published rule takes the mean of `f` under `q` for observed values, and predicts by a probit link although the model is
/// fitted with the logistic one.
///
/// # Errors
/// If the covariance at the mean has no Cholesky factor.
///
/// # Panics
/// If the shapes differ.
pub fn label_odds(
    model: &GaussianProcessClassification,
    x: MatRef<'_, f64>,
    mean: &[f64],
) -> Result<Vec<f64>, Error> {
    let mut odds = vec![0.0; x.nrows()];
    model.log_odds_from_moments(x, mean, &vec![0.0; mean.len()], &mut odds)?;
    // m / sqrt(8/pi + v) is sqrt(pi/8) m / sqrt(1 + pi v/8).
    odds.iter_mut().for_each(|odds| *odds = Probit::log_odds_of_normal((PI / 8.0).sqrt() * *odds, 0.0));
    Ok(odds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;
    use mcsa_core::numeric::scalar::log_ndtr;

    /// One datum, one new row, by hand; the variance of `q` matters to the model's rule alone.
    #[test]
    fn the_variance_of_q_is_left_out() {
        let model = GaussianProcessClassification::new(mat![[0.0]].as_ref(), &[1.0]).unwrap();
        let (mean, x) = ([0.2, -0.5, 0.1, 1.3], mat![[0.8]]);
        let (square, nugget) = (0.4_f64.exp(), (-1.0_f64).exp() + 1e-6);
        let s = 5.0_f64.sqrt() * 0.8 * (-0.1_f64).exp();
        let cross = square * (1.0 + s + s * s / 3.0) * (-s).exp();
        let (own, weight) = (square + nugget, cross / (square + nugget));
        let (m, v) = (weight * 1.3, own - weight * cross);
        let t = m / (8.0 / PI + v).sqrt();
        let expected = log_ndtr(t) - log_ndtr(-t);
        let found = label_odds(&model, x.as_ref(), &mean).unwrap()[0];
        assert!((found - expected).abs() < 1e-12 * expected.abs(), "{found} {expected}");
        // The twin: our rule moves with the variance of q, and is another one without it.
        let ours = |variance: f64| {
            let mut odds = [0.0];
            model.log_odds_from_moments(x.as_ref(), &mean, &[variance; 4], &mut odds).unwrap();
            odds[0]
        };
        assert!(ours(1.0) < ours(0.0) - 1e-3 && (ours(0.0) - found).abs() > 1e-3);
    }
}
