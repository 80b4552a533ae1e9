//! The papers' bounds as functions, one file per paper.
//!
//! A name without an addition is the bound that holds; `.._as_printed` is what the paper prints where that does not.
//! Arguments: `range` bounds the oscillation of a scalar score, `norm` the Euclidean norm of a score, `w_star` is the
//! largest normalised importance weight, and `r = 1 - 1 / w*` the [`rate`] of independent Metropolis-Hastings.

pub mod cw;
pub mod mcmc_se;
pub mod pmcsa;

/// `r = 1 - 1 / w*`: independent Metropolis-Hastings forgets its start at least at this rate, and from the atom of the
/// largest weight exactly at it.
pub fn rate(w_star: f64) -> f64 {
    1.0 - 1.0 / w_star
}
