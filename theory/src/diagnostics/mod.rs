//! Diagnostics of weights, chains and draws of an approximation: plain functions of slices.
//!
//! * From log weights `log p - log q` at draws of q: [`Pareto`] (k-hat, and smoothed weights),
//!   [`importance_sample_size`], [`chi_square`], bounds on the [`LogEvidence`].
//! * From Markov chains: [`effective_sample_size`], [`standard_error`], [`long_run_variance`], [`r_hat`]; their limits
//!   for many parameters at once: [`simultaneous_quantile`], [`split_r_hat_limit`], [`batch_ratio_limit`].
//! * From points and gradients of `log p` at them, without exact draws: [`stein_discrepancy`].
//!
//! One contract holds for all: uninformative input gives NaN. A NaN or an infinity among draws, a chain that never moved, too
//! few values: the result is NaN, never a large sample size or a small discrepancy. Among log weights `-inf` is the
//! weight zero, a valid value; NaN and `+inf` are not valid.

mod chain;
mod evidence;
mod importance;
mod interval;
mod pareto;
mod r_hat;
mod stein;

pub use chain::{batch_ratio_limit, effective_sample_size, long_run_variance, standard_error};
pub use evidence::LogEvidence;
pub use importance::{chi_square, importance_sample_size};
pub use interval::simultaneous_quantile;
pub use pareto::{GeneralisedPareto, Pareto, shape_threshold};
pub use r_hat::{r_hat, split_r_hat, split_r_hat_limit};
pub use stein::stein_discrepancy;

/// The largest log weight, if the weights are valid: none is NaN or `+inf`, and not all are `-inf`.
fn largest(log_weights: &[f64]) -> Option<f64> {
    let sound = log_weights.iter().all(|w| !w.is_nan() && *w != f64::INFINITY);
    let top = log_weights.iter().fold(f64::NEG_INFINITY, |top, &w| top.max(w));
    (sound && top > f64::NEG_INFINITY).then_some(top)
}

/// Mean and variance (denominator `n - 1`), in two passes.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, square / (n - 1.0))
}

/// True if all values are equal. Tested on the values, because rounding gives equal values a small variance.
fn is_constant(values: &[f64]) -> bool {
    values.iter().all(|x| *x == values[0])
}
