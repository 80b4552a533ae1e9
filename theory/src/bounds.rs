//! Bounds of the papers as functions, one module per paper.
//!
//! A function without suffix is a bound that holds; `.._as_printed` is the paper's formula where it differs. `range` bounds the
//! oscillation of a scalar score, and `norm` the Euclidean norm of a score. `w_star` is the largest normalised importance weight,
//! and `r = 1 - 1 / w*` the [`rate`] of independent Metropolis-Hastings.

/// Convergence rate `r = 1 - 1 / w*` of independent Metropolis-Hastings: the distance to the target falls at least by this factor
/// per step, and exactly by this factor from the atom of the largest weight.
pub fn rate(w_star: f64) -> f64 {
    1.0 - 1.0 / w_star
}

pub mod mcmc_se {
    //! Bounds on score estimators with a persistent chain (MCMC-SE).

    use super::rate;

    /// Bias bound of the average of one chain's `n` successive states, from any start (MCMC-SE, eq. 29).
    ///
    /// ```text
    /// (L / n) (w* - 1) (1 - r^n)  =  (L / n) (r + r^2 + .. + r^n)
    /// ```
    /// Attained from the atom of the largest weight in the limit where its target probability vanishes.
    pub fn sequential_bias(range: f64, w_star: f64, n: usize) -> f64 {
        range * (w_star - 1.0) * (1.0 - rate(w_star).powi(n as i32)) / n as f64
    }

    /// Printed bias bound of one chain, without its remainder `O(w*^-2)` (MCMC-SE, Thm. 1). It is no bound for `n >= 3`, and is
    /// negative for `n > 2 w*`.
    pub fn sequential_bias_as_printed(range: f64, w_star: f64, n: usize) -> f64 {
        range * (1.0 - n as f64 / (2.0 * w_star))
    }

    /// Bias bound of one chain with two more terms of the series: holds for every `w* >= 1` by Bonferroni's inequality.
    ///
    /// ```text
    /// L (1 - (n + 1) / (2 w*) + (n^2 - 1) / (6 w*^2))
    /// ```
    pub fn sequential_bias_series(range: f64, w_star: f64, n: usize) -> f64 {
        let n = n as f64;
        range * (1.0 - (n + 1.0) / (2.0 * w_star) + (n * n - 1.0) / (6.0 * w_star * w_star))
    }

    /// Bias bound of one transition of parallel chains, from any starts: `L (1 - 1 / w*)` (MCMC-SE, Thm. 2).
    pub fn parallel_bias(range: f64, w_star: f64) -> f64 {
        range * rate(w_star)
    }

    /// Convergence rate of conditional importance sampling with `candidates` in all (MCMC-SE, Thm. 3).
    ///
    /// ```text
    /// 1 - (N - 1) / (2 w* + N - 2)
    /// ```
    pub fn cis_rate(w_star: f64, candidates: usize) -> f64 {
        1.0 - (candidates as f64 - 1.0) / (2.0 * w_star + candidates as f64 - 2.0)
    }

    /// Bias bound of conditional importance sampling, from any start (MCMC-SE, Thm. 3).
    pub fn cis_bias(range: f64, w_star: f64, candidates: usize) -> f64 {
        range * cis_rate(w_star, candidates)
    }

    /// Printed bias bound of one transition from the second moment `C` of the score and the divergence (MCMC-SE, Thm. 4).
    /// Not a bound: it needs the root of `C`, and it omits the score that a rejection keeps.
    pub fn parallel_bias_by_divergence_as_printed(second_moment: f64, chi_squared: f64, w_star: f64) -> f64 {
        second_moment * (chi_squared + rate(w_star).powi(2)).sqrt()
    }

    /// Bias bound of one transition from the score's variance and Neyman's divergence `E_p (1/w - 1)^2`.
    ///
    /// ```text
    /// sqrt(V_p s) sqrt(chi^2 + r^2) + r sup |s - E_p s|
    /// ```
    pub fn parallel_bias_by_divergence(variance: f64, chi_squared: f64, w_star: f64, farthest: f64) -> f64 {
        variance.sqrt() * (chi_squared + rate(w_star).powi(2)).sqrt() + rate(w_star) * farthest
    }
}

pub mod pmcsa {
    //! Bounds on Markov chain score ascent (pMCSA). Distances are in total variation, `norm` bounds the Euclidean norm of
    //! a score, and candidates include the retained one.

    pub use super::mcmc_se::cis_rate;
    use super::rate;

    /// Upper bound on Smith and Tierney's `T_n(v)`, the density with respect to p of the accepted moves in `n` steps of independent
    /// Metropolis-Hastings (pMCSA, Lemma 2), for `v <= w*`.
    ///
    /// ```text
    /// 1 - r^n + n r^(n-1) (1/v - 1/w*)
    /// ```
    /// Attained at `v = w*`, and for `n = 1`.
    pub fn accepted(v: f64, w_star: f64, n: usize) -> f64 {
        let r = rate(w_star);
        1.0 - r.powi(n as i32) + n as f64 * r.powi(n as i32 - 1) * (1.0 / v - 1.0 / w_star)
    }

    /// Printed bound `(n / v) r^(n-1)` (pMCSA, Lemma 2). It holds for `n = 1` alone: as `n` grows it tends to 0, and `T_n` to 1.
    pub fn accepted_as_printed(v: f64, w_star: f64, n: usize) -> f64 {
        n as f64 / v * rate(w_star).powi(n as i32 - 1)
    }

    /// Bound on the mean of `f >= 0` after `n` steps of independent Metropolis-Hastings (pMCSA, Lemma 3).
    ///
    /// ```text
    /// (1 - r^n - n r^(n-1) / w*) E_p f + n r^(n-1) E_q f + r^n f(z)
    /// ```
    pub fn mean_after(under_target: f64, under_guide: f64, at_start: f64, w_star: f64, n: usize) -> f64 {
        let (r, k) = (rate(w_star), n as f64);
        let late = 1.0 - r.powi(n as i32) - k * r.powi(n as i32 - 1) / w_star;
        late * under_target + mean_after_as_printed(under_guide, at_start, w_star, n)
    }

    /// Printed bound on the mean after `n` steps (pMCSA, Lemma 3), without the target's term, which is the limit of the mean.
    pub fn mean_after_as_printed(under_guide: f64, at_start: f64, w_star: f64, n: usize) -> f64 {
        let r = rate(w_star);
        n as f64 * r.powi(n as i32 - 1) * under_guide + r.powi(n as i32) * at_start
    }

    /// Bias bound of an average of scores whose distribution is at `distance` from the target: `2 L TV` (pMCSA, Lemma 6, without
    /// its factor `sqrt(D)`).
    pub fn bias(norm: f64, distance: f64) -> f64 {
        2.0 * norm * distance
    }

    /// Bound on the second moment of an estimator from its variance, its bias and the norm of the exact mean (pMCSA, Lemma 5).
    ///
    /// ```text
    /// E|g|^2 <= V + B^2 + 2 B |mu| + |mu|^2
    /// ```
    pub fn second_moment(variance: f64, bias: f64, mean: f64) -> f64 {
        variance + (bias + mean).powi(2)
    }

    /// Bound on the mean squared error of Rao-Blackwellised conditional importance sampling (all candidates averaged), given the
    /// retained one.
    ///
    /// ```text
    /// 4 L^2 (sqrt((1 + chi^2) / (N - 1)) + (1 + w*) / N)^2,    chi^2 = V_q w
    /// ```
    /// This is the minimum over `eps` of the bound in pMCSA, Thm. 2 and its source, with `E_q w^2` in place of `V_q w`.
    /// Numerical searches on two atoms found no counterexample.
    pub fn rao_blackwellised_error(norm: f64, chi_squared: f64, w_star: f64, candidates: usize) -> f64 {
        rao_blackwellised_error_as_printed(norm, 1.0 + chi_squared, w_star, candidates)
    }

    /// Printed error bound, with `V_q w`. It does not hold: if the guide equals the target, only a term in `N^-2` remains.
    pub fn rao_blackwellised_error_as_printed(
        norm: f64,
        chi_squared: f64,
        w_star: f64,
        candidates: usize,
    ) -> f64 {
        let n = candidates as f64;
        let root = (chi_squared / (n - 1.0)).sqrt() + (1.0 + w_star) / n;
        4.0 * norm * norm * root * root
    }

    /// Bias bound of Rao-Blackwellised conditional importance sampling after `t` updates from a fixed start (pMCSA, Thm. 2).
    ///
    /// ```text
    /// 4 L / (N - 1) (chi^2 + 1 + w*) gamma^(t-1),    gamma = 2 w* / (2 w* + N - 2)
    /// ```
    pub fn rao_blackwellised_bias(
        norm: f64,
        chi_squared: f64,
        w_star: f64,
        candidates: usize,
        t: usize,
    ) -> f64 {
        let n = candidates as f64;
        4.0 * norm / (n - 1.0)
            * (chi_squared + 1.0 + w_star)
            * cis_rate_as_printed(w_star, candidates).powi(t as i32 - 1)
    }

    /// Printed rate `gamma = 2 w* / (2 w* + N - 2)` of conditional importance sampling: valid, and larger than [`cis_rate`].
    pub fn cis_rate_as_printed(w_star: f64, candidates: usize) -> f64 {
        2.0 * w_star / (2.0 * w_star + candidates as f64 - 2.0)
    }

    /// Sum `S_N = 1/N^2 sum_{n <= N} (n r^(n-1) + r^n)` (pMCSA, proof of Thm. 3). `L^2 S_N` does not bound the variance of JSA, whose
    /// diagonal part is at most `L^2 / N`.
    pub fn sequential_sum(w_star: f64, samples: usize) -> f64 {
        sum_of_rates(w_star, samples) / (samples * samples) as f64
    }

    /// Sum of rates `sum_{n <= N} (n r^(n-1) + r^n)`, term by term.
    pub fn sum_of_rates(w_star: f64, samples: usize) -> f64 {
        let r = rate(w_star);
        (1..=samples as i32).map(|n| f64::from(n) * r.powi(n - 1) + r.powi(n)).sum()
    }

    /// Sum of rates in closed form: `w*^2 + w* - 1 - r^N (w*^2 + w* - 1 + N w*)`.
    pub fn sum_of_rates_closed(w_star: f64, samples: usize) -> f64 {
        let (w, n) = (w_star, samples as f64);
        let head = w * w + w - 1.0;
        head - rate(w).powi(samples as i32) * (head + n * w)
    }

    /// Printed sum of rates: too large by `1 - r^N`.
    pub fn sum_of_rates_as_printed(w_star: f64, samples: usize) -> f64 {
        let (w, n) = (w_star, samples as f64);
        let head = w * w + w;
        head - rate(w).powi(samples as i32) * (head + n * w)
    }

    /// Distance of JSA's `N` states in update `k` from a stationary path, `p (x) K (x) .. (x) K`.
    ///
    /// ```text
    /// r^(N (k-1) + 1)
    /// ```
    pub fn sequential_path_distance(w_star: f64, samples: usize, k: usize) -> f64 {
        rate(w_star).powi((samples * (k - 1) + 1) as i32)
    }

    /// Printed distance of JSA from `N` independent draws of the target: `r (1 - r^N) / (r^N (1 - r)) r^(k N)` (pMCSA,
    /// Thm. 3). It is the sum of the distances of single states, not a bound on the distance of their joint distribution.
    pub fn sequential_distance_as_printed(w_star: f64, samples: usize, k: usize) -> f64 {
        let r = rate(w_star);
        (1..=samples).map(|n| r.powi((samples * (k - 1) + n) as i32)).sum()
    }

    /// Bound on the second moment of JSA's estimator given the previous state.
    ///
    /// ```text
    /// L^2/N + C_cov + (B + |mu|)^2,    B = 2 L (w* - 1) (1 - r^N) / N
    /// ```
    /// Without conditioning, at a fixed lambda and `before` transitions after a fixed start, `B` is multiplied by `r^before`.
    pub fn sequential_second_moment(
        norm: f64,
        mean: f64,
        covariance: f64,
        w_star: f64,
        samples: usize,
        before: usize,
    ) -> f64 {
        let r = rate(w_star);
        let n = samples as f64;
        let bias = 2.0 * norm * (w_star - 1.0) * (1.0 - r.powi(samples as i32)) / n * r.powi(before as i32);
        second_moment(norm * norm / n + covariance, bias, mean)
    }

    /// Variance bound of parallel chains given their states, `L^2 / N`; the bound of pMCSA, Thm. 4 is larger by a factor `1 + r`.
    pub fn parallel_variance(norm: f64, chains: usize) -> f64 {
        norm * norm / chains as f64
    }

    /// Printed variance bound, `L^2 / N (1 + r)` (pMCSA, Thm. 4), which holds.
    pub fn parallel_variance_as_printed(norm: f64, w_star: f64, chains: usize) -> f64 {
        parallel_variance(norm, chains) * (1.0 + rate(w_star))
    }

    /// Bound on the second moment of parallel chains given their states: `L^2/N + (|mu| + 2 r L)^2`. Without conditioning, at a fixed
    /// lambda and `before` updates after a fixed start, `r` is replaced by `r^(before + 1)`.
    pub fn parallel_second_moment(norm: f64, mean: f64, w_star: f64, chains: usize, before: usize) -> f64 {
        let bias = 2.0 * norm * rate(w_star).powi(before as i32 + 1);
        second_moment(parallel_variance(norm, chains), bias, mean)
    }

    /// Printed bound `L^2 / N (1 + r) + |mu|^2` (pMCSA, Thm. 4). It does not hold given the states: the bias has another order.
    pub fn parallel_second_moment_as_printed(norm: f64, mean: f64, w_star: f64, chains: usize) -> f64 {
        parallel_variance_as_printed(norm, w_star, chains) + mean * mean
    }
}

pub mod cw {
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

    /// Printed lower bound on the variance of the selected candidate (CW, Thm. 3): `N^4 / (w + N)^4 V[f_IS]`. Does not hold.
    pub fn cis_variance_as_printed(w: f64, fresh: usize, importance_variance: f64) -> f64 {
        (1.0 - cis_rejection(w, fresh)).powi(4) * importance_variance
    }

    /// Printed approximation of the variance of the weighted average (CW, eq. 13): `(1 - r)^2 V[f_IS]`. It can be off by any factor, 37 in
    /// the example of the errata.
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

    /// Lower bound on the mean probability that a point is kept, `1 / (1 + N / e^KL) - gap` (CW, Thm. 4), where the gap is
    /// [`jensen_gap`] or the exact one.
    pub fn mean_rejection(kl: f64, fresh: usize, gap: f64) -> f64 {
        cis_rejection(kl.exp(), fresh) - gap
    }

    /// Bound on the Jensen gap: `h(E_p w) - E_p h(w)` with `h(w) = w / (w + N)` is at most `V_p[w] / (E_p w + N)^2`.
    pub fn jensen_gap(mean_weight: f64, variance: f64, fresh: usize) -> f64 {
        variance / (mean_weight + fresh as f64).powi(2)
    }

    /// Printed bound on the Jensen gap, `w* / e^(2 KL)` (CW, Thm. 4). Does not hold.
    pub fn jensen_gap_as_printed(kl: f64, w_star: f64) -> f64 {
        w_star / (2.0 * kl).exp()
    }
}
