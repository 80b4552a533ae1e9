//! Claims of SL-DAIS.

use super::*;
use Standing::{Holds, NotCheckable, Tight};
use mcsa_theory::dais::{Law, LinearDais, Quadratic};

#[test]
fn standings() {
    regression(
        "004",
        &[
            ("004-L1", Holds),
            ("004-L1-BOUND", Tight),
            ("004-P1", Tight),
            ("004-P1-BATCH", Holds),
            ("004-P2", Holds),
            ("004-P3", NotCheckable),
        ],
    );
}

/// With a wrong surrogate more steps reduce the gap to the divergence of the surrogate's posterior, and no further;
/// with the likelihood itself they reduce it to zero.
#[test]
fn the_gap_goes_to_the_surrogates_divergence() {
    let likelihood = Quadratic { slope: 2.0, curvature: 3.0 };
    let at = |surrogate: Quadratic, steps: usize| {
        let prior = Law { mean: 0.0, variance: 1.0 };
        let chain = LinearDais { prior, surrogate, steps, step_size: (steps as f64).powf(-0.25) };
        (chain.gap(&likelihood), chain.posterior(&surrogate).0.divergence(&chain.posterior(&likelihood).0))
    };
    let wrong = Quadratic { slope: 2.6, curvature: 3.8 };
    let steps = [256, 4096, 65_536];
    let (gaps, limits): (Vec<f64>, Vec<f64>) = steps.iter().map(|&steps| at(wrong, steps)).unzip();
    assert!(gaps.windows(2).all(|pair| pair[1] < pair[0]) && gaps[2] > limits[2]);
    assert!(gaps[2] - limits[2] < 0.3 * (gaps[1] - limits[1]));
    let right: Vec<f64> = steps.iter().map(|&steps| at(likelihood, steps).0).collect();
    assert!(right[2] < 0.3 * right[1] && right[1] < 0.4 * right[0] && limits[2] > 1e-3);
}
