//! Laws of transforms to unconstrained space and their Jacobians.

use mcsa_core::{Columns, LogDensity};

use super::{Case, Failure};
use crate::law::{ROUNDING, is_slope, near, slope};

/// `unconstrain(constrain(z)) = z`, within 1e-10 (relative above one).
///
/// # Errors
/// If a coordinate differs, or the case has no formula; the failure names it and the point.
pub fn transforms_invert<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "transforms_invert";
    let formula = case.formula(LAW)?;
    let points = case.points(8);
    let dim = case.target.dim();
    let (mut theta, mut back) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
    for j in 0..points.ncols() {
        let z = points.as_ref().column(j);
        (formula.constrain)(&case.target, z, &mut theta);
        (formula.unconstrain)(&case.target, &theta, &mut back);
        for (i, (&found, &z)) in back.iter().zip(z).enumerate() {
            let place = || format!("coordinate {i}, point {j}");
            near(LAW, place, found, z, 1e-10 * (1.0 + z.abs()))?;
        }
    }
    Ok(())
}

/// The log-Jacobian is `sum_i log |d theta_i / d z_i|`, by differences, for transforms of one coordinate each.
///
/// # Errors
/// If it differs, or the case has no formula; the failure names the point.
pub fn jacobians_are_slopes<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "jacobians_are_slopes";
    let formula = case.formula(LAW)?;
    let points = case.points(4);
    let mut theta = vec![f64::NAN; case.target.dim()];
    for j in 0..points.ncols() {
        let z = points.as_ref().column(j);
        let (mut log_jacobian, mut error) = (0.0, 0.0);
        let mut moved = z.to_vec();
        for i in 0..z.len() {
            let (slope, uncertainty) = slope(ROUNDING, |t| {
                moved[i] = z[i] + t;
                (formula.constrain)(&case.target, &moved, &mut theta);
                theta[i]
            });
            moved[i] = z[i];
            log_jacobian += slope.abs().ln();
            error += uncertainty / slope.abs();
        }
        let found = (formula.log_jacobian)(&case.target, z);
        is_slope(LAW, || format!("log-Jacobian, point {j}"), found, (log_jacobian, error))?;
    }
    Ok(())
}

/// `log p(z) = log p_theta(b(z)) + log |b'(z)|`, within 1e-10 (relative above one): the implementation against the formula of
/// the paper.
///
/// # Errors
/// If a value differs, or the case has no formula; the failure names the point, and says so if exactly the Jacobian is missing.
pub fn density_carries_its_jacobian<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "density_carries_its_jacobian";
    let formula = case.formula(LAW)?;
    let points = case.points(8);
    let mut theta = vec![f64::NAN; case.target.dim()];
    for j in 0..points.ncols() {
        let z = points.as_ref().column(j);
        (formula.constrain)(&case.target, z, &mut theta);
        let printed = (formula.log_density)(&case.target, &theta);
        let log_jacobian = (formula.log_jacobian)(&case.target, z);
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
