//! Comparison of fits.

use mcsa::posterior::{Candidate, Compared, ComparedLoo};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::fit_result::FitResult;
use crate::value_error;

/// Leave-one-out cross-validation of a fit.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct Loo(pub(crate) mcsa::posterior::Loo);

#[pymethods]
impl Loo {
    /// Expected log predictive density.
    #[getter]
    fn elpd(&self) -> f64 {
        self.0.elpd
    }

    /// Its standard error.
    #[getter]
    fn error(&self) -> f64 {
        self.0.error
    }

    /// Effective number of parameters.
    #[getter]
    fn p_loo(&self) -> f64 {
        self.0.effective_parameters
    }

    /// Log predictive density of each datum.
    #[getter]
    fn pointwise<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.pointwise)
    }

    /// k-hat of each datum.
    #[getter]
    fn k_hat<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.shapes)
    }

    /// Largest reliable k-hat.
    #[getter]
    fn limit(&self) -> f64 {
        self.0.limit
    }

    /// Number of data whose k-hat is above the limit.
    #[getter]
    fn unreliable(&self) -> usize {
        self.0.unreliable()
    }
}

/// Log evidence, its error, difference, its error, probability, its error.
type ByEvidence = (f64, f64, f64, f64, f64, f64);
/// Expected log predictive density, its error, difference, its error, and the number of data whose k-hat is above the limit.
type ByLoo = (f64, f64, f64, f64, usize);

/// Models with their numbers, the most probable first.
#[pyfunction]
pub(crate) fn compare(
    names: Vec<String>,
    results: Vec<PyRef<'_, FitResult>>,
    loos: Option<Vec<PyRef<'_, Loo>>>,
) -> PyResult<Vec<(String, ByEvidence, Option<ByLoo>)>> {
    let loo = |i: usize| loos.as_ref().map(|loos| &loos[i].0);
    let candidate = |i: usize| Candidate { loo: loo(i), ..results[i].candidate(&names[i]) };
    let candidates: Vec<_> = (0..names.len()).map(candidate).collect();
    let one = |model: Compared| {
        let Compared { name, log_evidence, error, difference, difference_error, probability, .. } = model;
        let evidence =
            (log_evidence, error, difference, difference_error, probability, model.probability_error);
        let of_loo = |found: ComparedLoo| {
            let ComparedLoo { elpd, error, difference, difference_error, unreliable } = found;
            (elpd, error, difference, difference_error, unreliable)
        };
        (name, evidence, model.loo.map(of_loo))
    };
    Ok(mcsa::compare(&candidates).map_err(value_error)?.into_iter().map(one).collect())
}
