//! Diagnostics of weights, chains and draws of an approximation: plain functions of slices.
//!
//! * From log weights `log p - log q` at draws of q: [`Pareto`] (k-hat, and smoothed weights),
//!   [`importance_sample_size`], [`chi_square`], bounds on the [`LogEvidence`].
//! * From Markov chains: [`effective_sample_size`], [`standard_error`], [`long_run_variance`], [`r_hat`]; their limits
//!   for many parameters at once: [`simultaneous_quantile`], [`split_r_hat_limit`], [`batch_ratio_limit`].
//! * From ranks of true values among draws: [`RankBand`], [`rank_error`].
//! * From points and gradients of `log p` at them, without exact draws: [`stein_discrepancy`].
//!
//! One contract holds for all: uninformative input gives NaN. A NaN or an infinity among draws, a chain that never moved, too
//! few values: the result is NaN, never a large sample size or a small discrepancy. Among log weights `-inf` is the
//! weight zero, a valid value; NaN and `+inf` are not valid.

mod chain;
mod interval;
mod pareto;
mod r_hat;
mod ranks;
mod stein;
mod values;
mod weights;

pub use chain::{batch_ratio_limit, effective_sample_size, long_run_variance, standard_error};
pub use interval::simultaneous_quantile;
pub use pareto::{GeneralisedPareto, Pareto, shape_threshold};
pub use r_hat::{bulk_sample_size, r_hat, split_r_hat, split_r_hat_limit};
pub use ranks::{RankBand, rank_error};
pub use stein::stein_discrepancy;
pub use values::quantile;
pub use weights::{LogEvidence, chi_square, importance_sample_size};
