//! Lower and upper bounds on the log evidence (ELBO, IWAE, EUBO).

use crate::values::largest;

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
