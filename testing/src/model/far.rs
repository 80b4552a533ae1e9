//! Law of far and infinite points: the log density is never NaN and never `+inf` there.

use mcsa_core::LogDensity;

use super::{Case, Failure};

const FAR: [f64; 6] = [1e3, 1e8, 1e154, 1e200, 1e306, f64::MAX];

/// At far finite points the log density is a number or `-inf`, never NaN or `+inf`. At a point with an infinite
/// coordinate it is `-inf`; at a point with a NaN coordinate it is `-inf` or NaN.
///
/// Tested with all coordinates far at once, and with one far coordinate (16 of them, if there are more) and the others at the
/// centre.
///
/// # Errors
/// If a value breaks the law; the failure names the coordinate and its value.
pub fn far_points_are_decided<P: LogDensity>(case: &Case<P>) -> Result<(), Failure> {
    const LAW: &str = "far_points_are_decided";
    let dim = case.target.dim();
    if dim == 0 {
        return Ok(());
    }
    let decided = |z: &[f64], place: String| match case.log_density(z) {
        log_p if log_p < f64::INFINITY => Ok(()),
        log_p => Err(Failure::new(LAW, place, "a finite number or -inf", format!("{log_p}"))),
    };
    let not_finite = |z: &[f64], value: f64, place: String| match case.log_density(z) {
        log_p if log_p == f64::NEG_INFINITY || log_p.is_nan() && value.is_nan() => Ok(()),
        log_p => Err(Failure::new(LAW, place, "-inf", format!("{log_p}"))),
    };
    let step = dim.div_ceil(16);
    for value in FAR.into_iter().flat_map(|far| [far, -far]) {
        decided(&vec![value; dim], format!("all coordinates {value:e}"))?;
        for i in (0..dim).step_by(step) {
            let mut z = case.centre.clone();
            z[i] = value;
            decided(&z, format!("coordinate {i} at {value:e}"))?;
        }
    }
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for i in (0..dim).step_by(step) {
            let mut z = case.centre.clone();
            z[i] = value;
            not_finite(&z, value, format!("coordinate {i} at {value}"))?;
        }
    }
    Ok(())
}
