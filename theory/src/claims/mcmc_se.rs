//! Claims of MCMC-SE. `|s| <= L / 2` throughout.

use super::case::normalised;
use super::{
    Adaptive, Atoms, Claim, Searchable, Setting, Sides, few, half, largest_weight, started_at_target, within,
};
use crate::bounds::mcmc_se as bounds;
use crate::{Moments, Parts, dot};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    [transition(), bias(), divergence(), variance()].into_iter().flatten().collect()
}

/// Claims on one transition of the chain (MCMC-SE, Sec. 3 and Lemmas 1 and 2).
fn transition() -> Vec<Claim> {
    let any_start = |case: &Atoms| {
        // The law of the start, from the second coordinate of the score.
        let law = normalised(&case.further[0].iter().map(|s| 8.0 * s).collect::<Vec<_>>());
        let means = case.problem.imh().apply(case.problem.s());
        let bias = |mean: f64| (mean - case.problem.mean()).abs();
        let largest = means.iter().map(|&mean| bias(mean)).fold(0.0, f64::max);
        Sides::at_most(bias(dot(&law, &means)), largest)
    };
    // Both sides of Lemma 2, for the move at which they differ most.
    fn accepted(case: &Atoms, right: fn(f64, f64) -> f64) -> Option<Sides> {
        let (p, w) = (&case.problem, case.problem.w());
        let z = case.start;
        Sides::farthest((0..p.atoms()).filter(|&y| w[y] > 0.0).map(|y| {
            Sides::equal(p.q()[y] * (w[y] / w[z]).min(1.0), p.pi()[y] * right(1.0 / w[z], 1.0 / w[y]))
        }))
    }
    let adapted = |formula: &str, settings: &[Setting]| {
        Adaptive::bound(formula, settings, |case| {
            let bound = case.rate().powi(case.steps as i32);
            (case.rate() > 0.05).then(|| Sides::at_most(case.distance(), bound))
        })
    };
    let settings = Setting::with_dims(&few(), &[2]);
    vec![
        Atoms::bound("|E_{eta K} s - E_p s| <= sup_z |E_{K(z)} s - E_p s|", &settings, any_start)
            .twin_times(0.95)
            .claim("000-L1", "Lemma 1")
            .assuming("K keeps p; eta any law of the start, here with logits 8 times the second score")
            .remark("Eq. 13 writes an equality sign for \"at most\"."),
        Atoms::bound("q(z') min(1, w(z')/w(z)) = p(z') min(1/w(z), 1/w(z'))", &few(), |case| {
            accepted(case, f64::min)
        })
        .twin("with max for min on the right", |case| accepted(case, f64::max))
        .claim("000-L2", "Lemma 2")
        .assuming("w(z) > 0")
        .remark("Covers the accepted moves alone: what a rejection leaves at z is not in it."),
        // From the first atom the guide is (1/2, 1/2), from the second (3/4, 1/4).
        adapted(
            "TV(law of z_n, p) <= sup r^n, the guide chosen by the chain",
            &Setting::grid(&[2, 3], &[1], &[2, 3, 4]),
        )
        .example(Adaptive::new(&[0.5, 0.5], &[vec![0.5, 0.5], vec![0.75, 0.25]], 3, 0))
        .claim("000-AD", "Section 3, \"free to use ergodic rates\"")
        .remark(
            "One-step bounds given the past hold; powers of them do not, for the chain chooses its guide.",
        )
        .corrected(
            adapted("TV(K(z, .), p) <= sup r for one step, given z", &Setting::atoms(&[2, 3]))
                .twin_times(0.95),
        ),
    ]
}

/// Claims on the bias of one update (MCMC-SE, Sec. 4).
fn bias() -> Vec<Claim> {
    // Bias of the average of `N` successive states, against a bound in `L`, `w*` and `N`.
    let average = |formula: &str, bound: fn(f64, f64, usize) -> f64| {
        Atoms::bound(formula, &Setting::grid(&[2, 3], &[1, 2, 3, 5, 8], &[1]), move |case| {
            case.rate_to(case.samples)?;
            let moments = case.problem.sequential(&case.problem.imh(), case.samples);
            let bias = (moments.means[case.start] - case.problem.mean()).abs();
            Some(Sides::at_most(bias, bound(case.range(), case.w_star(), case.samples)))
        })
    };
    let parallel = |case: &Atoms| {
        case.rate_to(1)?;
        Some(Sides::at_most(case.imh_bias(), bounds::parallel_bias(case.range(), case.w_star())))
    };
    let candidates = |case: &Atoms| {
        case.rate_to(1)?;
        let bias = (case.problem.cis(case.samples).means[case.start] - case.problem.mean()).abs();
        Some(Sides::at_most(bias, bounds::cis_bias(case.range(), case.w_star(), case.samples)))
    };
    vec![
        average("Bias[g_seq] <= L (1 - N/(2 w*))", bounds::sequential_bias_as_printed)
            .example(Atoms::new(&[1.0 / 16.0, 15.0 / 16.0], &[1.0 / 32.0, 31.0 / 32.0], &[1.0, -1.0]).samples(3))
            .claim("000-T1", "Theorem 1")
            .assuming("IMH, |s| <= L/2, remainder O(w*^-2) left out")
            .remark("The remainder is (N^2-1)/6 L/w*^2: not uniform in N, and without it the bound is negative for N > 2 w*.")
            .corrected(
                average("Bias[g_seq] <= L (1 - (N+1)/(2 w*) + (N^2-1)/(6 w*^2))", bounds::sequential_bias_series)
                    .twin_times(0.95),
            ),
        average("Bias[g_seq] <= L (w*-1)/N (1 - r^N)", bounds::sequential_bias)
            .twin_times(0.95)
            .claim("000-T1-EQ29", "eq. 29, in the proof of Theorem 1")
            .assuming("IMH, |s| <= L/2")
            .remark("Attained from the atom of w*, up to the factor 1 - p(z*)."),
        Atoms::bound("Bias[g_par] <= L (1 - 1/w*)", &Setting::with_dims(&few(), &[1, 2]), parallel)
            .twin_times(0.95)
            .claim("000-T2", "Theorem 2")
            .assuming("IMH, Euclidean norms, |s| <= L/2")
            .remark("In eq. 37 an equality sign stands for \"at most\". With |s|_inf <= L/2 a factor sqrt(D) is missing."),
        Atoms::bound(
            "Bias[g_CIS] <= L (1 - (N-1)/(2 w* + N - 2))",
            &Setting::grid(&[2, 3], &[2, 3, 4, 6], &[1]),
            candidates,
        )
        .twin_times(0.95)
        .claim("000-T3", "Theorem 3")
        .assuming("CIS with N candidates, the retained one included; |s| <= L/2")
        .remark("\"N > 2\" is not needed; with N fresh candidates it holds all the more."),
        largest_weight()
            .twin_times(0.95)
            .claim("000-P1", "Proposition 1")
            .remark("Equality where w = w* on the support of p, as at p = q."),
    ]
}

/// Claims on bias in terms of a divergence (MCMC-SE, Thm. 4).
fn divergence() -> Vec<Claim> {
    // The constant is a function of `E_p[s^2]`. From an atom of weight 2 the rejection probability alone exceeds the bound.
    let printed = |formula: &str, constant: fn(f64) -> f64| {
        let bound = Atoms::bound(formula, &few(), move |case| {
            let second_moment = case.problem.variance() + case.problem.mean().powi(2);
            let (constant, chi_squared) = (constant(second_moment), case.problem.neyman()?);
            let bound = bounds::parallel_bias_by_divergence_as_printed(constant, chi_squared, case.w_star());
            Some(Sides::at_most(case.imh_bias(), bound))
        });
        bound.example(Atoms::new(&[0.25, 0.75], &[0.125, 0.875], &[1.0, 0.0]))
    };
    // The root of the variance in place of the second moment, plus the score that a rejection keeps.
    let corrected = || {
        let formula = "Bias[g_par | z] <= sqrt(V_p s) sqrt(chi_N^2 + r^2) + r sup|s - E_p s|";
        let bound = Atoms::bound(formula, &few(), |case| {
            case.rate_to(1)?;
            let p = &case.problem;
            let farthest = p.s().iter().map(|s| (s - p.mean()).abs()).fold(0.0, f64::max);
            let bound =
                bounds::parallel_bias_by_divergence(p.variance(), p.neyman()?, case.w_star(), farthest);
            Some(Sides::at_most(case.imh_bias(), bound))
        });
        bound.twin_times(0.9)
    };
    let inner_step = |case: &Atoms| {
        let p = &case.problem;
        case.rate_to(1)?;
        let square = |w: &f64| ((1.0 / w).min(1.0 / p.w()[case.start]) - 1.0).powi(2);
        let mean = p.pi().iter().zip(p.w()).filter(|(pi, _)| **pi > 0.0).map(|(pi, w)| pi * square(w));
        Some(Sides::at_most(mean.sum(), p.neyman()? + p.rate().powi(2)))
    };
    vec![
        printed("Bias[g_par] <= C sqrt(chi_N^2 + (1 - 1/w*)^2), C = E_p[s^2]", |c| c)
            .claim("000-T4", "Theorem 4")
            .assuming("IMH; chi_N^2 = E_p (1/w - 1)^2")
            .remark("C lacks a root, for its unit is that of s^2; and the score that a rejection keeps is left out.")
            .corrected(corrected()),
        printed("Bias[g_par] <= sqrt(E_p[s^2]) sqrt(chi_N^2 + (1 - 1/w*)^2)", f64::sqrt)
            .claim("000-T4-ROOT", "Theorem 4, read with the root of C")
            .assuming("IMH")
            .remark("The score that a rejection keeps is left out.")
            .corrected(corrected()),
        Atoms::bound("E_p[(min(1/w(z), 1/w) - 1)^2] <= chi_N^2 + r^2", &few(), inner_step)
            .twin_times(0.95)
            .claim("000-T4-EQ53", "eq. 53, in the proof of Theorem 4")
            .assuming("w(z) > 0")
            .remark("The regions A and its complement are swapped and a square is bounded the wrong way; both cancel."),
    ]
}

/// One state of conditional importance sampling.
fn single(case: &Atoms) -> Moments<f64> {
    case.problem.sequential(&case.problem.cis(case.samples).transition, 1)
}

/// `V[1/N sum_j s(z_j')]` with independent starts drawn from the target, by enumeration of the starts.
fn chains_variance(case: &Atoms) -> f64 {
    let p = &case.problem;
    let (chains, atoms) = (case.samples, p.atoms());
    let one = p.sequential(&p.imh(), 1);
    let (mut first, mut second) = (0.0, 0.0);
    for joint in 0..atoms.pow(chains as u32) {
        let starts = || (0..chains).map(|j| joint / atoms.pow(j as u32) % atoms);
        let probability: f64 = starts().map(|z| p.pi()[z]).product();
        let mean = starts().map(|z| one.means[z]).sum::<f64>() / chains as f64;
        let variance = starts().map(|z| one.variances[z].sum()).sum::<f64>() / (chains * chains) as f64;
        first += probability * mean;
        second += probability * (variance + mean * mean);
    }
    second - first * first
}

/// `sigma^2 - Cov` and `sigma^2` times `factor`, for two states that are `steps` apart.
fn correlated(case: &Atoms, factor: f64) -> Option<Sides> {
    let p = &case.problem;
    let mean = p.mean();
    let centred: Vec<f64> = p.s().iter().map(|s| s - mean).collect();
    let weighted: Vec<f64> = p.pi().iter().zip(&centred).map(|(p, s)| p * s).collect();
    let covariance = dot(&weighted, &p.imh().power(case.steps).apply(&centred));
    let variance = p.variance();
    (variance > 1e-4).then(|| Sides::at_most(factor * variance - covariance, variance))
}

/// Claims on variance in stationarity (MCMC-SE, Sec. 3.3).
fn variance() -> Vec<Claim> {
    let together = Setting::grid(&[2, 3], &[2, 4, 8], &[1]);
    let common = |formula: &str, variance: fn(&Atoms, &Moments<f64>) -> f64| {
        Atoms::bound(formula, &together, move |case| {
            let moments = case.problem.parallel(&case.problem.imh(), case.samples);
            Sides::at_most(variance(case, &moments), case.largest_norm().powi(2) / case.samples as f64)
        })
    };
    // The variance of the average, against a function of the moments from a fixed start and of the stationary parts.
    fn sequential(case: &Atoms, of: fn(&Atoms, &Moments<f64>, &Parts<f64>) -> f64) -> Sides {
        let (p, kernel, n) = (&case.problem, case.problem.imh(), case.samples);
        let moments = p.sequential(&kernel, n);
        Sides::equal(
            started_at_target(case, &moments),
            of(case, &moments, &p.sequential_stationary(&kernel, n)),
        )
    }
    let averages = Setting::grid(&[2, 3], &[2, 3, 5], &[1]);
    vec![
        Atoms::bound("V[g_single] = sigma^2", &Setting::grid(&[2, 3, 4], &[2, 3], &[1]), |case| {
            Sides::equal(started_at_target(case, &single(case)), case.problem.variance())
        })
        .twin("E_p V[g_single | z] = sigma^2", |case| {
            Sides::equal(within(case, &single(case)), case.problem.variance())
        })
        .claim("000-V1", "Section 3.3, single state")
        .assuming("stationary chain, any kernel that keeps p"),
        Atoms::bound("V[g_par] = sigma^2 / N", &Setting::grid(&[2, 3], &[1, 2, 3], &[1]), |case| {
            Sides::equal(chains_variance(case), case.problem.variance() / case.samples as f64)
        })
        .twin("with sigma^2", |case| Sides::equal(chains_variance(case), case.problem.variance()))
        .claim("000-V2", "Section 3.3, parallel chains")
        .assuming("independent stationary chains, fixed lambda"),
        common("V[g_par] <= (L/2)^2 / N, chains from a common start", started_at_target)
            .example(half().samples(4))
            .claim("000-V2-ALWAYS", "Section 3.3, \"always O(1/N)\"")
            .assuming("IMH; the common start has the law p")
            .remark("True given the chains' states. What couples the chains, a common start or lambda, does not average out.")
            .corrected(
                common("V[g_par | z] <= (L/2)^2 / N", |case, moments| moments.variances[case.start].sum())
                    .twin_times(0.95),
            ),
        Atoms::bound("V[g_seq] = sigma^2/N + (2/N^2) sum_{i<j} E_p[Cov(s_i, s_j | z_0)]", &averages, |case| {
            sequential(case, |case, given, _| {
                let pairs: Vec<f64> = given.variances.iter().map(|parts| parts.covariance).collect();
                case.problem.variance() / case.samples as f64 + dot(case.problem.pi(), &pairs)
            })
        })
        .example(half().samples(2))
        .claim("000-EQ10", "eq. 10")
        .assuming("stationary IMH")
        .remark("The covariance of the conditional means is left out, so that (10) is always too small.")
        .corrected(
            Atoms::bound("V[g_seq] = sigma^2/N + (2/N^2) sum_{i<j} Cov_p(s_i, s_j)", &averages, |case| {
                sequential(case, |_, _, stationary| stationary.sum())
            })
            .twin("each pair counted once", |case| {
                sequential(case, |_, _, stationary| stationary.diagonal + 0.5 * stationary.covariance)
            }),
        ),
        Atoms::bound("Cov_p(s(z_0), s(z_n)) >= 0", &Setting::grid(&[2, 3, 4], &[1], &[1, 2, 3]), |case| {
            correlated(case, 1.0)
        })
        .twin("Cov_p(s(z_0), s(z_n)) >= sigma^2 / 50", |case| correlated(case, 1.02))
        .claim("000-V3", "Section 3.3, \"positively correlated\"")
        .assuming("stationary IMH")
        .remark("The kernel is a positive operator. Compared are sigma^2 - Cov and sigma^2."),
    ]
}
