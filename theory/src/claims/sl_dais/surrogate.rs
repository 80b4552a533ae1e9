//! Claims on one surrogate for all data (SL-DAIS, Lemma 1, Props. 1 and 3).

use super::linear::{chain, likelihood, settings};
use crate::claims::{Bound, Claim, Numbers, SL_DAIS, Sides, Statement};

const METHOD: &str = "closed form, linear Gaussian";

pub(super) fn bounds() -> Vec<Claim> {
    vec![weight(), bound(), divergence()]
}

fn weight() -> Claim {
    fn sides(case: &Numbers, complete: bool) -> Option<Sides> {
        let (chain, likelihood) = (chain(case), likelihood(case));
        let found = chain.log_mean_weight(&likelihood, complete)?;
        Some(Sides::equal(found, chain.posterior(&likelihood).1))
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
        Some(Sides::at_most((-chain(case).gap(&likelihood(case))).exp(), 1.0))
    });
    Claim::new("004-L1-BOUND", SL_DAIS, "Lemma 1", printed.by(METHOD).twin_times(0.95))
        .assuming("volume-preserving, reversible steps")
}

fn divergence() -> Claim {
    let formula = "KL(q(z_K) || p(z | D)) <= log p(D) - L";
    let printed = Bound::<Numbers>::new(formula, settings(&[1, 2, 5, 20]), |case| {
        let (chain, likelihood) = (chain(case), likelihood(case));
        let far = chain.end().0.divergence(&chain.posterior(&likelihood).0);
        Some(Sides::at_most(far, chain.gap(&likelihood))).filter(|sides| sides.rhs > 1e-6)
    });
    Claim::new("004-P1", SL_DAIS, "Proposition 1", printed.by(METHOD).twin_times(0.95))
        .assuming("one surrogate for all samples")
}

/// `KL(surrogate posterior || posterior)`, the gap under the surrogate itself, and the difference `E_surrogate - E_(z_K)` of the
/// surrogate's error.
fn parts(case: &Numbers) -> (f64, f64, f64) {
    let (chain, likelihood) = (chain(case), likelihood(case));
    let (surrogate, _) = chain.posterior(&chain.surrogate);
    let (posterior, _) = chain.posterior(&likelihood);
    let (end, _) = chain.end();
    let square = |law: &crate::dais::Law| law.variance + law.mean * law.mean;
    let slope = likelihood.slope - chain.surrogate.slope;
    let curvature = likelihood.curvature - chain.surrogate.curvature;
    let error = slope * (surrogate.mean - end.mean) - 0.5 * curvature * (square(&surrogate) - square(&end));
    (surrogate.divergence(&posterior), chain.gap(&chain.surrogate), error)
}

/// `KL(surrogate posterior || posterior)` to second order in the errors.
fn second_order(case: &Numbers) -> f64 {
    let (chain, likelihood) = (chain(case), likelihood(case));
    let (posterior, _) = chain.posterior(&likelihood);
    let curvature = case.number("dB") * posterior.variance;
    let shift = case.number("da") - case.number("dB") * posterior.mean;
    0.5 * shift * shift * posterior.variance + 0.25 * curvature * curvature
}

/// Limit of the gap as `K` grows, with an identity that holds at every `K`.
pub(super) fn limit() -> Claim {
    let lost = "the right-hand side is not in the text at hand";
    let printed = Statement::not_checkable("log p(D) - L <= O(K^(-1/2)) + terms in da, dB", lost);
    let formula = "log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S]";
    let exact = Bound::<Numbers>::new(formula, settings(&[1, 2, 5, 20]), |case| {
        let (limit, own, error) = parts(case);
        Some(Sides::equal(chain(case).gap(&likelihood(case)), limit + own + error))
    });
    let exact = exact.by(METHOD).twin("without the last term", |case| {
        let (limit, own, _) = parts(case);
        Some(Sides::equal(chain(case).gap(&likelihood(case)), limit + own))
    });
    fn small(case: &Numbers, factor: f64) -> Option<Sides> {
        let (posterior, _) = chain(case).posterior(&likelihood(case));
        let relative = (case.number("dB") * posterior.variance).abs();
        let rhs = second_order(case);
        Some(Sides::at_most(parts(case).0, factor * rhs)).filter(|_| relative < 0.1 && rhs > 1e-7)
    }
    let formula =
        "KL(p_S || p) <= 1.25 (e^2/L + (dB/L)^2/2)/2, e = da - dB E_p z, for |dB| < L/10, L = 1/V_p z";
    let quadratic = Bound::<Numbers>::new(formula, settings(&[1]), |case| small(case, 1.25));
    let quadratic = quadratic.by(METHOD).twin("0.9 of it", |case| small(case, 0.9));
    fn own(case: &Numbers, factor: f64) -> Option<Sides> {
        let mut chain = chain(case);
        let mut gap = |steps: usize| {
            chain.steps = steps;
            chain.step_size = (steps as f64).powf(-0.25);
            chain.gap(&chain.surrogate)
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
