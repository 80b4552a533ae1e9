//! Bounds on sequential and parallel chains (CW).
//!
//! `fresh` is the number of fresh candidates of conditional importance sampling, the retained point not included.

use super::{mcmc_se, rate};

/// Bias bound of one chain's average in update `t`, with `n` transitions per update.
///
/// ```text
/// L r^(n (t - 1)) (w* - 1) (1 - r^n) / n
/// ```
pub fn sequential_bias(range: f64, w_star: f64, n: usize, t: usize) -> f64 {
    rate(w_star).powi((n * (t - 1)) as i32) * mcmc_se::sequential_bias(range, w_star, n)
}

/// Printed bias bound `L r^(n t)` (CW, Thm. 1): bounds the bias of the last state, not of the average.
pub fn sequential_bias_as_printed(range: f64, w_star: f64, n: usize, t: usize) -> f64 {
    range * rate(w_star).powi((n * t) as i32)
}

/// Bias bound of parallel chains after `t` transitions, `L r^t` (CW, Thm. 2). Holds if the guides do not depend on the
/// chains; `w_star` is the largest over all guides.
pub fn parallel_bias(range: f64, w_star: f64, t: usize) -> f64 {
    range * rate(w_star).powi(t as i32)
}

/// Lower bound on the probability that conditional importance sampling keeps a point of weight `w`: `1 / (1 + N / w)`
/// (CW, Prop. 3). By Jensen's inequality for `w / (w + S)`, `E[S] = N`.
pub fn cis_rejection(w: f64, fresh: usize) -> f64 {
    w / (w + fresh as f64)
}

/// Lower bound on the rejection probability of independent Metropolis-Hastings at weight `w`: `1 - 1 / w` (CW, Prop. 4).
pub fn imh_rejection(w: f64) -> f64 {
    1.0 - 1.0 / w
}

/// Printed lower bound on the variance of the selected candidate (CW, Thm. 3): `N^4 / (w + N)^4 V[f_IS]`. Does not hold.
pub fn cis_variance_as_printed(w: f64, fresh: usize, importance_variance: f64) -> f64 {
    (1.0 - cis_rejection(w, fresh)).powi(4) * importance_variance
}

/// Printed approximation of the variance of the weighted average (CW, eq. 13): `(1 - r)^2 V[f_IS]`. Off by any factor.
pub fn weighted_variance_as_printed(rejection: f64, importance_variance: f64) -> f64 {
    (1.0 - rejection).powi(2) * importance_variance
}

/// Variance of the weighted average with a retained point of weight `w_0`, to leading order in `N / w_0`:
///
/// ```text
/// (N / w_0^2) V_q[w (f - f_0)]
/// ```
/// Unlike the paper, the value `f_0` at the retained point enters.
pub fn weighted_variance(w: f64, fresh: usize, spread: f64) -> f64 {
    fresh as f64 * spread / (w * w)
}

/// Variance of the selected candidate's value, to leading order in `N / w_0`: `(N / w_0) E_q[w (f - f_0)^2]`.
pub fn selected_variance(w: f64, fresh: usize, square: f64) -> f64 {
    fresh as f64 * square / w
}

/// Lower bound on the mean probability that a point is kept, `1 / (1 + N / e^KL) - gap` (CW, Thm. 4), where the gap is
/// [`jensen_gap`] or the exact one.
pub fn mean_rejection(kl: f64, fresh: usize, gap: f64) -> f64 {
    cis_rejection(kl.exp(), fresh) - gap
}

/// Bound on the Jensen gap: `h(E_p w) - E_p h(w)` with `h(w) = w / (w + N)` is at most `V_p[w] / (E_p w + N)^2`.
pub fn jensen_gap(mean_weight: f64, variance: f64, fresh: usize) -> f64 {
    variance / (mean_weight + fresh as f64).powi(2)
}

/// Bound on the Jensen gap from the largest weight alone, by `V_p[w] <= (w* - E_p w) E_p w`.
pub fn jensen_gap_by_largest(mean_weight: f64, w_star: f64, fresh: usize) -> f64 {
    jensen_gap(mean_weight, (w_star - mean_weight) * mean_weight, fresh)
}

/// Printed bound on the Jensen gap, `w* / e^(2 KL)` (CW, Thm. 4). Does not hold.
pub fn jensen_gap_as_printed(kl: f64, w_star: f64) -> f64 {
    w_star / (2.0 * kl).exp()
}
