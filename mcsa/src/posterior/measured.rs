//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiments `ours/fit-verdict` and
//! `ours/fit-verdict-density`.

use super::{Rates, Way};

/// Rates of the verdict as measured, with a gradient.
pub const MEASURED: Rates = Rates {
    rule: 8,
    way: Way::Gradient,
    planted: 4593,
    false_yes: 0,
    at_most: 0.0007,
    hidden: 397,
    hidden_yes: 397,
    right: 2827,
    false_no: 166,
};

/// Rates of the verdict as measured, by the log density alone.
pub const MEASURED_BY_DENSITY: Rates = Rates {
    rule: 8,
    way: Way::Density,
    planted: 387,
    false_yes: 0,
    at_most: 0.0077,
    hidden: 40,
    hidden_yes: 40,
    right: 260,
    false_no: 20,
};

/// Rates of the verdict as measured of answers by chains.
pub const MEASURED_BY_CHAINS: Rates = Rates {
    rule: 8,
    way: Way::Chains,
    planted: 1780,
    false_yes: 6,
    at_most: 0.0066,
    hidden: 3,
    hidden_yes: 3,
    right: 980,
    false_no: 32,
};
