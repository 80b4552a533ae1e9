//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiment `fit-verdict`.

use super::Rates;

/// Rates of the verdict as measured.
pub const MEASURED: Rates = Rates {
    rule: 1,
    planted: 500,
    false_yes: 44,
    at_most: 0.1117,
    hidden: 70,
    hidden_yes: 40,
    right: 299,
    false_no: 20,
};
