//! Claims on bias in terms of a divergence (MCMC-SE, Thm. 4).

use crate::bounds::mcmc_se as bounds;
use crate::claims::{Atoms, Bound, Claim, MCMC_SE, Setting, Sides};

pub(super) fn claims() -> Vec<Claim> {
    vec![printed(), with_the_root(), inner_step()]
}

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
    Bound::<Atoms>::new(formula, Setting::atoms(&[2, 3, 4]), |case| {
        case.rate_to(1)?;
        let p = &case.problem;
        let farthest = p.s().iter().map(|s| (s - p.mean()).abs()).fold(0.0, f64::max);
        let bound = bounds::parallel_bias_by_divergence(p.variance(), p.neyman()?, case.w_star(), farthest);
        Some(Sides::at_most(bias(case), bound))
    })
    .twin_times(0.9)
}

/// `Bias <= C sqrt(chi^2 + r^2)`, `C = E_p s^2` (MCMC-SE, Thm. 4).
fn printed() -> Claim {
    let formula = "Bias[g_par] <= C sqrt(chi_N^2 + (1 - 1/w*)^2), C = E_p[s^2]";
    let printed = Bound::<Atoms>::new(formula, Setting::atoms(&[2, 3, 4]), |case| {
        let bound = bounds::parallel_bias_by_divergence_as_printed(
            second_moment(case),
            case.problem.neyman()?,
            case.w_star(),
        );
        Some(Sides::at_most(bias(case), bound))
    });
    Claim::new("000-T4", MCMC_SE, "Theorem 4", printed.example(counterexample()))
        .assuming("IMH; chi_N^2 = E_p (1/w - 1)^2")
        .remark(
            "C lacks a root, for its unit is that of s^2; and the score that a rejection keeps is left out.",
        )
        .corrected(corrected())
}

/// The printed bound with `sqrt(C)`: the unit is right, but the score that a rejection keeps is still missing.
fn with_the_root() -> Claim {
    let formula = "Bias[g_par] <= sqrt(E_p[s^2]) sqrt(chi_N^2 + (1 - 1/w*)^2)";
    let printed = Bound::<Atoms>::new(formula, Setting::atoms(&[2, 3, 4]), |case| {
        let bound = bounds::parallel_bias_by_divergence_as_printed(
            second_moment(case).sqrt(),
            case.problem.neyman()?,
            case.w_star(),
        );
        Some(Sides::at_most(bias(case), bound))
    });
    Claim::new(
        "000-T4-ROOT",
        MCMC_SE,
        "Theorem 4, read with the root of C",
        printed.example(counterexample()),
    )
    .assuming("IMH")
    .remark("The score that a rejection keeps is left out.")
    .corrected(corrected())
}

/// A step of the proof in which two errors cancel (MCMC-SE, eq. 53).
fn inner_step() -> Claim {
    let formula = "E_p[(min(1/w(z), 1/w) - 1)^2] <= chi_N^2 + r^2";
    let printed = Bound::<Atoms>::new(formula, Setting::atoms(&[2, 3, 4]), |case| {
        let p = &case.problem;
        case.rate_to(1)?;
        let square = |w: &f64| ((1.0 / w).min(1.0 / p.w()[case.start]) - 1.0).powi(2);
        let mean = p.pi().iter().zip(p.w()).filter(|(pi, _)| **pi > 0.0).map(|(pi, w)| pi * square(w));
        Some(Sides::at_most(mean.sum(), p.neyman()? + p.rate().powi(2)))
    });
    Claim::new("000-T4-EQ53", MCMC_SE, "eq. 53, in the proof of Theorem 4", printed.twin_times(0.95))
        .assuming("w(z) > 0")
        .remark("The regions A and its complement are swapped and a square is bounded the wrong way; both cancel.")
}
