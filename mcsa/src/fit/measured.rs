//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiment `fit-verdict`.

use super::Rates;

/// Rates of the verdict as measured.
pub const MEASURED: Rates = Rates {
    rule: 4,
    planted: 1220,
    false_yes: 4,
    at_most: 0.0075,
    hidden: 100,
    hidden_yes: 80,
    right: 714,
    false_no: 57,
};
