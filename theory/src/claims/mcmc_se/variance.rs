//! Claims on variance in stationarity (MCMC-SE, Sec. 4).

use crate::claims::{Atoms, Bound, Claim, MCMC_SE, Setting, Sides};
use crate::{Moments, dot};

pub(super) fn claims() -> Vec<Claim> {
    vec![single(), parallel(), parallel_always(), sequential(), positively_correlated()]
}

/// Variance of an average whose start is drawn from the target: mean of variances plus variance of means.
fn started_at_target(case: &Atoms, moments: &Moments<f64>) -> f64 {
    let p = &case.problem;
    let within: Vec<f64> = moments.variances.iter().map(|parts| parts.sum()).collect();
    dot(p.pi(), &within) + p.with_statistic(&moments.means).variance()
}

/// `V[g_single] = sigma^2` for every kernel, here conditional importance sampling (MCMC-SE, Sec. 4).
fn single() -> Claim {
    let settings = Setting::grid(&[2, 3, 4], &[2, 3], &[1]);
    let printed = Bound::<Atoms>::new("V[g_single] = sigma^2", settings, |case| {
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
    Claim::new("000-V1", MCMC_SE, "Section 4, single state", printed)
        .assuming("stationary chain, any kernel that keeps p")
}

/// `V[g_par] = sigma^2 / N`, by enumeration of all `n^N` joint states of the chains (MCMC-SE, Sec. 4).
fn parallel() -> Claim {
    let printed =
        Bound::<Atoms>::new("V[g_par] = sigma^2 / N", Setting::grid(&[2, 3], &[1, 2, 3], &[1]), |case| {
            Some(Sides::equal(chains_variance(case), case.problem.variance() / case.samples as f64))
        })
        .twin("with sigma^2", |case| Some(Sides::equal(chains_variance(case), case.problem.variance())));
    Claim::new("000-V2", MCMC_SE, "Section 4, parallel chains", printed)
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

/// "Always `O(1 / N)`, without stationarity" (MCMC-SE, Sec. 4), for chains with a common start.
fn parallel_always() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 4, 8], &[1]);
    let printed = Bound::<Atoms>::new(
        "V[g_par] <= (L/2)^2 / N, chains from a common start",
        settings.clone(),
        |case| {
            let together = case.problem.parallel(&case.problem.imh(), case.samples);
            let bound = case.largest_norm().powi(2) / case.samples as f64;
            Some(Sides::at_most(started_at_target(case, &together), bound))
        },
    );
    let corrected = Bound::<Atoms>::new("V[g_par | z] <= (L/2)^2 / N", settings, |case| {
        let together = case.problem.parallel(&case.problem.imh(), case.samples);
        let bound = case.largest_norm().powi(2) / case.samples as f64;
        Some(Sides::at_most(together.variances[case.start].sum(), bound))
    });
    Claim::new("000-V2-ALWAYS", MCMC_SE, "Section 4, \"always O(1/N)\"", printed
        .example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).samples(4)))
        .assuming("IMH; the common start has the law p")
        .remark("True given the chains' states. What couples the chains, a common start or lambda, does not average out.")
        .corrected(corrected.twin_times(0.95))
}

/// Variance of an average of successive states (MCMC-SE, eq. 10).
fn sequential() -> Claim {
    fn truth(case: &Atoms) -> f64 {
        started_at_target(case, &case.problem.sequential(&case.problem.imh(), case.samples))
    }
    let settings = Setting::grid(&[2, 3], &[2, 3, 5], &[1]);
    let formula = "V[g_seq] = sigma^2/N + (2/N^2) sum_{i<j} E_p[Cov(s_i, s_j | z_0)]";
    let printed = Bound::<Atoms>::new(formula, settings.clone(), |case| {
        let moments = case.problem.sequential(&case.problem.imh(), case.samples);
        let pairs: Vec<f64> = moments.variances.iter().map(|parts| parts.covariance).collect();
        let bound = case.problem.variance() / case.samples as f64 + dot(case.problem.pi(), &pairs);
        Some(Sides::equal(truth(case), bound))
    });
    let formula = "V[g_seq] = sigma^2/N + (2/N^2) sum_{i<j} Cov_p(s_i, s_j)";
    let corrected = Bound::<Atoms>::new(formula, settings, |case| {
        let stationary = case.problem.sequential_stationary(&case.problem.imh(), case.samples);
        Some(Sides::equal(truth(case), stationary.sum()))
    })
    .twin("each pair counted once", |case| {
        let stationary = case.problem.sequential_stationary(&case.problem.imh(), case.samples);
        Some(Sides::equal(truth(case), stationary.diagonal + 0.5 * stationary.covariance))
    });
    Claim::new(
        "000-EQ10",
        MCMC_SE,
        "eq. 10",
        printed.example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).samples(2)),
    )
    .assuming("stationary IMH")
    .remark("The covariance of the conditional means is left out, so that (10) is always too small.")
    .corrected(corrected)
}

/// Rejections make successive states positively correlated (MCMC-SE, Sec. 4).
fn positively_correlated() -> Claim {
    fn covariance(case: &Atoms) -> f64 {
        let p = &case.problem;
        let mean = p.mean();
        let centred: Vec<f64> = p.s().iter().map(|s| s - mean).collect();
        let weighted: Vec<f64> = p.pi().iter().zip(&centred).map(|(p, s)| p * s).collect();
        dot(&weighted, &p.imh().power(case.steps).apply(&centred))
    }
    let settings = Setting::grid(&[2, 3, 4], &[1], &[1, 2, 3]);
    let printed = Bound::<Atoms>::new("Cov_p(s(z_0), s(z_n)) >= 0", settings, |case| {
        let variance = case.problem.variance();
        (variance > 1e-4).then(|| Sides::at_most(variance - covariance(case), variance))
    })
    .twin("Cov_p(s(z_0), s(z_n)) >= sigma^2 / 50", |case| {
        let variance = case.problem.variance();
        (variance > 1e-4).then(|| Sides::at_most(1.02 * variance - covariance(case), variance))
    });
    Claim::new("000-V3", MCMC_SE, "Section 4, \"positively correlated\"", printed)
        .assuming("stationary IMH")
        .remark("The kernel is a positive operator. Compared are sigma^2 - Cov and sigma^2.")
}
