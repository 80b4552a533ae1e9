//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiment `fit-verdict`.

use super::Rates;

/// Rates of the verdict as measured.
pub const MEASURED: Rates = Rates {
    rule: 2,
    planted: 520,
    false_yes: 6,
    at_most: 0.0226,
    hidden: 50,
    hidden_yes: 40,
    right: 304,
    false_no: 29,
};
