//! Sums whose order depends on their length alone, so that a column has the same bits in any company.

use mcsa::numeric;

pub(crate) use numeric::{dot, sum_squares_scaled};

/// `sum_i ln x_i`; `logs` is memory of the same length.
pub(crate) fn sum_of_logs(x: &[f64], logs: &mut [f64]) -> f64 {
    numeric::ln_into(x, logs);
    numeric::sum(logs)
}
