//! Bounds of chains that are wielded one by one or side by side (CW).
//!
//! `fresh` is the number of fresh candidates of conditional importance sampling, the retained point not included.

use super::{mcmc_se, rate};

/// The bias of one chain's average in update `t` of `n` transitions each, at fixed lambda.
///
/// ```text
/// L r^(n (t - 1)) (w* - 1) (1 - r^n) / n
/// ```
pub fn sequential_bias(range: f64, w_star: f64, n: usize, t: usize) -> f64 {
    rate(w_star).powi((n * (t - 1)) as i32) * mcmc_se::sequential_bias(range, w_star, n)
}

/// `L r^(n t)`, as printed (CW, Thm. 1): the bias of the last state, not of the average.
pub fn sequential_bias_as_printed(range: f64, w_star: f64, n: usize, t: usize) -> f64 {
    range * rate(w_star).powi((n * t) as i32)
}

/// The bias of parallel chains after `t` transitions, `L r^t` (CW, Thm. 2). Holds if the guides do not depend on the
/// chains; `w_star` is the largest over all of them.
pub fn parallel_bias(range: f64, w_star: f64, t: usize) -> f64 {
    range * rate(w_star).powi(t as i32)
}

/// The least probability that conditional importance sampling keeps a point of weight `w`: `1 / (1 + N / w)`
/// (CW, Prop. 3). Jensen's inequality for `w / (w + S)`, `E[S] = N`.
pub fn cis_rejection(w: f64, fresh: usize) -> f64 {
    w / (w + fresh as f64)
}

/// The least probability that independent Metropolis-Hastings rejects at weight `w`: `1 - 1 / w` (CW, Prop. 4).
pub fn imh_rejection(w: f64) -> f64 {
    1.0 - 1.0 / w
}

/// What the chain's variance is said to be at least, as printed (CW, Thm. 3): `N^4 / (w + N)^4 V[f_IS]`.
pub fn cis_variance_as_printed(w: f64, fresh: usize, importance_variance: f64) -> f64 {
    (1.0 - cis_rejection(w, fresh)).powi(4) * importance_variance
}

/// What the variance of the weighted average is said to be near, as printed (CW, eq. 13): `(1 - r)^2 V[f_IS]`.
pub fn weighted_variance_as_printed(rejection: f64, importance_variance: f64) -> f64 {
    (1.0 - rejection).powi(2) * importance_variance
}

/// To leading order in `N / w_0`, the variance of the weighted average with a retained point of weight `w_0`:
///
/// ```text
/// (N / w_0^2) V_q[w (f - f_0)]
/// ```
/// Unlike the paper, the value `f_0` at the retained point enters.
pub fn weighted_variance(w: f64, fresh: usize, spread: f64) -> f64 {
    fresh as f64 * spread / (w * w)
}

/// To leading order in `N / w_0`, the variance of the selected candidate's value: `(N / w_0) E_q[w (f - f_0)^2]`.
pub fn selected_variance(w: f64, fresh: usize, square: f64) -> f64 {
    fresh as f64 * square / w
}

/// The least mean probability that a point is kept, `1 / (1 + N / e^KL) - gap` (CW, Thm. 4), the gap being
/// [`jensen_gap`] or the true one.
pub fn mean_rejection(kl: f64, fresh: usize, gap: f64) -> f64 {
    cis_rejection(kl.exp(), fresh) - gap
}

/// The gap `h(E_p w) - E_p h(w)`, `h(w) = w / (w + N)`, is at most `V_p[w] / (E_p w + N)^2`.
pub fn jensen_gap(mean_weight: f64, variance: f64, fresh: usize) -> f64 {
    variance / (mean_weight + fresh as f64).powi(2)
}

/// The same by the largest weight alone, since `V_p[w] <= (w* - E_p w) E_p w`.
pub fn jensen_gap_by_largest(mean_weight: f64, w_star: f64, fresh: usize) -> f64 {
    jensen_gap(mean_weight, (w_star - mean_weight) * mean_weight, fresh)
}

/// `w* / e^(2 KL)`, as printed (CW, Thm. 4).
pub fn jensen_gap_as_printed(kl: f64, w_star: f64) -> f64 {
    w_star / (2.0 * kl).exp()
}
