//! Laws of lent memory: `work_len` numbers are enough.

use crate::law::memory_is_enough;
use faer::Mat;
use mcsa_core::{Columns, Curvature, Gradient, LogDensity, Separable, Subsampled};

use super::{Case, Failure};

const SIZES: [usize; 5] = [0, 1, 2, 5, 13];

/// `log_density` and `log_densities` need at most the memory that `work_len` claims, for batches of 0 to 13 columns.
///
/// # Errors
/// If it is too little; the failure names the method, the length claimed and one that is enough.
pub fn work_is_enough<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "work_is_enough";
    let target = &case.target;
    for columns in SIZES {
        let (z, mut out) = (case.points(columns), vec![0.0; columns]);
        let place = format!("log_densities, {columns} columns");
        memory_is_enough(LAW, place, target.work_len(columns), |work| {
            target.log_densities(z.as_ref(), &mut out, work);
        })?;
    }
    let z = case.points(1);
    memory_is_enough(LAW, "log_density", target.work_len(1), |work| {
        let _ = target.log_density(z.as_ref().column(0), work);
    })
}

/// `gradient_into` and `gradients_into` need at most the memory that `work_len` claims, for batches of 0 to 13 columns.
///
/// # Errors
/// If it is too little; the failure names the method, the length claimed and one that is enough.
pub fn gradient_work_is_enough<P: Gradient>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "gradient_work_is_enough";
    let target = &case.target;
    for columns in SIZES {
        let (z, mut out) = (case.points(columns), vec![0.0; columns]);
        let mut gradients = Mat::zeros(target.dim(), columns);
        let place = format!("gradients_into, {columns} columns");
        memory_is_enough(LAW, place, target.work_len(columns), |work| {
            target.gradients_into(z.as_ref(), &mut out, gradients.as_mut(), work);
        })?;
    }
    let (z, mut gradient) = (case.points(1), vec![0.0; target.dim()]);
    memory_is_enough(LAW, "gradient_into", target.work_len(1), |work| {
        let _ = target.gradient_into(z.as_ref().column(0), &mut gradient, work);
    })
}

/// `hessian_vector_into` needs at most the memory that `work_len` claims.
///
/// # Errors
/// If it is too little; the failure names the length claimed and one that is enough.
pub fn curvature_work_is_enough<P: Curvature>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "curvature_work_is_enough";
    let (target, z, mut product) = (&case.target, case.points(2), vec![0.0; case.target.dim()]);
    let (z, v) = (z.as_ref().column(0), z.as_ref().column(1));
    memory_is_enough(LAW, "hessian_vector_into", target.work_len(1), |work| {
        target.hessian_vector_into(z, v, &mut product, work);
    })
}

/// `log_prior` and `log_likelihood_at` need at most the memory that `work_len` claims.
///
/// # Errors
/// If it is too little; the failure names the method, the length claimed and one that is enough.
pub fn terms_work_is_enough<P: Separable>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "terms_work_is_enough";
    let (target, z) = (&case.target, case.points(1));
    let (z, rows) = (z.as_ref().column(0), (0..target.num_data()).collect::<Vec<_>>());
    memory_is_enough(LAW, "log_prior", target.work_len(1), |work| {
        let _ = target.log_prior(z, work);
    })?;
    memory_is_enough(LAW, "log_likelihood_at", target.work_len(1), |work| {
        let _ = target.log_likelihood_at(&rows, z, work);
    })
}

/// The methods for prior and rows need at most the memory that `rows_work_len` claims, for 0 to 13 rows.
///
/// # Errors
/// If it is too little; the failure names the method, the length claimed and one that is enough.
pub fn row_derivatives_work_is_enough<P: Subsampled>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "row_derivatives_work_is_enough";
    let (target, points, mut out) = (&case.target, case.points(2), vec![0.0; case.target.dim()]);
    let (z, v) = (points.as_ref().column(0), points.as_ref().column(1));
    for count in SIZES {
        let data = target.num_data();
        let rows: Vec<usize> = (0..if data == 0 { 0 } else { count }).map(|row| row % data).collect();
        let claimed = target.rows_work_len(rows.len());
        let place = |method: &str| format!("{method}, {count} rows");
        memory_is_enough(LAW, place("log_prior"), claimed, |work| {
            let _ = target.log_prior(z, work);
        })?;
        memory_is_enough(LAW, place("log_likelihood_at"), claimed, |work| {
            let _ = target.log_likelihood_at(&rows, z, work);
        })?;
        memory_is_enough(LAW, place("prior_gradient_into"), claimed, |work| {
            let _ = target.prior_gradient_into(z, &mut out, work);
        })?;
        memory_is_enough(LAW, place("add_gradient_at"), claimed, |work| {
            let _ = target.add_gradient_at(&rows, 0.5, z, &mut out, work);
        })?;
        memory_is_enough(LAW, place("prior_hessian_vector_into"), claimed, |work| {
            target.prior_hessian_vector_into(z, v, &mut out, work);
        })?;
        memory_is_enough(LAW, place("add_hessian_vector_at"), claimed, |work| {
            target.add_hessian_vector_at(&rows, 0.5, z, v, &mut out, work);
        })?;
    }
    Ok(())
}
