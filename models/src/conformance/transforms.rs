//! Laws of transforms to unconstrained space and their Jacobians.

use mcsa_core::Columns;

use super::{Case, Failure};
use crate::Constrained;
use mcsa_core::law::{ROUNDING, is_slope, near, slope};

/// The coordinates tested: all, or at most 64 evenly spaced ones.
fn coordinates(dim: usize) -> impl Iterator<Item = usize> {
    (0..dim).step_by(dim.div_ceil(64).max(1))
}

/// `unconstrain(constrain(z)) = z`, within 1e-10 (relative above one).
///
/// # Errors
/// If a coordinate differs; the failure names it and the point.
pub fn transforms_invert<P: Constrained>(case: &Case<P>) -> Result<(), Failure> {
    let points = case.points(8);
    let dim = case.target.dim();
    let (mut theta, mut back) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
    for j in 0..points.ncols() {
        let z = points.as_ref().column(j);
        case.target.constrain_into(z, &mut theta);
        case.target.unconstrain_into(&theta, &mut back);
        for (i, (&found, &z)) in back.iter().zip(z).enumerate() {
            let place = || format!("coordinate {i}, point {j}");
            near("transforms_invert", place, found, z, 1e-10 * (1.0 + z.abs()))?;
        }
    }
    Ok(())
}

/// `exp(log_slope)` is the derivative of `constrain`, and `log_slope_gradient` that of `log_slope`, by differences.
///
/// # Errors
/// If a derivative differs; the failure names the coordinate and the point.
pub fn jacobians_are_slopes<P: Constrained>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "jacobians_are_slopes";
    let points = case.points(4);
    for j in 0..points.ncols() {
        let z = points.as_ref().column(j);
        for i in coordinates(z.len()) {
            let transform = case.target.transform(i);
            let place = || format!("coordinate {i}, point {j}");
            let expected = slope(ROUNDING, |t| transform.constrain(z[i] + t));
            is_slope(LAW, place, transform.log_slope(z[i]).exp(), expected)?;
            let place = || format!("gradient of the log-Jacobian, coordinate {i}, point {j}");
            let expected = slope(ROUNDING, |t| transform.log_slope(z[i] + t));
            is_slope(LAW, place, transform.log_slope_gradient(z[i]), expected)?;
        }
    }
    Ok(())
}

/// `log p(z) = log p_theta(b(z)) + log |b'(z)|`, within 1e-10 (relative above one): the implementation against the formula of
/// the paper.
///
/// # Errors
/// If a value differs; the failure names the point, and says so if exactly the Jacobian is missing.
pub fn density_carries_its_jacobian<P: Constrained>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "density_carries_its_jacobian";
    let points = case.points(8);
    let mut theta = vec![f64::NAN; case.target.dim()];
    for j in 0..points.ncols() {
        let z = points.as_ref().column(j);
        case.target.constrain_into(z, &mut theta);
        let (printed, log_jacobian) = (case.target.log_density_at(&theta), case.target.log_jacobian(z));
        let (found, expected) = (case.log_density(z), printed + log_jacobian);
        let tolerance = 1e-10 * (1.0 + expected.abs());
        if (found - printed).abs() <= tolerance && log_jacobian.abs() > tolerance {
            let expected = format!("{expected:e} = density + log-Jacobian {log_jacobian:e}");
            return Err(Failure::new(LAW, format!("point {j}"), expected, format!("{found:e}: no Jacobian")));
        }
        near(LAW, || format!("point {j}"), found, expected, tolerance)?;
    }
    Ok(())
}
