//! Claims on conditional importance sampling with all candidates averaged (pMCSA, Thm. 2).

use crate::bounds::pmcsa as bounds;
use crate::claims::{Atoms, Bound, Claim, PMCSA, Setting, Sides};

pub(super) fn claims() -> Vec<Claim> {
    vec![error(), second_moment(), bias()]
}

/// Settings with two atoms: the count of one determines that of the other, so that many candidates are cheap.
fn settings() -> Vec<Setting> {
    Setting::grid(&[2], &[2, 8, 17, 64, 400], &[1])
}

/// Uniform guide and target, scores of both signs: the error is `1 / N`.
fn even(candidates: usize) -> Atoms {
    Atoms::new(&[0.5, 0.5], &[0.5, 0.5], &[1.0, -1.0]).samples(candidates)
}

/// Mean squared error `E[(g - mu)^2 | z]`.
fn squared_error(case: &Atoms) -> f64 {
    let step = case.problem.cis(case.samples);
    step.weighted_variances[case.start] + (step.means[case.start] - case.problem.mean()).powi(2)
}

/// Bound on the mean squared error in the proof, with the best `eps`.
fn error() -> Claim {
    let formula = "MSE <= 4 L^2 [(1 + e^2) chi^2/(N-1) + (1 + e^-2) (1 + w*)^2/N^2], every e";
    let printed = Bound::<Atoms>::new(formula, settings(), |case| {
        let p = &case.problem;
        let bound = bounds::rao_blackwellised_error_as_printed(
            case.largest_norm(),
            p.pearson(),
            case.w_star(),
            case.samples,
        );
        Some(Sides::at_most(squared_error(case), bound))
    });
    let formula = "MSE <= 4 L^2 [(1 + e^2) (1 + chi^2)/(N-1) + (1 + e^-2) (1 + w*)^2/N^2], every e";
    let corrected = Bound::<Atoms>::new(formula, settings(), |case| {
        let p = &case.problem;
        let bound =
            bounds::rao_blackwellised_error(case.largest_norm(), p.pearson(), case.w_star(), case.samples);
        Some(Sides::at_most(squared_error(case), bound))
    });
    Claim::new("001-T-MSCRB-MSE", PMCSA, "proof of Theorem 2, mean squared error", printed.example(even(17)))
        .assuming("given the retained state; two atoms")
        .remark("V_q w stands where E_q w^2 is needed: no average of N draws is exact because q = p.")
        .corrected(corrected.twin_times(0.15))
}

/// Bound on the second moment, with the proof's remainder at `eps^2 = (N - 1)^(-1/2)` and long after the start.
fn second_moment() -> Claim {
    fn settings() -> Vec<Setting> {
        Setting::grid(&[2], &[2, 8, 64, 400], &[1])
    }
    fn found(case: &Atoms) -> f64 {
        let step = case.problem.cis(case.samples);
        step.weighted_variances[case.start] + step.means[case.start].powi(2)
    }
    let formula = "E[|g|^2 | z] <= 4 L^2 [(1 + e^2) chi^2/(N-1) + (1 + e^-2) (1 + w*)^2/N^2] + |mu|^2, e^2 = (N-1)^(-1/2)";
    let printed = Bound::<Atoms>::new(formula, settings(), |case| {
        let (p, n) = (&case.problem, case.samples as f64);
        let eps = (n - 1.0).powf(-0.5);
        let leading = (1.0 + eps) * p.pearson() / (n - 1.0);
        let rest = (1.0 + 1.0 / eps) * ((1.0 + case.w_star()) / n).powi(2);
        let bound = 4.0 * case.largest_norm().powi(2) * (leading + rest) + p.mean().powi(2);
        Some(Sides::at_most(found(case), bound))
    });
    let formula = "E[|g|^2 | z] <= 4 L^2 (sqrt((1 + chi^2)/(N-1)) + (1 + w*)/N)^2 + 8 L^2 (chi^2 + 1 + w*)/(N-1) + |mu|^2";
    let corrected = Bound::<Atoms>::new(formula, settings(), |case| {
        let (p, n, norm) = (&case.problem, case.samples, case.largest_norm());
        let error = bounds::rao_blackwellised_error(norm, p.pearson(), case.w_star(), n);
        let cross = 2.0 * norm * bounds::rao_blackwellised_bias(norm, p.pearson(), case.w_star(), n, 1);
        Some(Sides::at_most(found(case), error + cross + p.mean().powi(2)))
    });
    Claim::new("001-T-MSCRB", PMCSA, "Theorem 2, second moment", printed.example(even(400)))
        .assuming("given the retained state, t large; two atoms")
        .remark(
            "As the error of the proof. Given the past the bias does not decay with t; 2 L Bias is 8 L^2/(N-1), printed 4.",
        )
        .corrected(corrected.twin_times(0.5))
}

/// `|E g_t - mu| <= 4 L / (N - 1) (chi^2 + 1 + w*) gamma^(t-1)` (pMCSA, Thm. 2).
fn bias() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 4, 6], &[1, 3]);
    let formula = "|E g_t - mu| <= 4 L/(N-1) (chi^2 + 1 + w*) gamma^(t-1)";
    let printed = Bound::<Atoms>::new(formula, settings, |case| {
        let (p, t) = (&case.problem, case.steps);
        let later = p.cis(case.samples).transition.power(t);
        let bound =
            bounds::rao_blackwellised_bias(case.largest_norm(), p.pearson(), case.w_star(), case.samples, t);
        Some(Sides::at_most(case.bias_under(later.row(case.start)), bound))
    });
    Claim::new("001-BIAS-RB", PMCSA, "Theorem 2, bias", printed.twin_times(0.15))
        .assuming("CIS with N candidates, fixed start, gamma = 2 w*/(2 w* + N - 2)")
}
