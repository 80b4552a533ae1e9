//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiments `ours/fit-verdict` and
//! `ours/fit-verdict-density`.

use super::{Rates, Way};

/// Rates of the verdict as measured, with a gradient.
pub const MEASURED: Rates = Rates {
    rule: 7,
    way: Way::Gradient,
    planted: 460,
    false_yes: 0,
    at_most: 0.0065,
    hidden: 40,
    hidden_yes: 40,
    right: 295,
    false_no: 13,
};

/// Rates of the verdict as measured, by the log density alone.
pub const MEASURED_BY_DENSITY: Rates = Rates {
    rule: 7,
    way: Way::Density,
    planted: 305,
    false_yes: 0,
    at_most: 0.0098,
    hidden: 32,
    hidden_yes: 32,
    right: 187,
    false_no: 9,
};

/// Rates of the verdict as measured of answers by chains.
pub const MEASURED_BY_CHAINS: Rates = Rates {
    rule: 7,
    way: Way::Chains,
    planted: 303,
    false_yes: 2,
    at_most: 0.0206,
    hidden: 0,
    hidden_yes: 0,
    right: 116,
    false_no: 10,
};
