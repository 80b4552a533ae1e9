//! Claims of MCMC-SE. `|s| <= L / 2` throughout.

use crate::bounds::mcmc_se as bounds;
use crate::claims::case::normalised;
use crate::claims::{Adaptive, Atoms, Bound, Claim, Searchable, Setting, Sides};
use crate::{Moments, Number, dot, total_variation};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    vec![
        any_start(),
        acceptance(),
        adaptation(),
        bias_sequential(),
        sequential_sum(),
        bias_parallel(),
        cis(),
        smallest_weight(),
        printed(),
        with_the_root(),
        inner_step(),
        single(),
        variance_parallel(),
        parallel_always(),
        variance_sequential(),
        positively_correlated(),
    ]
}

// Claims on one transition of the chain (MCMC-SE, Sec. 3 and Lemmas 1 and 2).

fn any_start() -> Claim {
    let settings = Setting::with_dims(&Setting::atoms(&[2, 3, 4]), &[2]);
    let printed = Atoms::bound("|E_{eta K} s - E_p s| <= sup_z |E_{K(z)} s - E_p s|", settings, |case| {
        let (law, means) = (first_law(case), case.problem.imh().apply(case.problem.s()));
        let bias = |mean: f64| (mean - case.problem.mean()).abs();
        let largest = means.iter().map(|&mean| bias(mean)).fold(0.0, f64::max);
        Some(Sides::at_most(bias(dot(&law, &means)), largest))
    });
    Claim::new("000-L1", "Lemma 1", printed.twin_times(0.95))
        .assuming("K keeps p; eta any law of the start, here with logits 8 times the second score")
        .remark("Eq. 13 writes an equality sign for \"at most\".")
}

/// Distribution of the start, from the second coordinate of the score.
fn first_law(case: &Atoms) -> Vec<f64> {
    let logits: Vec<f64> = case.further[0].iter().map(|s| 8.0 * s).collect();
    normalised(&logits)
}

fn acceptance() -> Claim {
    /// Both sides, for the move at which they differ most.
    fn sides(case: &Atoms, right: fn(f64, f64) -> f64) -> Option<Sides> {
        let (p, w) = (&case.problem, case.problem.w());
        let z = case.start;
        Sides::farthest((0..p.len()).filter(|&y| w[y] > 0.0).map(|y| {
            Sides::equal(p.q()[y] * (w[y] / w[z]).smaller(1.0), p.pi()[y] * right(1.0 / w[z], 1.0 / w[y]))
        }))
    }
    let printed = Atoms::bound(
        "q(z') min(1, w(z')/w(z)) = p(z') min(1/w(z), 1/w(z'))",
        Setting::atoms(&[2, 3, 4]),
        |case| sides(case, f64::min),
    )
    .twin("with max for min on the right", |case| sides(case, f64::max));
    Claim::new("000-L2", "Lemma 2", printed)
        .assuming("w(z) > 0")
        .remark("Covers the accepted moves alone: what a rejection leaves at z is not in it.")
}

fn adaptation() -> Claim {
    let settings = Setting::grid(&[2, 3], &[1], &[2, 3, 4]);
    let printed =
        Adaptive::bound("TV(law of z_n, p) <= sup r^n, the guide chosen by the chain", settings, |case| {
            let transition = case.transition().power(case.steps);
            let exceeds = total_variation(transition.row(case.start), case.problems[0].pi());
            (case.rate() > 0.05).then(|| Sides::at_most(exceeds, case.rate().powi(case.steps as i32)))
        });
    // From the first atom the guide is (1/2, 1/2), from the second (3/4, 1/4).
    let printed = printed.example(Adaptive::new(&[0.5, 0.5], &[vec![0.5, 0.5], vec![0.75, 0.25]], 3, 0));
    let corrected =
        Adaptive::bound("TV(K(z, .), p) <= sup r for one step, given z", Setting::atoms(&[2, 3]), |case| {
            let distance = total_variation(case.transition().row(case.start), case.problems[0].pi());
            (case.rate() > 0.05).then(|| Sides::at_most(distance, case.rate()))
        });
    Claim::new("000-AD", "Section 3, \"free to use ergodic rates\"", printed)
        .remark(
            "One-step bounds given the past hold; powers of them do not, for the chain chooses its guide.",
        )
        .corrected(corrected.twin_times(0.95))
}

// Claims on the bias of one update (MCMC-SE, Sec. 4).

/// Bias of the average of `N` successive states, against a bound in `L`, `w*` and `N`.
fn sequential_against(case: &Atoms, bound: fn(f64, f64, usize) -> f64) -> Option<Sides> {
    case.rate_to(case.samples)?;
    let moments = case.problem.sequential(&case.problem.imh(), case.samples);
    let bias = (moments.means[case.start] - case.problem.mean()).abs();
    Some(Sides::at_most(bias, bound(case.range(), case.w_star(), case.samples)))
}

fn several() -> Vec<Setting> {
    Setting::grid(&[2, 3], &[1, 2, 3, 5, 8], &[1])
}

fn bias_sequential() -> Claim {
    let printed = Atoms::bound("Bias[g_seq] <= L (1 - N/(2 w*))", several(), |case| {
        sequential_against(case, bounds::sequential_bias_as_printed)
    });
    let printed = printed
        .example(Atoms::new(&[1.0 / 16.0, 15.0 / 16.0], &[1.0 / 32.0, 31.0 / 32.0], &[1.0, -1.0]).samples(3));
    let corrected =
        Atoms::bound("Bias[g_seq] <= L (1 - (N+1)/(2 w*) + (N^2-1)/(6 w*^2))", several(), |case| {
            sequential_against(case, bounds::sequential_bias_series)
        });
    Claim::new("000-T1", "Theorem 1", printed)
        .assuming("IMH, |s| <= L/2, remainder O(w*^-2) left out")
        .remark("The remainder is (N^2-1)/6 L/w*^2: not uniform in N, and without it the bound is negative for N > 2 w*.")
        .corrected(corrected.twin_times(0.95))
}

fn sequential_sum() -> Claim {
    let printed = Atoms::bound("Bias[g_seq] <= L (w*-1)/N (1 - r^N)", several(), |case| {
        sequential_against(case, bounds::sequential_bias)
    });
    Claim::new("000-T1-EQ29", "eq. 29, in the proof of Theorem 1", printed.twin_times(0.95))
        .assuming("IMH, |s| <= L/2")
        .remark("Attained from the atom of w*, up to the factor 1 - p(z*).")
}

fn bias_parallel() -> Claim {
    let settings = Setting::with_dims(&Setting::atoms(&[2, 3, 4]), &[1, 2]);
    let printed = Atoms::bound("Bias[g_par] <= L (1 - 1/w*)", settings, |case| {
        case.rate_to(1)?;
        let bias = case.bias_under(case.problem.imh().row(case.start));
        Some(Sides::at_most(bias, bounds::parallel_bias(case.range(), case.w_star())))
    });
    Claim::new("000-T2", "Theorem 2", printed.twin_times(0.95))
        .assuming("IMH, Euclidean norms, |s| <= L/2")
        .remark("In eq. 37 an equality sign stands for \"at most\". With |s|_inf <= L/2 a factor sqrt(D) is missing.")
}

fn cis() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 3, 4, 6], &[1]);
    let printed = Atoms::bound("Bias[g_CIS] <= L (1 - (N-1)/(2 w* + N - 2))", settings, |case| {
        case.rate_to(1)?;
        let bias = (case.problem.cis(case.samples).means[case.start] - case.problem.mean()).abs();
        Some(Sides::at_most(bias, bounds::cis_bias(case.range(), case.w_star(), case.samples)))
    });
    Claim::new("000-T3", "Theorem 3", printed.twin_times(0.95))
        .assuming("CIS with N candidates, the retained one included; |s| <= L/2")
        .remark("\"N > 2\" is not needed; with N fresh candidates it holds all the more.")
}

fn smallest_weight() -> Claim {
    Claim::new("000-P1", "Proposition 1", super::largest_weight().twin_times(0.95))
        .remark("Equality where w = w* on the support of p, as at p = q.")
}

// Claims on bias in terms of a divergence (MCMC-SE, Thm. 4).

/// Bias of one transition of independent Metropolis-Hastings.
fn bias(case: &Atoms) -> f64 {
    case.bias_under(case.problem.imh().row(case.start))
}

/// `E_p[s^2]`.
fn second_moment(case: &Atoms) -> f64 {
    case.problem.variance() + case.problem.mean().powi(2)
}

/// Counterexample: a chain at an atom of weight 2, where the rejection probability alone exceeds the bound.
fn counterexample() -> Atoms {
    Atoms::new(&[0.25, 0.75], &[0.125, 0.875], &[1.0, 0.0])
}

/// Corrected bound: the root of the variance in place of the second moment, plus the score that a rejection keeps.
fn corrected() -> Bound<Atoms> {
    let formula = "Bias[g_par | z] <= sqrt(V_p s) sqrt(chi_N^2 + r^2) + r sup|s - E_p s|";
    Atoms::bound(formula, Setting::atoms(&[2, 3, 4]), |case| {
        case.rate_to(1)?;
        let p = &case.problem;
        let farthest = p.s().iter().map(|s| (s - p.mean()).abs()).fold(0.0, f64::max);
        let bound = bounds::parallel_bias_by_divergence(p.variance(), p.neyman()?, case.w_star(), farthest);
        Some(Sides::at_most(bias(case), bound))
    })
    .twin_times(0.9)
}

fn printed() -> Claim {
    let formula = "Bias[g_par] <= C sqrt(chi_N^2 + (1 - 1/w*)^2), C = E_p[s^2]";
    let printed = Atoms::bound(formula, Setting::atoms(&[2, 3, 4]), |case| {
        let bound = bounds::parallel_bias_by_divergence_as_printed(
            second_moment(case),
            case.problem.neyman()?,
            case.w_star(),
        );
        Some(Sides::at_most(bias(case), bound))
    });
    Claim::new("000-T4", "Theorem 4", printed.example(counterexample()))
        .assuming("IMH; chi_N^2 = E_p (1/w - 1)^2")
        .remark(
            "C lacks a root, for its unit is that of s^2; and the score that a rejection keeps is left out.",
        )
        .corrected(corrected())
}

fn with_the_root() -> Claim {
    let formula = "Bias[g_par] <= sqrt(E_p[s^2]) sqrt(chi_N^2 + (1 - 1/w*)^2)";
    let printed = Atoms::bound(formula, Setting::atoms(&[2, 3, 4]), |case| {
        let bound = bounds::parallel_bias_by_divergence_as_printed(
            second_moment(case).sqrt(),
            case.problem.neyman()?,
            case.w_star(),
        );
        Some(Sides::at_most(bias(case), bound))
    });
    Claim::new("000-T4-ROOT", "Theorem 4, read with the root of C", printed.example(counterexample()))
        .assuming("IMH")
        .remark("The score that a rejection keeps is left out.")
        .corrected(corrected())
}

fn inner_step() -> Claim {
    let formula = "E_p[(min(1/w(z), 1/w) - 1)^2] <= chi_N^2 + r^2";
    let printed = Atoms::bound(formula, Setting::atoms(&[2, 3, 4]), |case| {
        let p = &case.problem;
        case.rate_to(1)?;
        let square = |w: &f64| ((1.0 / w).min(1.0 / p.w()[case.start]) - 1.0).powi(2);
        let mean = p.pi().iter().zip(p.w()).filter(|(pi, _)| **pi > 0.0).map(|(pi, w)| pi * square(w));
        Some(Sides::at_most(mean.sum(), p.neyman()? + p.rate().powi(2)))
    });
    Claim::new("000-T4-EQ53", "eq. 53, in the proof of Theorem 4", printed.twin_times(0.95))
        .assuming("w(z) > 0")
        .remark("The regions A and its complement are swapped and a square is bounded the wrong way; both cancel.")
}

// Claims on variance in stationarity (MCMC-SE, Sec. 4).

/// Variance of an average whose start is drawn from the target: mean of variances plus variance of means.
fn started_at_target(case: &Atoms, moments: &Moments<f64>) -> f64 {
    let p = &case.problem;
    let within: Vec<f64> = moments.variances.iter().map(|parts| parts.sum()).collect();
    dot(p.pi(), &within) + p.with_statistic(&moments.means).variance()
}

fn single() -> Claim {
    let settings = Setting::grid(&[2, 3, 4], &[2, 3], &[1]);
    let printed = Atoms::bound("V[g_single] = sigma^2", settings, |case| {
        let kernel = case.problem.cis(case.samples).transition;
        let moments = case.problem.sequential(&kernel, 1);
        Some(Sides::equal(started_at_target(case, &moments), case.problem.variance()))
    })
    .twin("E_p V[g_single | z] = sigma^2", |case| {
        let kernel = case.problem.cis(case.samples).transition;
        let within = case.problem.sequential(&kernel, 1).variances;
        let within: Vec<f64> = within.iter().map(|parts| parts.sum()).collect();
        Some(Sides::equal(dot(case.problem.pi(), &within), case.problem.variance()))
    });
    Claim::new("000-V1", "Section 4, single state", printed)
        .assuming("stationary chain, any kernel that keeps p")
}

fn variance_parallel() -> Claim {
    let printed = Atoms::bound("V[g_par] = sigma^2 / N", Setting::grid(&[2, 3], &[1, 2, 3], &[1]), |case| {
        Some(Sides::equal(chains_variance(case), case.problem.variance() / case.samples as f64))
    })
    .twin("with sigma^2", |case| Some(Sides::equal(chains_variance(case), case.problem.variance())));
    Claim::new("000-V2", "Section 4, parallel chains", printed)
        .assuming("independent stationary chains, fixed lambda")
}

/// `V[1/N sum_j s(z_j')]` with independent starts drawn from the target, by enumeration of the starts.
fn chains_variance(case: &Atoms) -> f64 {
    let p = &case.problem;
    let (chains, atoms) = (case.samples, p.len());
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

fn parallel_always() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 4, 8], &[1]);
    let printed =
        Atoms::bound("V[g_par] <= (L/2)^2 / N, chains from a common start", settings.clone(), |case| {
            let together = case.problem.parallel(&case.problem.imh(), case.samples);
            let bound = case.largest_norm().powi(2) / case.samples as f64;
            Some(Sides::at_most(started_at_target(case, &together), bound))
        });
    let corrected = Atoms::bound("V[g_par | z] <= (L/2)^2 / N", settings, |case| {
        let together = case.problem.parallel(&case.problem.imh(), case.samples);
        let bound = case.largest_norm().powi(2) / case.samples as f64;
        Some(Sides::at_most(together.variances[case.start].sum(), bound))
    });
    Claim::new("000-V2-ALWAYS", "Section 4, \"always O(1/N)\"", printed
        .example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).samples(4)))
        .assuming("IMH; the common start has the law p")
        .remark("True given the chains' states. What couples the chains, a common start or lambda, does not average out.")
        .corrected(corrected.twin_times(0.95))
}

fn variance_sequential() -> Claim {
    fn truth(case: &Atoms) -> f64 {
        started_at_target(case, &case.problem.sequential(&case.problem.imh(), case.samples))
    }
    let settings = Setting::grid(&[2, 3], &[2, 3, 5], &[1]);
    let formula = "V[g_seq] = sigma^2/N + (2/N^2) sum_{i<j} E_p[Cov(s_i, s_j | z_0)]";
    let printed = Atoms::bound(formula, settings.clone(), |case| {
        let moments = case.problem.sequential(&case.problem.imh(), case.samples);
        let pairs: Vec<f64> = moments.variances.iter().map(|parts| parts.covariance).collect();
        let bound = case.problem.variance() / case.samples as f64 + dot(case.problem.pi(), &pairs);
        Some(Sides::equal(truth(case), bound))
    });
    let formula = "V[g_seq] = sigma^2/N + (2/N^2) sum_{i<j} Cov_p(s_i, s_j)";
    let corrected = Atoms::bound(formula, settings, |case| {
        let stationary = case.problem.sequential_stationary(&case.problem.imh(), case.samples);
        Some(Sides::equal(truth(case), stationary.sum()))
    })
    .twin("each pair counted once", |case| {
        let stationary = case.problem.sequential_stationary(&case.problem.imh(), case.samples);
        Some(Sides::equal(truth(case), stationary.diagonal + 0.5 * stationary.covariance))
    });
    Claim::new(
        "000-EQ10",
        "eq. 10",
        printed.example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).samples(2)),
    )
    .assuming("stationary IMH")
    .remark("The covariance of the conditional means is left out, so that (10) is always too small.")
    .corrected(corrected)
}

fn positively_correlated() -> Claim {
    fn covariance(case: &Atoms) -> f64 {
        let p = &case.problem;
        let mean = p.mean();
        let centred: Vec<f64> = p.s().iter().map(|s| s - mean).collect();
        let weighted: Vec<f64> = p.pi().iter().zip(&centred).map(|(p, s)| p * s).collect();
        dot(&weighted, &p.imh().power(case.steps).apply(&centred))
    }
    let settings = Setting::grid(&[2, 3, 4], &[1], &[1, 2, 3]);
    let printed = Atoms::bound("Cov_p(s(z_0), s(z_n)) >= 0", settings, |case| {
        let variance = case.problem.variance();
        (variance > 1e-4).then(|| Sides::at_most(variance - covariance(case), variance))
    })
    .twin("Cov_p(s(z_0), s(z_n)) >= sigma^2 / 50", |case| {
        let variance = case.problem.variance();
        (variance > 1e-4).then(|| Sides::at_most(1.02 * variance - covariance(case), variance))
    });
    Claim::new("000-V3", "Section 4, \"positively correlated\"", printed)
        .assuming("stationary IMH")
        .remark("The kernel is a positive operator. Compared are sigma^2 - Cov and sigma^2.")
}
