//! Derivative laws: gradients and Hessians against finite differences and against oracles.

use mcsa_core::{Columns, Curvature, Gradient, LogDensity};

use super::{Case, Failure};
use crate::law::{ROUNDING, is_slope, near, slope};

const POINTS: usize = 4;

/// `gradient_into` writes the gradient of `log_density`, tested at four points.
///
/// Central differences with steps 1/8, 1/16, .., 2^-14 of the spread, extrapolated; the tolerance is ten times the
/// extrapolation's own error estimate plus 1e-9, relative to slopes above one. With more than 48 coordinates,
/// 24 of them and 3 directions that mix all coordinates are tested.
///
/// # Errors
/// If a slope differs; the failure names the direction and the slope found by differences.
pub fn gradient_is_gradient<P: Gradient>(case: &Case<P>) -> Result<(), Failure> {
    let z = case.points(POINTS);
    let mut gradient = vec![f64::NAN; case.target.dim()];
    let mut moved = gradient.clone();
    for j in 0..POINTS {
        let z = z.as_ref().column(j);
        gradient.fill(f64::NAN);
        case.target.gradient_into(z, &mut gradient, &mut case.work(1));
        for direction in case.directions() {
            let place = || format!("{}, point {j}", direction.name);
            let expected = slope(ROUNDING, |t| {
                direction.move_into(z, t, &mut moved);
                case.log_density(&moved)
            });
            is_slope("gradient_is_gradient", place, direction.dot(&gradient), expected)?;
        }
    }
    Ok(())
}

/// `gradient_into` returns `log_density`, within 1e-12 (relative above one).
///
/// # Errors
/// If a value differs; the failure names the point.
pub fn gradient_knows_the_density<P: Gradient>(case: &Case<P>) -> Result<(), Failure> {
    let z = case.points(8);
    let mut gradient = vec![f64::NAN; case.target.dim()];
    for j in 0..z.ncols() {
        let z = z.as_ref().column(j);
        let found = case.target.gradient_into(z, &mut gradient, &mut case.work(1));
        let expected = case.log_density(z);
        let tolerance = 1e-12 * (1.0 + expected.abs());
        near("gradient_knows_the_density", || format!("point {j}"), found, expected, tolerance)?;
    }
    Ok(())
}

/// `hessian_vector_into` writes the derivative of the gradient along a vector, tested at four points with the differences and
/// the tolerance of [`gradient_is_gradient`].
///
/// # Errors
/// If a slope differs; the failure names the direction and the slope found by differences.
pub fn hessian_vector_is_derivative<P: Curvature>(case: &Case<P>) -> Result<(), Failure> {
    let (z, dim) = (case.points(POINTS), case.target.dim());
    let (mut product, mut gradient, mut moved) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    let all = case.directions();
    for j in 0..POINTS {
        let z = z.as_ref().column(j);
        for (k, along) in all.iter().enumerate() {
            product.fill(f64::NAN);
            case.target.hessian_vector_into(z, &along.v, &mut product, &mut case.work(1));
            for across in [along, &all[(k + 1) % all.len()]] {
                let place = || format!("{} along {}, point {j}", across.name, along.name);
                let expected = slope(ROUNDING, |t| {
                    along.move_into(z, t, &mut moved);
                    case.target.gradient_into(&moved, &mut gradient, &mut case.work(1));
                    across.dot(&gradient)
                });
                is_slope("hessian_vector_is_derivative", place, across.dot(&product), expected)?;
            }
        }
    }
    Ok(())
}

/// The log density equals that of an oracle, within 1e-10 (relative above one), at eight points.
///
/// The oracle is a second implementation: a textbook formula, or a probabilistic program.
///
/// # Errors
/// If a value differs; the failure names the point.
pub fn density_equals<P: LogDensity>(case: &Case<P>, oracle: &dyn Fn(&[f64]) -> f64) -> Result<(), Failure> {
    let z = case.points(8);
    for j in 0..z.ncols() {
        let z = z.as_ref().column(j);
        let expected = oracle(z);
        let tolerance = 1e-10 * (1.0 + expected.abs());
        near("density_equals", || format!("point {j}"), case.log_density(z), expected, tolerance)?;
    }
    Ok(())
}

/// Oracle of value and directional derivative: `(z, v) -> (log p(z), d/dt log p(z + t v) at t = 0)`.
pub type SlopeOracle<'a> = dyn Fn(&[f64], &[f64]) -> (f64, f64) + 'a;

/// Value and directional derivatives of the log density equal those of an oracle, within 1e-10 (relative above one): for
/// forward-mode dual numbers, whose only error is rounding.
///
/// # Errors
/// If a value or slope differs; the failure names the direction and the point.
pub fn gradient_equals<P: Gradient>(case: &Case<P>, oracle: &SlopeOracle<'_>) -> Result<(), Failure> {
    const LAW: &str = "gradient_equals";
    let z = case.points(POINTS);
    let mut gradient = vec![f64::NAN; case.target.dim()];
    for j in 0..POINTS {
        let z = z.as_ref().column(j);
        let log_p = case.target.gradient_into(z, &mut gradient, &mut case.work(1));
        for direction in case.directions() {
            let (value, slope) = oracle(z, &direction.v);
            near(LAW, || format!("value, point {j}"), log_p, value, 1e-10 * (1.0 + value.abs()))?;
            let size = 1.0 + direction.v.iter().zip(&gradient).map(|(v, g)| (v * g).abs()).sum::<f64>();
            let place = || format!("{}, point {j}", direction.name);
            near(LAW, place, direction.dot(&gradient), slope, 1e-10 * size)?;
        }
    }
    Ok(())
}
