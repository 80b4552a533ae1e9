//! Weights relative to the largest.

/// What log weights amount to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sum {
    /// The largest log weight.
    pub(super) top: f64,
    /// The sum of the weights relative to it.
    pub(super) total: f64,
    squares: f64,
}

impl Sum {
    /// The effective sample size (Kong 1992).
    pub(super) fn effective(self) -> f64 {
        self.total * self.total / self.squares
    }
}

/// Writes weights relative to the largest; `None` if none is positive. A log weight that is NaN or `+inf` is a fault of the model:
/// it is replaced by `-inf`, and counted.
pub(super) fn exponentiate(log_weights: &mut [f64], weights: &mut [f64], faults: &mut u64) -> Option<Sum> {
    let sum = relative(log_weights, weights)?;
    // A fault shows in the sum, so that nobody has to look at each weight.
    if sum.total.is_finite() {
        return Some(sum);
    }
    for weight in log_weights.iter_mut().filter(|weight| weight.is_nan() || **weight == f64::INFINITY) {
        *weight = f64::NEG_INFINITY;
        *faults += 1;
    }
    relative(log_weights, weights)
}

fn relative(log_weights: &[f64], weights: &mut [f64]) -> Option<Sum> {
    let mut top = f64::NEG_INFINITY;
    for &log_weight in log_weights {
        top = if log_weight > top { log_weight } else { top };
    }
    if top == f64::NEG_INFINITY {
        return None;
    }
    for (weight, log_weight) in weights.iter_mut().zip(log_weights) {
        *weight = log_weight - top;
    }
    mcsa::numeric::exp(weights);
    let (mut total, mut squares) = (0.0, 0.0);
    for &weight in &*weights {
        total += weight;
        squares += weight * weight;
    }
    Some(Sum { top, total, squares })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_as_effective_as_their_number() {
        let (mut weights, mut faults) = ([0.0; 4], 0);
        let sum = exponentiate(&mut [-900.0; 4], &mut weights, &mut faults).unwrap();
        assert_eq!((weights, sum.top, sum.total, sum.effective(), faults), ([1.0; 4], -900.0, 4.0, 4.0, 0));
    }

    #[test]
    fn faults_have_no_weight_and_are_counted() {
        let (mut logs, mut weights) = ([f64::NAN, 2.0, f64::INFINITY, f64::NEG_INFINITY], [0.0; 4]);
        let mut faults = 0;
        let sum = exponentiate(&mut logs, &mut weights, &mut faults).unwrap();
        assert_eq!((weights, sum.total, faults), ([0.0, 1.0, 0.0, 0.0], 1.0, 2));
        assert_eq!(exponentiate(&mut [f64::NEG_INFINITY; 4], &mut weights, &mut faults), None);
        assert_eq!(exponentiate(&mut [f64::INFINITY; 4], &mut weights, &mut faults), None);
    }
}
