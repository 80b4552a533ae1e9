//! Law of argument checks: invalid parameters are refused.

use mcsa_core::Family;

use super::{Case, Failure};

/// `check` admits the parameters of the case and refuses invalid ones: too short, too long, or with a NaN or an infinity
/// at any position (of more than 64 positions, 64 are tested).
///
/// # Errors
/// If `check` refuses the parameters of the case or admits invalid ones; the failure names them.
pub fn bad_params_are_refused<F: Family>(case: &Case<F>) -> Result<(), Failure> {
    const LAW: &str = "bad_params_are_refused";
    let mut params = case.params.clone();
    if let Err(error) = case.family.check(&params) {
        return Err(Failure::new(LAW, "the params of the case", "admitted", error.to_string()));
    }
    let admitted = |place: String| Err(Failure::new(LAW, place, "refused", "admitted"));
    params.push(0.0);
    if case.family.check(&params).is_ok() {
        return admitted(format!("length {}", params.len()));
    }
    params.pop();
    if params.split_last().is_some_and(|(_, shorter)| case.family.check(shorter).is_ok()) {
        return admitted(format!("length {}", params.len() - 1));
    }
    for k in (0..params.len()).step_by(params.len().div_ceil(64).max(1)) {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let good = std::mem::replace(&mut params[k], bad);
            if case.family.check(&params).is_ok() {
                return admitted(format!("params[{k}] = {bad}"));
            }
            params[k] = good;
        }
    }
    Ok(())
}
