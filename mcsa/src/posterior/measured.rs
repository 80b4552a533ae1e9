//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiments `ours/fit-verdict` and
//! `ours/fit-verdict-density`.

use super::{Rates, Way};

/// Rates of the verdict as measured, with a gradient.
pub const MEASURED: Rates = Rates {
    rule: 6,
    way: Way::Gradient,
    planted: 1240,
    false_yes: 1,
    at_most: 0.0038,
    hidden: 80,
    hidden_yes: 79,
    right: 739,
    false_no: 72,
};

/// Rates of the verdict as measured, by the log density alone.
pub const MEASURED_BY_DENSITY: Rates = Rates {
    rule: 6,
    way: Way::Density,
    planted: 1120,
    false_yes: 3,
    at_most: 0.0069,
    hidden: 80,
    hidden_yes: 80,
    right: 659,
    false_no: 109,
};

/// Rates of the verdict as measured of answers by chains.
pub const MEASURED_BY_CHAINS: Rates = Rates {
    rule: 6,
    way: Way::Chains,
    planted: 0,
    false_yes: 0,
    at_most: 1.0000,
    hidden: 0,
    hidden_yes: 0,
    right: 0,
    false_no: 0,
};
