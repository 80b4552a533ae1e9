//! Claims of SL-DAIS.

use super::*;
use Standing::{Holds, NotCheckable, Tight};
use mcsa_theory::dais::{LinearDais, Normal, Quadratic};

#[test]
fn standings() {
    regression(
        "004",
        &[
            ("004-L1", Holds),
            ("004-L1-BOUND", Tight),
            ("004-P1", Tight),
            ("004-L1-ANY", Holds),
            ("004-P1-ANY", Tight),
            ("004-STILL", Holds),
            ("004-SCALE", Holds),
            ("004-P1-BATCH", Holds),
            ("004-P2", Holds),
            ("004-P2-SUBSETS", Holds),
            ("004-P2-WIDE", Tight),
            ("004-P2-GAP", Holds),
            ("004-P3", NotCheckable),
            ("004-P3-ANY", Holds),
            ("004-P3-LOGISTIC", Holds),
            ("004-P3-SECOND", Tight),
            ("004-P3-STEPS", Holds),
            ("004-MASS", Holds),
            ("004-ROWS", Holds),
        ],
    );
}

/// With a wrong surrogate more steps reduce the gap to the divergence of the surrogate's posterior, and no further;
/// with the likelihood itself they reduce it to zero.
#[test]
fn the_gap_goes_to_the_surrogates_divergence() {
    let prior = Normal::scalar(0.0, 1.0).unwrap();
    let (likelihood, wrong) = (Quadratic::scalar(2.0, 3.0), Quadratic::scalar(2.6, 3.8));
    let posterior = |likelihood: &Quadratic| prior.posterior(likelihood).unwrap().0;
    let limit = posterior(&wrong).divergence(&posterior(&likelihood));
    let gaps = |surrogate: &Quadratic| {
        [256, 4096, 65_536].map(|steps: usize| {
            let step_size = (steps as f64).powf(-0.25);
            LinearDais::from_prior(&prior, surrogate, steps, step_size).gap(&posterior(&likelihood))
        })
    };
    let found = gaps(&wrong);
    assert!(found.windows(2).all(|pair| pair[1] < pair[0]) && found[2] > limit);
    assert!(found[2] - limit < 0.3 * (found[1] - limit));
    let right = gaps(&likelihood);
    assert!(right[2] < 0.3 * right[1] && right[1] < 0.4 * right[0] && limit > 1e-3);
}
