//! Judgement of the ranks of a simulation-based calibration.

use mcsa::{Calibration, Conclusion, Ranked};
use pyo3::prelude::*;

use crate::value_error;

/// Conclusion, its text, the power, and both ends of the band.
type Judged = (&'static str, String, f64, Vec<usize>, Vec<usize>);

fn plan(data_sets: usize, (level, bias, factor): (f64, f64, f64)) -> PyResult<Calibration> {
    let plan = Calibration { data_sets, level, bias, factor, ..Calibration::default() };
    plan.check().map(|()| plan).map_err(value_error)
}

/// Numbers of data sets at which ranks are judged; `limits` are level, bias and factor.
#[pyfunction]
pub(crate) fn calibration_looks(data_sets: usize, limits: (f64, f64, f64)) -> PyResult<Vec<usize>> {
    Ok(plan(data_sets, limits)?.looks())
}

/// Judges the ranks of data sets: `fits` has the ranks of each, and the reason of a no.
#[pyfunction]
pub(crate) fn calibration_judge(
    names: Vec<String>,
    fits: Vec<(Vec<f64>, Option<String>)>,
    data_sets: usize,
    limits: (f64, f64, f64),
) -> PyResult<Judged> {
    let fits = fits.into_iter().map(|(ranks, no)| Ranked { names: names.clone(), ranks, no });
    let fits: Vec<Ranked> = fits.collect();
    let found = plan(data_sets, limits)?.judge(&fits).map_err(value_error)?;
    let word = match found.conclusion {
        Conclusion::Calibrated => "calibrated",
        Conclusion::Wrong => "wrong",
        Conclusion::Open => "open",
    };
    Ok((word, found.to_string(), found.power, found.band.low, found.band.high))
}
