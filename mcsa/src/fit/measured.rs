//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiment `fit-verdict`.

use super::Rates;

/// Rates of the verdict as measured.
pub const MEASURED: Rates = Rates {
    rule: 4,
    planted: 610,
    false_yes: 2,
    at_most: 0.0103,
    hidden: 50,
    hidden_yes: 40,
    right: 359,
    false_no: 31,
};
