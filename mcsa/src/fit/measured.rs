//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiment `fit-verdict`.

use super::Rates;

/// Rates of the verdict as measured.
pub const MEASURED: Rates = Rates {
    rule: 0,
    planted: 0,
    false_yes: 0,
    at_most: 1.0000,
    hidden: 0,
    hidden_yes: 0,
    right: 0,
    false_no: 0,
};
