//! Claims on the example with a skew-normal target (MSC, Fig. 1).

use crate::claims::{Bound, Claim, Domain, MSC, Numbers, Sides};
use crate::fixed_point::SkewNormal;

pub(super) fn claims() -> Vec<Claim> {
    vec![narrow(), biased()]
}

/// Number of quadrature points: doubling it changes no comparison.
const POINTS: usize = 100;

const METHOD: &str = "quadrature over two draws, Newton's method";

fn shapes() -> Vec<Numbers> {
    Numbers::settings(&[("shape", Domain::Between(0.5, 8.0), 1)], &[1])
}

fn narrow() -> Claim {
    fn sides(case: &Numbers, factor: f64) -> Option<Sides> {
        let target = SkewNormal { shape: case.number("shape") };
        let found = target.pairwise(POINTS)?;
        Some(Sides::below(found.deviation, factor * target.moments().deviation))
    }
    let formula = "SNIS, S = 2: the fitted deviation is below the target's";
    let printed = Bound::<Numbers>::new(formula, shapes(), |case| sides(case, 1.0));
    Claim::new(
        "002-FIG1",
        MSC,
        "Figure 1",
        printed.by(METHOD).twin("below 0.9 of it", |case| sides(case, 0.9)),
    )
    .assuming("a skew normal target, a Gaussian guide")
}

fn biased() -> Claim {
    fn sides(case: &Numbers, least: f64) -> Option<Sides> {
        let target = SkewNormal { shape: case.number("shape") };
        Some(Sides::below(target.pairwise(POINTS)?.mean, target.moments().mean - least))
    }
    let formula = "SNIS, S = 2: the fitted mean is short of the target's";
    let printed = Bound::<Numbers>::new(formula, shapes(), |case| sides(case, 0.0));
    Claim::new(
        "002-FIG1-MEAN",
        MSC,
        "Figure 1",
        printed.by(METHOD).twin("by more than 0.05", |case| sides(case, 0.05)),
    )
    .assuming("a skew normal target, a Gaussian guide")
}
