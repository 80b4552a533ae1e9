//! Laws of memory: no allocation in a warm call.

use faer::Mat;
use mcsa_core::law::{Meter, allocates_nothing as silent};
use mcsa_core::{Family, Reparameterised};

use super::{Case, Failure};

/// `log_probs`, `add_scores`, `sample_into` and `check` allocate nothing.
///
/// # Errors
/// If a method allocates; the failure names the method and the number of allocations.
pub fn allocates_nothing<F: Family>(case: &Case<F>, meter: Meter<'_>) -> Result<(), Failure> {
    const LAW: &str = "allocates_nothing";
    let (family, params, columns) = (&case.family, &case.params, 4);
    let mut work = case.work(columns);
    let mut z = case.points(columns);
    let mut log_q = vec![0.0; columns];
    let mut gradient = vec![0.0; params.len()];
    let mut lanes = case.seed.streams(columns, 2);
    silent(LAW, "check", meter, &mut || assert!(family.check(params).is_ok(), "the params are good"))?;
    silent(LAW, "log_probs", meter, &mut || family.log_probs(params, z.as_ref(), &mut log_q, &mut work))?;
    let weights = [0.5; 4];
    silent(LAW, "add_scores", meter, &mut || {
        family.add_scores(params, z.as_ref(), &weights, &mut gradient, &mut work);
    })?;
    silent(LAW, "sample_into", meter, &mut || {
        family.sample_into(params, &mut lanes, z.as_mut(), &mut log_q, &mut work);
    })
}

/// The methods of a reparameterised family allocate nothing.
///
/// # Errors
/// If a method allocates; the failure names the method and the number of allocations.
pub fn transport_allocates_nothing<F: Reparameterised>(
    case: &Case<F>,
    meter: Meter<'_>,
) -> Result<(), Failure> {
    const LAW: &str = "transport_allocates_nothing";
    let (family, params, columns) = (&case.family, &case.params, 4);
    let mut work = case.work(columns);
    let mut noise = Mat::zeros(family.noise_dim(), columns);
    let mut z = Mat::zeros(family.dim(), columns);
    let mut gradient = vec![0.0; params.len()];
    let mut lanes = case.seed.streams(columns, 2);
    silent(LAW, "sample_noise_into", meter, &mut || family.sample_noise_into(&mut lanes, noise.as_mut()))?;
    silent(LAW, "transport", meter, &mut || {
        family.transport(params, noise.as_ref(), z.as_mut(), &mut work);
    })?;
    silent(LAW, "add_pullbacks", meter, &mut || {
        family.add_pullbacks(params, noise.as_ref(), z.as_ref(), &mut gradient, &mut work);
    })?;
    let mut slopes = Mat::zeros(family.dim(), columns);
    silent(LAW, "add_slopes", meter, &mut || {
        family.add_slopes(params, z.as_ref(), 1.0, slopes.as_mut(), &mut work);
    })?;
    let mut entropy = 0.0;
    silent(LAW, "entropy", meter, &mut || entropy += family.entropy(params, &mut work))?;
    silent(LAW, "add_entropy_gradient", meter, &mut || {
        family.add_entropy_gradient(params, 1.0, &mut gradient, &mut work);
    })
}
