//! Laws of ground truth: normaliser and moments against quadrature.

use super::{Case, Failure};
use crate::GroundTruth;
use mcsa_core::law::near;
use mcsa_core::numeric::quadrature::{Axis, each_node, log_integral};

fn axes<P: GroundTruth>(case: &Case<P>) -> Vec<Axis> {
    let axis = |(&centre, &width)| Axis::line(case.map, centre, width);
    case.centre.iter().zip(&case.spread).map(axis).collect()
}

/// `log_normaliser = log int p`, within 1e-8, in at most three dimensions; not tested in more.
///
/// # Errors
/// If it differs; the failure gives the integral found.
pub fn normaliser_is_integral<P: GroundTruth>(case: &Case<P>) -> Result<(), Failure> {
    if !case.is_integrable() {
        return Ok(());
    }
    let mut work = case.work(1);
    let integral = log_integral(&axes(case), 1e-10, |z| case.target.log_density(z, &mut work));
    let place = || format!("log integral, changing by {:.0e} at the last halving", integral.error);
    near("normaliser_is_integral", place, case.target.log_normaliser(), integral.value, 1e-8)
}

/// `mean` and `covariance` are those of the density, within 1e-6 of the spreads, in at most three dimensions. Not tested in
/// more dimensions, nor where the model returns no moment.
///
/// # Errors
/// If a moment differs; the failure names the coordinates and the moment found.
pub fn moments_are_integrals<P: GroundTruth>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "moments_are_integrals";
    let dim = case.target.dim();
    if !case.is_integrable() {
        return Ok(());
    }
    let log_normaliser = case.target.log_normaliser();
    let mut work = case.work(1);
    let (mut first, mut second) = (vec![0.0; dim], vec![0.0; dim * dim]);
    let step = [0.0625, 0.015_625, 0.03125, 0.125][dim];
    each_node(&axes(case), step, |z, log_weight| {
        let weight = (case.target.log_density(z, &mut work) + log_weight - log_normaliser).exp();
        if weight != 0.0 {
            for i in 0..dim {
                first[i] += weight * z[i];
                (0..dim).for_each(|k| second[i * dim + k] += weight * z[i] * z[k]);
            }
        }
    });
    let tolerance = |i: usize, k: usize| 1e-6 * (1.0 + second[i * dim + i] + second[k * dim + k]);
    if let Some(mean) = case.target.mean() {
        for i in 0..dim {
            near(LAW, || format!("mean of coordinate {i}"), mean[i], first[i], tolerance(i, i))?;
        }
    }
    if let Some(covariance) = case.target.covariance() {
        for i in 0..dim {
            for k in 0..dim {
                let expected = second[i * dim + k] - first[i] * first[k];
                let place = || format!("covariance of coordinates {i} and {k}");
                near(LAW, place, covariance[(i, k)], expected, tolerance(i, k))?;
            }
        }
    }
    Ok(())
}
