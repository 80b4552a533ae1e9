//! Importance weights of a step's candidates.

/// How even the weights of a set of candidates are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Evenness {
    /// The largest normalised weight: 1 when one candidate outweighs all others.
    pub(crate) largest: f64,
    /// The effective sample size `1 / sum w^2` (Kong 1992).
    pub(crate) effective: f64,
}

/// Replaces log weights by weights that sum to one, and says how even they are; `None`, and all weights zero, if
/// no weight is positive. NaN counts as zero; `+inf` outweighs everything finite, and ties with its equals.
pub(crate) fn normalise(weights: &mut [f64]) -> Option<Evenness> {
    let top = weights.iter().fold(f64::NEG_INFINITY, |top, &w| top.max(w));
    if top == f64::NEG_INFINITY {
        weights.fill(0.0);
        return None;
    }
    for w in weights.iter_mut() {
        *w = match *w {
            w if w.is_nan() => f64::NEG_INFINITY,
            w if w == top => 0.0,
            w => w - top,
        };
    }
    mcsa::numeric::exp(weights);
    let total: f64 = weights.iter().sum();
    let (mut largest, mut squares) = (0.0_f64, 0.0);
    for w in weights.iter_mut() {
        *w /= total;
        largest = largest.max(*w);
        squares += *w * *w;
    }
    Some(Evenness { largest, effective: 1.0 / squares })
}

/// The log weight of a candidate: `log p - log q`, or `None` where a density is NaN or p is infinite, which is a
/// fault of the model or of lambda.
pub(crate) fn log_weight(log_p: f64, log_q: f64) -> Option<f64> {
    if log_p.is_nan() || log_q.is_nan() || log_p == f64::INFINITY {
        return None;
    }
    // Outside the support of p the weight is zero, also where q vanishes.
    Some(if log_p == f64::NEG_INFINITY { f64::NEG_INFINITY } else { log_p - log_q })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_as_effective_as_their_number() {
        let mut weights = [3.0; 4];
        let evenness = normalise(&mut weights).unwrap();
        assert_eq!(weights, [0.25; 4]);
        assert_eq!((evenness.largest, evenness.effective), (0.25, 4.0));
    }

    #[test]
    fn impossible_and_infinite_weights_have_a_meaning() {
        let mut weights = [f64::NAN, f64::NEG_INFINITY];
        assert_eq!(normalise(&mut weights), None);
        assert_eq!(weights, [0.0; 2]);
        let mut weights = [f64::INFINITY, 2.0, f64::INFINITY, f64::NAN];
        normalise(&mut weights).unwrap();
        assert_eq!(weights, [0.5, 0.0, 0.5, 0.0]);
        assert_eq!(normalise(&mut []), None);
        assert_eq!(log_weight(f64::NEG_INFINITY, f64::NEG_INFINITY), Some(f64::NEG_INFINITY));
        assert_eq!(log_weight(f64::INFINITY, 0.0), None);
        assert_eq!(log_weight(0.0, f64::NAN), None);
    }
}
