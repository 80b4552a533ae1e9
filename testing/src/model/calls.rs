//! Laws of calls: batches, names, and lent memory.

use faer::Mat;
use mcsa_core::{Columns, ColumnsMut, Curvature, Gradient, LogDensity, Named, Part, Separable, Subsampled};

use super::{Case, Failure};
use crate::law::{Run, SIZES, laws_of_memory, same_bits};

/// Batch sizes, up to more than the width of vector registers and of blocks of them.
const BATCHES: [usize; 9] = [0, 1, 2, 3, 4, 5, 8, 13, 17];

/// `log_densities` is bit-identical to `log_density`, column by column, for batches of 0 to 17 columns with padding
/// between them; and a column keeps its bits when its neighbours become infinite.
pub fn batch_equals_columns(case: &Case<dyn LogDensity + '_>) -> Result<(), Failure> {
    const LAW: &str = "batch_equals_columns";
    for columns in BATCHES {
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
pub fn gradient_batch_equals_columns(case: &Case<dyn Gradient + '_>) -> Result<(), Failure> {
    const LAW: &str = "gradient_batch_equals_columns";
    let (target, dim) = (&case.target, case.target.dim());
    for columns in BATCHES {
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

/// `constrain` appends to the list, gives every parameter a distinct name and a finite value, and repeats the values bit by bit.
pub fn names_are_distinct(case: &Case<dyn LogDensity + '_>) -> Result<(), Failure> {
    const LAW: &str = "names_are_distinct";
    let points = case.points(1);
    let z = points.as_ref().column(0);
    let mut named = Named::default();
    named.push("before", 1.0);
    case.target.constrain(z, &mut named);
    if named.iter().next() != Some(("before", 1.0)) {
        return Err(Failure::new(LAW, "the list handed in", "appended to", "overwritten"));
    }
    let distinct = named.check_distinct();
    distinct.map_err(|error| Failure::new(LAW, "the names", "distinct", error.to_string()))?;
    for (name, value) in named.iter() {
        if !value.is_finite() {
            return Err(Failure::new(LAW, name, "a finite number", format!("{value}")));
        }
    }
    let mut again = Named::default();
    case.target.constrain(z, &mut again);
    let place =
        |k: usize| again.names().get(k).map_or_else(String::new, |name| format!("{name}, second call"));
    same_bits(LAW, place, again.row(), &named.row()[1..])
}

fn density_calls(case: &Case<dyn LogDensity + '_>, columns: usize, run: Run<'_>) -> Result<(), Failure> {
    let (target, z, mut out) = (&case.target, case.points(columns), vec![0.0; columns]);
    run("log_densities", &mut |work| target.log_densities(z.as_ref(), &mut out, work))?;
    if columns == 0 {
        return Ok(());
    }
    run("log_density", &mut |work| out[0] = target.log_density(z.as_ref().column(0), work))
}

fn gradient_calls(case: &Case<dyn Gradient + '_>, columns: usize, run: Run<'_>) -> Result<(), Failure> {
    let (target, z, mut out) = (&case.target, case.points(columns), vec![0.0; columns]);
    let mut gradients = Mat::zeros(target.dim(), columns);
    run("gradients_into", &mut |work| {
        target.gradients_into(z.as_ref(), &mut out, gradients.as_mut(), work);
    })?;
    if columns == 0 {
        return Ok(());
    }
    let mut gradient = vec![0.0; target.dim()];
    run("gradient_into", &mut |work| out[0] = target.gradient_into(z.as_ref().column(0), &mut gradient, work))
}

fn curvature_calls(case: &Case<dyn Curvature + '_>, _: usize, run: Run<'_>) -> Result<(), Failure> {
    let (target, points, mut product) = (&case.target, case.points(2), vec![0.0; case.target.dim()]);
    let (z, v) = (points.as_ref().column(0), points.as_ref().column(1));
    run("hessian_vector_into", &mut |work| target.hessian_vector_into(z, v, &mut product, work))
}

fn term_calls(case: &Case<dyn Separable + '_>, _: usize, run: Run<'_>) -> Result<(), Failure> {
    let (target, points, mut sum) = (&case.target, case.points(1), 0.0);
    let (z, rows) = (points.as_ref().column(0), (0..target.num_data()).collect::<Vec<_>>());
    run("log_prior", &mut |work| sum += target.log_prior(z, work))?;
    run("log_likelihood_at", &mut |work| sum += target.log_likelihood_at(&rows, z, work))
}

fn row_calls(case: &Case<dyn Subsampled + '_>, rows: usize, run: Run<'_>) -> Result<(), Failure> {
    let (target, points, mut out) = (&case.target, case.points(2), vec![0.0; case.target.dim()]);
    let (z, v, mut sum) = (points.as_ref().column(0), points.as_ref().column(1), 0.0);
    let rows: Vec<usize> = (0..target.num_data()).cycle().take(rows).collect();
    let part = Part { rows: &rows, scale: 0.5 };
    run("log_prior", &mut |work| sum += target.log_prior(z, work))?;
    run("log_likelihood_at", &mut |work| sum += target.log_likelihood_at(&rows, z, work))?;
    run("prior_gradient_into", &mut |work| sum += target.prior_gradient_into(z, &mut out, work))?;
    run("add_gradient_at", &mut |work| sum += target.add_gradient_at(part, z, &mut out, work))?;
    run("prior_hessian_vector_into", &mut |work| target.prior_hessian_vector_into(z, v, &mut out, work))?;
    run("add_hessian_vector_at", &mut |work| {
        target.add_hessian_vector_at(part, z, v, &mut out, work);
    })
}

laws_of_memory! {
    LogDensity, "`log_density` and `log_densities`", target.work_len, &SIZES, density_calls
        => work_is_enough, density_allocates_nothing;
    Gradient, "`gradient_into` and `gradients_into`", target.work_len, &SIZES, gradient_calls
        => gradient_work_is_enough, gradient_allocates_nothing;
    Curvature, "The calls of `hessian_vector_into`", target.work_len, &[1], curvature_calls
        => curvature_work_is_enough, curvature_allocates_nothing;
    Separable, "`log_prior` and `log_likelihood_at`", target.work_len, &[1], term_calls
        => terms_work_is_enough, terms_allocate_nothing;
    Subsampled, "The methods for prior and rows", target.rows_work_len, &SIZES, row_calls
        => row_derivatives_work_is_enough, row_derivatives_allocate_nothing;
}
