//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiment `fit-verdict`.

use super::Rates;

/// Rates of the verdict as measured.
pub const MEASURED: Rates = Rates {
    rule: 1,
    planted: 530,
    false_yes: 49,
    at_most: 0.1158,
    hidden: 40,
    hidden_yes: 40,
    right: 302,
    false_no: 18,
};
