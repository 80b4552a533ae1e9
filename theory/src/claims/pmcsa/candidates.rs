//! Claims on conditional importance sampling with one selected candidate (pMCSA, Thm. 1).

use faer::Mat;

use crate::bounds::pmcsa as bounds;
use crate::claims::{Atoms, Bound, Claim, PMCSA, Setting, Sides};
use crate::{Spectrum, total_variation};

pub(super) fn claims() -> Vec<Claim> {
    vec![mixing(), spectrum(), variance(), looser_rate()]
}

fn mixing() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 3, 4, 6], &[1, 3]);
    let printed = Bound::<Atoms>::new("TV(K^k(z, .), p) <= (1 - (N-1)/(2 w* + N - 2))^k", settings, |case| {
        case.rate_to(case.steps)?;
        let power = case.problem.cis(case.samples).transition.power(case.steps);
        let rate = bounds::cis_rate(case.w_star(), case.samples);
        Some(Sides::at_most(
            total_variation(power.row(case.start), case.problem.pi()),
            rate.powi(case.steps as i32),
        ))
    });
    Claim::new("001-T-MSC-MIX", PMCSA, "Theorem 1, rate", printed.twin_times(0.95))
        .assuming("CIS with N candidates")
}

/// Second eigenvalue of conditional importance sampling.
fn second_eigenvalue(case: &Atoms) -> Option<f64> {
    let kernel = case.problem.cis(case.samples).transition;
    let matrix = Mat::from_fn(kernel.len(), kernel.len(), |z, y| kernel.row(z)[y]);
    Spectrum::new(&matrix, case.problem.pi()).ok().map(|spectrum| spectrum.second())
}

fn eigenvalue_against(case: &Atoms, rate: fn(f64, usize) -> f64) -> Option<Sides> {
    case.rate_to(1)?;
    Some(Sides::at_most(second_eigenvalue(case)?, rate(case.w_star(), case.samples)))
}

fn spectrum() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 3, 4], &[1]);
    let printed = Bound::<Atoms>::new("|second eigenvalue| <= 1 - (N-1)/(2 w* + N - 2)", settings, |case| {
        eigenvalue_against(case, bounds::cis_rate)
    });
    Claim::new("001-T-MSC-EIG", PMCSA, "Theorem 1, asymptotic rate", printed.twin_times(0.95))
        .assuming("CIS with N candidates")
}

fn variance() -> Claim {
    let settings = Setting::with_dims(&Setting::grid(&[2, 3], &[2, 4], &[1]), &[1, 2]);
    let printed = Bound::<Atoms>::new("E[|g|^2 | z] <= L^2", settings, |case| {
        let kernel = case.problem.cis(case.samples).transition;
        let second = (0..kernel.len()).map(|y| kernel.row(case.start)[y] * case.norm(y).powi(2)).sum();
        Some(Sides::at_most(second, case.largest_norm().powi(2)))
    });
    Claim::new("001-T-MSC-VAR", PMCSA, "Theorem 1, second moment", printed.twin_times(0.95))
        .assuming("|s| <= L")
        .remark("Equality where |s| = L everywhere.")
}

fn looser_rate() -> Claim {
    let settings = Setting::grid(&[2, 3], &[3, 4, 6], &[1]);
    let printed = Bound::<Atoms>::new("|second eigenvalue| <= 2 w*/(2 w* + N - 2)", settings, |case| {
        eigenvalue_against(case, bounds::cis_rate_as_printed)
    });
    Claim::new("001-GAMMA", PMCSA, "Theorem 2, gamma", printed.twin_times(0.95))
        .assuming("CIS with N candidates")
        .remark("Always above the rate of Theorem 1, (2 w* - 1)/(2 w* + N - 2); equal to it in the limit of large w*.")
}
