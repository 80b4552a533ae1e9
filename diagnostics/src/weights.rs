//! Effective sample size, chi-square divergence and bounds on the log evidence (ELBO, IWAE, EUBO) from importance weights.

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

/// Bounds on `log Z`, with `Z` the integral of an unnormalised p; the gaps of ELBO and EUBO are KL divergences.
///
/// ```text
/// E_q[log w]                  = log Z - KL(q || p)        from below   (ELBO)
/// E_q[log 1/K sum_k w_k]     <= log Z                     from below, closer   (IWAE; Burda, Grosse & Salakhutdinov 2016)
/// E_p[log w]                  = log Z + KL(p || q)        from above   (EUBO)
/// ```
/// The bounds hold for expectations; [`lower`](Self::lower) and [`closer`](Self::closer) need draws of q, [`upper`](Self::upper)
/// draws of p, such as converged chains. The interval between estimates therefore also contains their Monte Carlo error.
///
/// ```
/// use mcsa_diagnostics::LogEvidence;
/// let bounds = LogEvidence::of(&[0.0, 2.0], 2, &[1.0, 3.0]);
/// assert_eq!((bounds.lower, bounds.upper), (1.0, 2.0));
/// assert!(bounds.lower < bounds.closer && bounds.closer < bounds.upper);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogEvidence {
    /// Evidence lower bound (ELBO): the mean of `log w` over draws of q.
    pub lower: f64,
    /// Importance-weighted bound (IWAE): the mean, over groups of draws of q, of the log of the group's mean weight.
    pub closer: f64,
    /// Evidence upper bound (EUBO): the mean of `log w` over draws of p.
    pub upper: f64,
}

impl LogEvidence {
    /// Bounds from log weights at draws of q, taken in groups of `group`, and at draws of p. Draws that do not fill a group enter
    /// `lower` alone.
    ///
    /// A bound is NaN if its weights contain a NaN or `+inf`, or there is none. A weight of zero at a draw of q makes `lower`
    /// `-inf`, its correct value; a weight of zero at a draw of p is a contradiction, and `upper` is NaN.
    pub fn of(at_q: &[f64], group: usize, at_p: &[f64]) -> Self {
        let mean = |w: &[f64]| match largest(w) {
            Some(_) => w.iter().sum::<f64>() / w.len() as f64,
            None => f64::NAN,
        };
        let groups = at_q.chunks_exact(group.max(1));
        let count = groups.len() as f64;
        let sound = largest(at_q).is_some() && count > 0.0;
        let closer = if sound { groups.map(log_mean_exp).sum::<f64>() / count } else { f64::NAN };
        let upper = Some(mean(at_p)).filter(|upper| upper.is_finite());
        Self { lower: mean(at_q), closer, upper: upper.unwrap_or(f64::NAN) }
    }
}

/// `log 1/K sum_k exp(x_k)`; `-inf` if all values are.
fn log_mean_exp(values: &[f64]) -> f64 {
    let Some(top) = largest(values) else { return f64::NEG_INFINITY };
    let sum: f64 = values.iter().map(|x| (x - top).exp()).sum();
    top + (sum / values.len() as f64).ln()
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

    #[test]
    fn groups_of_one_are_the_lower_bound_and_one_group_the_estimate() {
        let w = [0.3, -1.0, 0.9, 2.0];
        let one = LogEvidence::of(&w, 1, &w);
        assert!((one.lower - one.closer).abs() < 1e-15);
        let all = LogEvidence::of(&w, 4, &w);
        let exact = (w.iter().map(|w: &f64| w.exp()).sum::<f64>() / 4.0).ln();
        assert!((all.closer - exact).abs() < 1e-15);
    }

    #[test]
    fn what_says_nothing_is_nan() {
        assert!(LogEvidence::of(&[1.0], 2, &[1.0]).closer.is_nan(), "no group is full");
        assert!(LogEvidence::of(&[1.0], 1, &[0.0, f64::NEG_INFINITY]).upper.is_nan());
        assert_eq!(LogEvidence::of(&[0.0, f64::NEG_INFINITY], 2, &[]).lower, f64::NEG_INFINITY);
    }
}
