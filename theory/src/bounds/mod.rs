//! Bounds of the papers as functions, one file per paper.
//!
//! A name without suffix is a bound that holds; `.._as_printed` is the paper's formula where it differs.
//! Arguments: `range` bounds the oscillation of a scalar score, `norm` the Euclidean norm of a score, `w_star` is the
//! largest normalised importance weight, and `r = 1 - 1 / w*` the [`rate`] of independent Metropolis-Hastings.

pub mod cw;
pub mod mcmc_se;
pub mod pmcsa;

/// Convergence rate `r = 1 - 1 / w*` of independent Metropolis-Hastings: the distance to the target falls at least by this factor
/// per step, and exactly by this factor from the atom of the largest weight.
pub fn rate(w_star: f64) -> f64 {
    1.0 - 1.0 / w_star
}
