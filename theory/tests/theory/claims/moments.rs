//! Claims on running moments.

use super::*;
use Standing::{Holds, Tight, Violated};

#[test]
fn standings() {
    regression(
        "005",
        &[
            ("005-FIXED", Holds),
            ("005-OPTIMUM", Holds),
            ("005-GAIN", Violated),
            ("005-NATURAL", Holds),
            ("005-ASCENT", Holds),
            ("005-RATE", Tight),
            ("005-ADAPTED", Violated),
        ],
    );
}

/// Two atoms of equal mass with T = 1 and -1, the second proposed three times as often: proposals are accepted with probabilities 1/2
/// and 1, so E_p[a T] / E_p[a] is -1/3, and so is the step at the mean 0.
#[test]
fn the_same_step_weighs_atoms_by_their_acceptance() {
    example_is("005-GAIN", -1.0 / 3.0, 0.0);
}
