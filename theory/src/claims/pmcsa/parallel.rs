//! Claims on parallel chains, one transition of `N` chains per update (pMCSA, Thm. 4).

use super::joint::product;
use crate::bounds::pmcsa as bounds;
use crate::claims::{Atoms, Bound, Claim, PMCSA, Setting, Sides};
use crate::total_variation;

pub(super) fn claims() -> Vec<Claim> {
    vec![mixing(), variance(), second_moment()]
}

fn mixing() -> Claim {
    let settings = Setting::grid(&[2, 3], &[1, 2, 4], &[1, 3]);
    let printed = Bound::<Atoms>::new("TV((K^k)^N, p^N) <= N r^k", settings, |case| {
        case.rate_to(case.steps)?;
        let kernel = case.problem.imh().power(case.steps);
        let found = product(std::iter::repeat_n(kernel.row(case.start), case.samples));
        let target = product(std::iter::repeat_n(case.problem.pi(), case.samples));
        Some(Sides::at_most(
            total_variation(&found, &target),
            bounds::parallel_distance(case.w_star(), case.samples, case.steps),
        ))
    });
    Claim::new("001-T-pMCSA-MIX", PMCSA, "Theorem 4, rate", printed.twin_times(0.95))
        .assuming("IMH, a lambda that does not follow the chains")
}

/// `V[g | z]` with all chains at the start.
fn variance_of(case: &Atoms) -> f64 {
    case.problem.parallel(&case.problem.imh(), case.samples).variances[case.start].sum()
}

fn variance() -> Claim {
    let settings = Setting::grid(&[2, 3], &[1, 2, 4], &[1]);
    let printed = Bound::<Atoms>::new("V[g | z] <= L^2/N (1 + r)", settings.clone(), |case| {
        let bound = bounds::parallel_variance_as_printed(case.largest_norm(), case.w_star(), case.samples);
        Some(Sides::at_most(variance_of(case), bound))
    });
    let sharper = Bound::<Atoms>::new("V[g | z] <= L^2/N", settings, |case| {
        Some(Sides::at_most(variance_of(case), bounds::parallel_variance(case.largest_norm(), case.samples)))
    });
    Claim::new("001-T-pMCSA-VAR", PMCSA, "Theorem 4, variance", printed.twin_times(0.95))
        .assuming("given the chains' states")
        .remark("Tight as r vanishes; the factor 1 + r is not needed.")
        .corrected(sharper.twin_times(0.95))
}

/// `E[|g|^2 | F] <= L^2/N (1 + r) + |mu|^2`, with all chains at one state.
fn second_moment() -> Claim {
    fn settings() -> Vec<Setting> {
        Setting::grid(&[2, 3], &[2, 4, 8], &[1, 2])
    }
    let formula = "E[|g|^2 | z] <= L^2/N (2 - 1/w*) + |mu|^2";
    let printed = Bound::<Atoms>::new(formula, settings(), |case| {
        let moments = case.problem.parallel(&case.problem.imh(), case.samples);
        let mean = case.problem.mean().abs();
        let bound =
            bounds::parallel_second_moment_as_printed(case.largest_norm(), mean, case.w_star(), case.samples);
        Some(Sides::at_most(moments.second_moments()[case.start], bound))
    });
    let given = Bound::<Atoms>::new("E[|g|^2 | z] <= L^2/N + (2 r L + |mu|)^2", settings(), |case| {
        let moments = case.problem.parallel(&case.problem.imh(), case.samples);
        let mean = case.problem.mean().abs();
        let bound = bounds::parallel_second_moment(case.largest_norm(), mean, case.w_star(), case.samples, 0);
        Some(Sides::at_most(moments.second_moments()[case.start], bound))
    });
    let formula = "E[|g_t|^2] <= L^2/N + (2 r^t L + |mu|)^2 from a fixed start";
    let from_start = Bound::<Atoms>::new(formula, settings(), |case| {
        let kernel = case.problem.imh().power(case.steps);
        let moments = case.problem.parallel(&kernel, case.samples);
        let mean = case.problem.mean().abs();
        let before = case.steps - 1;
        let bound =
            bounds::parallel_second_moment(case.largest_norm(), mean, case.w_star(), case.samples, before);
        Some(Sides::at_most(moments.second_moments()[case.start], bound))
    });
    let slow = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).samples(4);
    Claim::new("001-T-pMCSA-MOMENT", PMCSA, "Theorem 4, second moment", printed.example(slow))
        .assuming("given the chains' states, t long, so that no remainder is left")
        .remark("Given the past, the bias does not decay with t and is common to all chains.")
        .corrected(given.twin_times(0.7))
        .corrected(from_start.twin_times(0.7))
}
