//! Laws of ground truth: normaliser and moments against quadrature.

use mcsa_core::LogDensity;

use super::{Case, Failure};
use crate::law::near;
use mcsa_core::numeric::quadrature::{Axis, each_node, log_integral};

fn axes<P: LogDensity>(case: &Case<P>) -> Vec<Axis> {
    let axis = |(&centre, &width)| Axis::line(case.map, centre, width);
    case.centre.iter().zip(&case.spread).map(axis).collect()
}

/// The normaliser of [`Truth`](super::Truth) is `log int p`, within 1e-8, in at most three dimensions; not tested in more.
///
/// # Errors
/// If it differs, or the case has no truth; the failure gives the integral found.
pub fn normaliser_is_integral<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "normaliser_is_integral";
    let truth = case.truth(LAW)?;
    if !case.is_integrable() {
        return Ok(());
    }
    let mut work = case.work(1);
    let integral = log_integral(&axes(case), 1e-10, |z| case.target.log_density(z, &mut work));
    let place = || format!("log integral, changing by {:.0e} at the last halving", integral.error);
    near(LAW, place, truth.log_normaliser, integral.value, 1e-8)
}

/// The moments of [`Truth`](super::Truth) are those of the density, within 1e-6 of the spreads, in at most three dimensions. Not tested in
/// more dimensions, nor where a moment is absent.
///
/// # Errors
/// If a moment differs, or the case has no truth; the failure names the coordinates and the moment found.
pub fn moments_are_integrals<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "moments_are_integrals";
    let (truth, dim) = (case.truth(LAW)?, case.target.dim());
    if !case.is_integrable() {
        return Ok(());
    }
    let mut work = case.work(1);
    let (mut first, mut second) = (vec![0.0; dim], vec![0.0; dim * dim]);
    let step = [0.0625, 0.015_625, 0.03125, 0.125][dim];
    each_node(&axes(case), step, |z, log_weight| {
        let weight = (case.target.log_density(z, &mut work) + log_weight - truth.log_normaliser).exp();
        if weight != 0.0 {
            for i in 0..dim {
                first[i] += weight * z[i];
                (0..dim).for_each(|k| second[i * dim + k] += weight * z[i] * z[k]);
            }
        }
    });
    let tolerance = |i: usize, k: usize| 1e-6 * (1.0 + second[i * dim + i] + second[k * dim + k]);
    if let Some(mean) = &truth.mean {
        for i in 0..dim {
            near(LAW, || format!("mean of coordinate {i}"), mean[i], first[i], tolerance(i, i))?;
        }
    }
    if let Some(covariance) = &truth.covariance {
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
