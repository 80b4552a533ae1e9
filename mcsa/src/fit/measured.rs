//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiments `fit-verdict` and
//! `fit-verdict-density`.

use super::Rates;

/// Rates of the verdict as measured, with a gradient.
pub const MEASURED: Rates = Rates {
    rule: 5,
    gradient: true,
    planted: 1220,
    false_yes: 10,
    at_most: 0.0139,
    hidden: 100,
    hidden_yes: 80,
    right: 743,
    false_no: 73,
};

/// Rates of the verdict as measured, by the log density alone.
pub const MEASURED_BY_DENSITY: Rates = Rates {
    rule: 5,
    gradient: false,
    planted: 1120,
    false_yes: 12,
    at_most: 0.0173,
    hidden: 80,
    hidden_yes: 78,
    right: 659,
    false_no: 109,
};
