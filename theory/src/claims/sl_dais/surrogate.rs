//! Claims on one surrogate for all data (SL-DAIS, Lemma 1, Props. 1 and 3).

use super::linear::{METHOD, chain, likelihood, settings};
use crate::claims::{Bound, Claim, Numbers, SL_DAIS, Sides, Statement};
use crate::dais::{Gap, LinearDais, Normal};

pub(super) fn bounds() -> Vec<Claim> {
    vec![weight(), bound(), divergence()]
}

fn weight() -> Claim {
    fn sides(case: &Numbers, complete: bool) -> Option<Sides> {
        let ((chain, _), likelihood) = (chain(case)?, likelihood(case));
        let found = chain.log_mean_weight(&likelihood, complete)?;
        Some(Sides::equal(found, chain.prior.posterior(&likelihood).ok()?.1))
    }
    let formula = "E[exp W] = p(D) for any potentials";
    let printed = Bound::<Numbers>::new(formula, settings(&[1, 2, 5]), |case| sides(case, true));
    Claim::new(
        "004-L1",
        SL_DAIS,
        "Lemma 1",
        printed.by(METHOD).twin("without the momenta", |case| sides(case, false)),
    )
    .assuming("volume-preserving, reversible steps")
}

fn bound() -> Claim {
    let formula = "exp L <= p(D) for any potentials";
    let printed = Bound::<Numbers>::new(formula, settings(&[1, 2, 5, 20]), |case| {
        let (chain, posterior) = chain(case)?;
        Some(Sides::at_most((-chain.gap(&posterior)).exp(), 1.0))
    });
    Claim::new("004-L1-BOUND", SL_DAIS, "Lemma 1", printed.by(METHOD).twin_times(0.95))
        .assuming("volume-preserving, reversible steps")
}

fn divergence() -> Claim {
    let formula = "KL(q(z_K) || p(z | D)) <= log p(D) - L";
    let printed = Bound::<Numbers>::new(formula, settings(&[1, 2, 5, 20]), |case| {
        let (chain, posterior) = chain(case)?;
        let far = chain.end().law().ok()?.divergence(&posterior);
        Some(Sides::at_most(far, chain.gap(&posterior))).filter(|sides| sides.rhs > 1e-6)
    });
    Claim::new("004-P1", SL_DAIS, "Proposition 1", printed.by(METHOD).twin_times(0.95))
        .assuming("one surrogate for all samples")
}

/// `KL(surrogate posterior || posterior)` to second order in the errors.
fn second_order(case: &Numbers, posterior: &Normal) -> f64 {
    let variance = posterior.covariance()[(0, 0)];
    let curvature = case.number("dB") * variance;
    let shift = case.number("da") - case.number("dB") * posterior.mean()[0];
    0.5 * shift * shift * variance + 0.25 * curvature * curvature
}

/// Limit of the gap as `K` grows, with an identity that holds at every `K`.
pub(super) fn limit() -> Claim {
    let lost = "the right-hand side is not in the text at hand";
    let printed = Statement::not_checkable("log p(D) - L <= O(K^(-1/2)) + terms in da, dB", lost);
    let formula = "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S]";
    fn gap(case: &Numbers) -> Option<Gap> {
        Gap::of(&chain(case)?.0, &likelihood(case)).ok()
    }
    let exact = Bound::<Numbers>::new(formula, settings(&[1, 2, 5, 20]), |case| {
        gap(case).map(|gap| Sides::equal(gap.whole, gap.sum()))
    });
    let exact = exact.by(METHOD).twin("without the last term", |case| {
        gap(case).map(|gap| Sides::equal(gap.whole, gap.divergence + gap.own))
    });
    fn small(case: &Numbers, factor: f64) -> Option<Sides> {
        let (_, posterior) = chain(case)?;
        let relative = (case.number("dB") * posterior.covariance()[(0, 0)]).abs();
        let (limit, rhs) = (gap(case)?.divergence, second_order(case, &posterior));
        Some(Sides::at_most(limit, factor * rhs)).filter(|_| relative < 0.1 && rhs > 1e-7)
    }
    let formula =
        "KL(p_S || p) <= 1.25 (e^2/L + (dB/L)^2/2)/2, e = da - dB E_p z, for |dB| < L/10, L = 1/V_p z";
    let quadratic = Bound::<Numbers>::new(formula, settings(&[1]), |case| small(case, 1.25));
    let quadratic = quadratic.by(METHOD).twin("0.9 of it", |case| small(case, 0.9));
    fn own(case: &Numbers, factor: f64) -> Option<Sides> {
        let (chain, _) = chain(case)?;
        let (surrogate, _) = chain.prior.posterior(&chain.surrogate).ok()?;
        let gap = |steps: usize| {
            let step_size = (steps as f64).powf(-0.25);
            LinearDais::from_prior(&chain.prior, &chain.surrogate, steps, step_size).gap(&surrogate)
        };
        let (short, long) = (gap(case.count), gap(16 * case.count));
        Some(Sides::at_most(long, factor * short)).filter(|_| short > 1e-6)
    }
    let formula = "gap_S(16 K) <= gap_S(K) / 2 at eta = K^(-1/4)";
    let falls = Bound::<Numbers>::new(formula, settings(&[64, 256, 1024]), |case| own(case, 0.5));
    let falls = falls.by(METHOD).twin("a quarter, the rate K^(-1/2)", |case| own(case, 0.25));
    Claim::new("004-P3", SL_DAIS, "Proposition 3", printed)
        .remark(
            "the gap goes to KL(p_S || p), second order in the surrogate's errors; more steps cannot mend it",
        )
        .corrected(exact)
        .corrected(quadratic)
        .corrected(falls)
}

/// Fall of the gap with the number of steps, if the surrogate is the likelihood.
pub(super) fn steps() -> Claim {
    fn sides(case: &Numbers, is_exact: bool) -> Option<Sides> {
        let (chain, posterior) = chain(case)?;
        let likelihood = likelihood(case);
        let surrogate = if is_exact { &likelihood } else { &chain.surrogate };
        let gap = |steps: usize| {
            let step_size = (steps as f64).powf(-0.25);
            LinearDais::from_prior(&chain.prior, surrogate, steps, step_size).gap(&posterior)
        };
        Some(Sides::at_most(gap(4 * case.count), gap(case.count))).filter(|sides| sides.rhs > 1e-6)
    }
    let formula = "gap(4 K) <= gap(K) at eta = K^(-1/4), if the surrogate is the likelihood";
    let printed = Bound::<Numbers>::new(formula, settings(&[16, 64, 256]), |case| sides(case, true));
    let printed = printed.by(METHOD).twin("for any surrogate", |case| sides(case, false));
    Claim::new("004-P3-STEPS", SL_DAIS, "Proposition 3", printed)
        .assuming("Assumption 1: base and prior agree, full refreshment, beta = k / K")
        .remark("with a poor surrogate few steps can have the smaller gap")
}
