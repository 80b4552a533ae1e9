//! Claims on the bias of one update (MCMC-SE, Sec. 4).

use crate::bounds::mcmc_se as bounds;
use crate::claims::{Atoms, Bound, Claim, MCMC_SE, Setting, Sides};

pub(super) fn claims() -> Vec<Claim> {
    vec![sequential(), sequential_sum(), parallel(), cis(), smallest_weight()]
}

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

/// `Bias[g_seq] <= L (1 - N / (2 w*)) + O(w*^-2)` (MCMC-SE, Thm. 1), tested without its remainder.
fn sequential() -> Claim {
    let printed = Bound::<Atoms>::new("Bias[g_seq] <= L (1 - N/(2 w*))", several(), |case| {
        sequential_against(case, bounds::sequential_bias_as_printed)
    });
    let printed = printed
        .example(Atoms::new(&[1.0 / 16.0, 15.0 / 16.0], &[1.0 / 32.0, 31.0 / 32.0], &[1.0, -1.0]).samples(3));
    let corrected =
        Bound::<Atoms>::new("Bias[g_seq] <= L (1 - (N+1)/(2 w*) + (N^2-1)/(6 w*^2))", several(), |case| {
            sequential_against(case, bounds::sequential_bias_series)
        });
    Claim::new("000-T1", MCMC_SE, "Theorem 1", printed)
        .assuming("IMH, |s| <= L/2, remainder O(w*^-2) left out")
        .remark("The remainder is (N^2-1)/6 L/w*^2: not uniform in N, and without it the bound is negative for N > 2 w*.")
        .corrected(corrected.twin_times(0.95))
}

/// The sum of rates before its expansion (MCMC-SE, eq. 29).
fn sequential_sum() -> Claim {
    let printed = Bound::<Atoms>::new("Bias[g_seq] <= L (w*-1)/N (1 - r^N)", several(), |case| {
        sequential_against(case, bounds::sequential_bias)
    });
    Claim::new("000-T1-EQ29", MCMC_SE, "eq. 29, in the proof of Theorem 1", printed.twin_times(0.95))
        .assuming("IMH, |s| <= L/2")
        .remark("Attained from the atom of w*, up to the factor 1 - p(z*).")
}

/// `Bias[g_par] <= L (1 - 1 / w*)` (MCMC-SE, Thm. 2).
fn parallel() -> Claim {
    let settings = Setting::with_dims(&Setting::atoms(&[2, 3, 4]), &[1, 2]);
    let printed = Bound::<Atoms>::new("Bias[g_par] <= L (1 - 1/w*)", settings, |case| {
        case.rate_to(1)?;
        let bias = case.bias_under(case.problem.imh().row(case.start));
        Some(Sides::at_most(bias, bounds::parallel_bias(case.range(), case.w_star())))
    });
    Claim::new("000-T2", MCMC_SE, "Theorem 2", printed.twin_times(0.95))
        .assuming("IMH, Euclidean norms, |s| <= L/2")
        .remark("In eq. 37 an equality sign stands for \"at most\". With |s|_inf <= L/2 a factor sqrt(D) is missing.")
}

/// `Bias[g_CIS] <= L (1 - (N - 1) / (2 w* + N - 2))` (MCMC-SE, Thm. 3).
fn cis() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 3, 4, 6], &[1]);
    let printed = Bound::<Atoms>::new("Bias[g_CIS] <= L (1 - (N-1)/(2 w* + N - 2))", settings, |case| {
        case.rate_to(1)?;
        let bias = (case.problem.cis(case.samples).means[case.start] - case.problem.mean()).abs();
        Some(Sides::at_most(bias, bounds::cis_bias(case.range(), case.w_star(), case.samples)))
    });
    Claim::new("000-T3", MCMC_SE, "Theorem 3", printed.twin_times(0.95))
        .assuming("CIS with N candidates, the retained one included; |s| <= L/2")
        .remark("\"N > 2\" is not needed; with N fresh candidates it holds all the more.")
}

/// `exp KL(p || q) <= w*` (MCMC-SE, Prop. 1).
fn smallest_weight() -> Claim {
    let printed = Bound::<Atoms>::new("exp KL(p||q) <= w*", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::at_most(case.problem.kl().exp(), case.w_star()))
    });
    Claim::new("000-P1", MCMC_SE, "Proposition 1", printed.twin_times(0.95))
        .remark("Equality where w = w* on the support of p, as at p = q.")
}
