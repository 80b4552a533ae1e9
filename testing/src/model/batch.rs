//! Batch laws: a column's result is bit-identical whatever the batch.

use faer::Mat;
use mcsa_core::{Columns, ColumnsMut, Gradient, LogDensity};

use super::{Case, Failure};
use crate::law::same_bits;

/// Batch sizes, up to more than the width of vector registers and of blocks of them.
const SIZES: [usize; 9] = [0, 1, 2, 3, 4, 5, 8, 13, 17];

/// `log_densities` is bit-identical to `log_density`, column by column, for batches of 0 to 17 columns with padding
/// between them; and a column keeps its bits when its neighbours become infinite.
///
/// # Errors
/// If a column differs; the failure names the batch size and the column.
pub fn batch_equals_columns<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "batch_equals_columns";
    for columns in SIZES {
        let mut z = case.points(columns);
        let alone: Vec<f64> = (0..columns).map(|j| case.log_density(z.as_ref().column(j))).collect();
        let together = case.log_densities(z.as_ref());
        same_bits(LAW, |j| format!("log_densities, column {j} of {columns}"), &together, &alone)?;
        for j in (1..columns).step_by(2) {
            z.col_as_slice_mut(j).fill(f64::INFINITY);
        }
        let even = |values: &[f64]| values.iter().copied().step_by(2).collect::<Vec<_>>();
        let place = |j| format!("log_densities, column {} of {columns} beside infinite ones", 2 * j);
        same_bits(LAW, place, &even(&case.log_densities(z.as_ref())), &even(&alone))?;
    }
    Ok(())
}

/// `gradients_into` is bit-identical to `gradient_into`, values and gradients, column by column, for batches of 0 to 17 columns.
///
/// # Errors
/// If an entry differs; the failure names the batch size, the column and the coordinate.
pub fn gradient_batch_equals_columns<P: Gradient>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "gradient_batch_equals_columns";
    let (target, dim) = (&case.target, case.target.dim());
    for columns in SIZES {
        let z = case.points(columns);
        let mut log_p = vec![f64::NAN; columns];
        let mut together = Mat::full(dim, columns, f64::NAN);
        target.gradients_into(z.as_ref(), &mut log_p, together.as_mut(), &mut case.work(columns));
        let mut alone = vec![f64::NAN; dim];
        for (j, &log_p) in log_p.iter().enumerate() {
            let value = target.gradient_into(z.as_ref().column(j), &mut alone, &mut case.work(1));
            same_bits(LAW, |_| format!("value, column {j} of {columns}"), &[log_p], &[value])?;
            let place = |i| format!("coordinate {i}, column {j} of {columns}");
            same_bits(LAW, place, together.as_mut().column_mut(j), &alone)?;
            alone.fill(f64::NAN);
        }
    }
    Ok(())
}
