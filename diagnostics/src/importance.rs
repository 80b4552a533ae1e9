//! Effective sample size and chi-square divergence from importance weights.

use crate::values::largest;

/// Effective sample size of importance weights (Kong 1992).
///
/// ```text
/// ESS = (sum_i w_i)^2 / sum_i w_i^2,    between 1 and S
/// ```
/// It is computed from the observed weights: if q misses mass of p, it is large and wrong. [`Pareto`](super::Pareto) detects
/// heavy tails.
///
/// NaN if a log weight is NaN or `+inf`, or all are `-inf`.
///
/// ```
/// use mcsa_diagnostics::importance_sample_size;
/// assert_eq!(importance_sample_size(&[-7.0; 20]), 20.0);
/// assert_eq!(importance_sample_size(&[0.0, f64::NEG_INFINITY]), 1.0);
/// assert!(importance_sample_size(&[0.0, f64::NAN]).is_nan());
/// ```
pub fn importance_sample_size(log_weights: &[f64]) -> f64 {
    let Some(top) = largest(log_weights) else { return f64::NAN };
    let (mut sum, mut squares) = (0.0, 0.0);
    for w in log_weights.iter().map(|w| (w - top).exp()) {
        sum += w;
        squares += w * w;
    }
    sum * sum / squares
}

/// Divergence `chi^2(p || q) = E_q[(w / Z)^2] - 1`, with `Z` estimated from the given weights.
///
/// ```text
/// chi^2 = S sum_i w_i^2 / (sum_i w_i)^2 - 1  =  S / ESS - 1
/// ```
/// `log(1 + chi^2)` bounds `KL(p || q)` from above. The estimate is at most `S - 1` whatever the true value: it
/// is a lower bound in expectation, and useless where the shape of the weights' tail is above 1/2, because then the variance
/// that it estimates does not exist.
///
/// NaN if a log weight is NaN or `+inf`, or all are `-inf`.
pub fn chi_square(log_weights: &[f64]) -> f64 {
    log_weights.len() as f64 / importance_sample_size(log_weights) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_weights_by_hand() {
        // w = 1, 3: 16 / 10, and chi^2 = 2 * 10 / 16 - 1.
        let log_weights = [0.0, 3.0_f64.ln()];
        assert!((importance_sample_size(&log_weights) - 1.6).abs() < 1e-15);
        assert!((chi_square(&log_weights) - 0.25).abs() < 1e-15);
        let shifted = log_weights.map(|w| w + 900.0);
        assert!((importance_sample_size(&shifted) - 1.6).abs() < 1e-12, "a constant changes nothing");
    }
}
