//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiments `ours/fit-verdict` and
//! `ours/fit-verdict-density`.

use crate::posterior::{Rates, Way};

/// Rates of the verdict as measured, with a gradient.
pub const MEASURED: Rates = Rates {
    rule: 17,
    way: Way::Gradient,
    planted: 4519,
    false_yes: 0,
    at_most: 0.0007,
    hidden: 397,
    hidden_yes: 397,
    right: 2833,
    false_no: 148,
};

/// Rates of the verdict as measured, by the log density alone.
pub const MEASURED_BY_DENSITY: Rates = Rates {
    rule: 17,
    way: Way::Density,
    planted: 385,
    false_yes: 0,
    at_most: 0.0078,
    hidden: 40,
    hidden_yes: 40,
    right: 254,
    false_no: 11,
};

/// Rates of the verdict as measured of answers by chains.
pub const MEASURED_BY_CHAINS: Rates = Rates {
    rule: 17,
    way: Way::Chains,
    planted: 1856,
    false_yes: 8,
    at_most: 0.0078,
    hidden: 3,
    hidden_yes: 3,
    right: 992,
    false_no: 18,
};
