//! Weights relative to the largest, computed from log weights.

/// Sums of weights relative to the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sum {
    /// The largest log weight.
    pub(super) top: f64,
    /// Sum of the weights, divided by the largest.
    pub(super) total: f64,
    squares: f64,
}

impl Sum {
    /// Effective sample size (Kong 1992).
    pub(super) fn effective(self) -> f64 {
        self.total * self.total / self.squares
    }
}

/// Writes weights relative to the largest; `None` if no weight is positive. A log weight that is NaN or `+inf` is a fault
/// of the model: it is replaced by `-inf` and counted in `faults`.
pub(super) fn exponentiate(log_weights: &mut [f64], weights: &mut [f64], faults: &mut u64) -> Option<Sum> {
    let sum = relative(log_weights, weights)?;
    // A fault makes the sum non-finite, so that the usual case needs no test of each weight.
    if sum.total.is_finite() {
        return Some(sum);
    }
    for weight in log_weights.iter_mut().filter(|weight| weight.is_nan() || **weight == f64::INFINITY) {
        *weight = f64::NEG_INFINITY;
        *faults += 1;
    }
    relative(log_weights, weights)
}

/// As [`exponentiate`], for the particles' weights and, stored behind them, the weights by which the retained path draws
/// its ancestor: one exponential of twice as many numbers costs less than two. Faults of the latter are those of the former
/// and are counted once.
#[inline]
pub(super) fn exponentiate_both(
    log_weights: &mut [f64],
    log_ancestors: &mut [f64],
    weights: &mut [f64],
    faults: &mut u64,
) -> Option<(Sum, Option<Sum>)> {
    let (top, own) = (largest(log_weights), largest(log_ancestors));
    if top == f64::NEG_INFINITY || own == f64::NEG_INFINITY {
        let (weights, ancestors) = weights.split_at_mut(log_weights.len());
        let sum = exponentiate(log_weights, weights, faults)?;
        return Some((sum, exponentiate(log_ancestors, ancestors, &mut 0)));
    }
    let (first, second) = weights.split_at_mut(log_weights.len());
    subtract(log_weights, top, first);
    subtract(log_ancestors, own, second);
    mcsa_core::numeric::exp(weights);
    let (first, second) = weights.split_at_mut(log_weights.len());
    let (sum, ancestor) = (Sum::of(top, first), Sum::of(own, second));
    if sum.total.is_finite() && ancestor.total.is_finite() {
        return Some((sum, Some(ancestor)));
    }
    let sum = exponentiate(log_weights, first, faults)?;
    Some((sum, exponentiate(log_ancestors, second, &mut 0)))
}

#[inline]
fn relative(log_weights: &[f64], weights: &mut [f64]) -> Option<Sum> {
    let top = largest(log_weights);
    if top == f64::NEG_INFINITY {
        return None;
    }
    subtract(log_weights, top, weights);
    mcsa_core::numeric::exp(weights);
    Some(Sum::of(top, weights))
}

#[inline]
fn subtract(log_weights: &[f64], top: f64, out: &mut [f64]) {
    for (out, log_weight) in out.iter_mut().zip(log_weights) {
        *out = log_weight - top;
    }
}

/// Number of independent partial sums of a reduction: a serial chain of sums is most of the cost of a few particles.
const STRANDS: usize = 4;

/// Largest number; NaN is ignored.
#[inline]
fn largest(values: &[f64]) -> f64 {
    let larger = |top: f64, value: f64| if value > top { value } else { top };
    let mut tops = [f64::NEG_INFINITY; STRANDS];
    let chunks = values.chunks_exact(STRANDS);
    let rest = chunks.remainder().iter().copied().fold(f64::NEG_INFINITY, larger);
    for chunk in chunks {
        for (top, &value) in tops.iter_mut().zip(chunk) {
            *top = larger(*top, value);
        }
    }
    tops.into_iter().fold(rest, larger)
}

impl Sum {
    /// Sums of `weights`, which are relative to the largest.
    #[inline]
    fn of(top: f64, weights: &[f64]) -> Self {
        let (mut totals, mut squares) = ([0.0; STRANDS], [0.0; STRANDS]);
        let chunks = weights.chunks_exact(STRANDS);
        let rest = chunks.remainder();
        for chunk in chunks {
            for ((total, square), weight) in totals.iter_mut().zip(&mut squares).zip(chunk) {
                *total += weight;
                *square += weight * weight;
            }
        }
        for ((total, square), weight) in totals.iter_mut().zip(&mut squares).zip(rest) {
            *total += weight;
            *square += weight * weight;
        }
        let joined = |[a, b, c, d]: [f64; STRANDS]| (a + b) + (c + d);
        Self { top, total: joined(totals), squares: joined(squares) }
    }
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

    /// `exponentiate_both` equals two calls of `exponentiate`, also if one side is faulty or empty.
    #[test]
    fn both_at_once_are_both_alone() {
        let cases = [
            ([0.3, -2.0, 1.0, 5.0, 4.9], [0.1, 0.2, -900.0, 3.0, 0.0]),
            ([0.3, f64::NAN, 1.0, 5.0, 4.9], [0.1, f64::NAN, 0.0, 3.0, 0.0]),
            ([0.3, -2.0, 1.0, 5.0, 4.9], [f64::NEG_INFINITY; 5]),
            ([f64::NEG_INFINITY; 5], [0.0; 5]),
            ([f64::INFINITY, 0.0, 0.0, 0.0, 1.0], [f64::INFINITY, 0.0, 0.0, 0.0, 1.0]),
        ];
        for (logs, ancestors) in cases {
            let (mut a, mut b, mut weights, mut faults) = (logs, ancestors, [7.0; 10], 0);
            let both = exponentiate_both(&mut a, &mut b, &mut weights, &mut faults);
            let (mut c, mut d, mut first, mut second, mut alone) = (logs, ancestors, [7.0; 5], [7.0; 5], 0);
            let sum = exponentiate(&mut c, &mut first, &mut alone);
            assert_eq!(both.map(|both| both.0), sum);
            let Some((_, ancestor)) = both else { continue };
            assert_eq!(ancestor, exponentiate(&mut d, &mut second, &mut 0));
            assert_eq!((faults, &weights[..5]), (alone, &first[..]));
            assert!(ancestor.is_none() || weights[5..] == second);
        }
    }
}
