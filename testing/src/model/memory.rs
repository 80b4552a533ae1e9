//! Memory laws: no allocation after the first call.

use crate::law::{Meter, allocates_nothing as silent};
use faer::Mat;
use mcsa_core::{Columns, Curvature, Gradient, LogDensity, Separable, Subsampled};

use super::{Case, Failure};

const COLUMNS: usize = 5;

/// `log_density` and `log_densities` allocate nothing, given lent memory.
///
/// # Errors
/// If a method allocates; the failure names the method and the number of allocations.
pub fn density_allocates_nothing<P: LogDensity>(case: &Case<P>, meter: Meter<'_>) -> Result<(), Failure> {
    const LAW: &str = "density_allocates_nothing";
    let (target, z) = (&case.target, case.points(COLUMNS));
    let (mut out, mut work) = ([0.0; COLUMNS], case.work(COLUMNS));
    silent(LAW, "log_density", meter, &mut || {
        out[0] = target.log_density(z.as_ref().column(0), &mut work);
    })?;
    silent(LAW, "log_densities", meter, &mut || target.log_densities(z.as_ref(), &mut out, &mut work))
}

/// `gradient_into` and `gradients_into` allocate nothing, given lent memory.
///
/// # Errors
/// If a method allocates; the failure names the method and the number of allocations.
pub fn gradient_allocates_nothing<P: Gradient>(case: &Case<P>, meter: Meter<'_>) -> Result<(), Failure> {
    const LAW: &str = "gradient_allocates_nothing";
    let (target, z) = (&case.target, case.points(COLUMNS));
    let (mut out, mut work) = ([0.0; COLUMNS], case.work(COLUMNS));
    let mut gradients = Mat::zeros(target.dim(), COLUMNS);
    silent(LAW, "gradients_into", meter, &mut || {
        target.gradients_into(z.as_ref(), &mut out, gradients.as_mut(), &mut work);
    })?;
    let mut gradient = vec![0.0; target.dim()];
    silent(LAW, "gradient_into", meter, &mut || {
        out[0] = target.gradient_into(z.as_ref().column(0), &mut gradient, &mut work);
    })
}

/// `hessian_vector_into` allocates nothing, given lent memory.
///
/// # Errors
/// If the method allocates; the failure names the number of allocations.
pub fn curvature_allocates_nothing<P: Curvature>(case: &Case<P>, meter: Meter<'_>) -> Result<(), Failure> {
    let (target, z) = (&case.target, case.points(2));
    let (mut product, mut work) = (vec![0.0; target.dim()], case.work(1));
    let (z, v) = (z.as_ref().column(0), z.as_ref().column(1));
    silent("curvature_allocates_nothing", "hessian_vector_into", meter, &mut || {
        target.hessian_vector_into(z, v, &mut product, &mut work);
    })
}

/// `log_prior` and `log_likelihood_at` allocate nothing, given lent memory.
///
/// # Errors
/// If a method allocates; the failure names the method and the number of allocations.
pub fn terms_allocate_nothing<P: Separable>(case: &Case<P>, meter: Meter<'_>) -> Result<(), Failure> {
    const LAW: &str = "terms_allocate_nothing";
    let (target, z) = (&case.target, case.points(1));
    let (z, mut work, mut sum) = (z.as_ref().column(0), case.work(1), 0.0);
    let rows: Vec<usize> = (0..target.num_data()).collect();
    silent(LAW, "log_prior", meter, &mut || sum += target.log_prior(z, &mut work))?;
    silent(LAW, "log_likelihood_at", meter, &mut || sum += target.log_likelihood_at(&rows, z, &mut work))
}

/// The derivatives of prior and of rows allocate nothing, given lent memory.
///
/// # Errors
/// If a method allocates; the failure names the method and the number of allocations.
pub fn row_derivatives_allocate_nothing<P: Subsampled>(
    case: &Case<P>,
    meter: Meter<'_>,
) -> Result<(), Failure> {
    const LAW: &str = "row_derivatives_allocate_nothing";
    let (target, points) = (&case.target, case.points(2));
    let (z, v) = (points.as_ref().column(0), points.as_ref().column(1));
    let rows: Vec<usize> = (0..target.num_data()).collect();
    let (mut out, mut work) = (vec![0.0; target.dim()], vec![f64::NAN; target.rows_work_len(rows.len())]);
    silent(LAW, "prior_gradient_into", meter, &mut || {
        let _ = target.prior_gradient_into(z, &mut out, &mut work);
    })?;
    silent(LAW, "add_gradient_at", meter, &mut || {
        let _ = target.add_gradient_at(&rows, 0.5, z, &mut out, &mut work);
    })?;
    silent(LAW, "prior_hessian_vector_into", meter, &mut || {
        target.prior_hessian_vector_into(z, v, &mut out, &mut work);
    })?;
    silent(LAW, "add_hessian_vector_at", meter, &mut || {
        target.add_hessian_vector_at(&rows, 0.5, z, v, &mut out, &mut work);
    })
}
