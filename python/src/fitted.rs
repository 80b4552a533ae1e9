//! Result of a fit as arrays.

use mcsa::core::{Columns, LogDensity, Seed};
use mcsa::faer::{Mat, MatRef};
use mcsa::fit::{Fitted as Outcome, Parameter};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::errors::value_error;

/// Result of a fit.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct Fitted {
    outcome: Outcome,
    /// Draws of q, one per row.
    #[pyo3(get)]
    draws: Py<PyArray2<f64>>,
    /// Parameters of each draw on their constrained scale, one draw per row.
    #[pyo3(get)]
    values: Py<PyArray2<f64>>,
    /// Log p of each draw.
    #[pyo3(get)]
    log_p: Py<PyArray1<f64>>,
    /// Log q of each draw.
    #[pyo3(get)]
    log_q: Py<PyArray1<f64>>,
    /// Log of the smoothed weight of each draw; the weights sum to 1.
    #[pyo3(get)]
    log_weights: Py<PyArray1<f64>>,
}

/// The columns of a matrix as the rows of an array.
fn rows<'py>(py: Python<'py>, columns: MatRef<'_, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let mut values = Vec::with_capacity(columns.nrows() * columns.ncols());
    (0..columns.ncols()).for_each(|j| values.extend_from_slice(columns.column(j)));
    values.into_pyarray(py).reshape([columns.ncols(), columns.nrows()])
}

impl Fitted {
    pub(crate) fn new(py: Python<'_>, outcome: Outcome, target: &dyn LogDensity) -> PyResult<Self> {
        let draws = &outcome.draws;
        let mut named = Vec::new();
        (0..draws.len()).for_each(|j| target.constrain(draws.points.as_ref().column(j), &mut named));
        let values: Vec<f64> = named.into_iter().map(|(_, value)| value).collect();
        let sides = [draws.len(), values.len() / draws.len().max(1)];
        Ok(Self {
            draws: rows(py, draws.points.as_ref())?.unbind(),
            values: values.into_pyarray(py).reshape(sides)?.unbind(),
            log_p: PyArray1::from_slice(py, &draws.log_p).unbind(),
            log_q: PyArray1::from_slice(py, &draws.log_q).unbind(),
            log_weights: PyArray1::from_slice(py, &draws.log_weights).unbind(),
            outcome,
        })
    }
}

#[pymethods]
impl Fitted {
    /// k-hat of the weights.
    #[getter]
    fn k_hat(&self) -> f64 {
        self.outcome.draws.shape
    }

    /// Largest k-hat at which this number of draws suffices.
    #[getter]
    fn k_hat_threshold(&self) -> f64 {
        self.outcome.draws.shape_threshold
    }

    /// Effective sample size of the weights.
    #[getter]
    fn sample_size(&self) -> f64 {
        self.outcome.draws.sample_size
    }

    /// Log evidence, its standard error, a lower and an upper bound.
    #[getter]
    fn log_evidence(&self) -> (f64, f64, f64, f64) {
        let evidence = self.outcome.evidence;
        (evidence.log, evidence.error, evidence.lower, evidence.upper)
    }

    /// For every parameter: name, mean, Monte Carlo error, standard deviation, and quantiles at 5, 50 and 95 %.
    #[getter]
    fn parameters(&self) -> Vec<(String, f64, f64, f64, f64, f64, f64)> {
        let told = |Parameter { name, mean, error, sd, quantiles: [low, middle, high] }: &Parameter| {
            (name.to_string(), *mean, *error, *sd, *low, *middle, *high)
        };
        self.outcome.parameters.iter().map(told).collect()
    }

    /// True if no witness objects.
    #[getter]
    fn is_yes(&self) -> bool {
        self.outcome.verdict.is_yes()
    }

    /// The verdict in words.
    #[getter]
    fn verdict(&self) -> String {
        self.outcome.verdict.to_string()
    }

    /// The objections of the witnesses in words.
    #[getter]
    fn objections(&self) -> Vec<String> {
        self.outcome.verdict.objections.iter().map(ToString::to_string).collect()
    }

    /// Numbers of evaluations: of the log density alone, and of the gradient with its log density.
    #[getter]
    fn evaluations(&self) -> (u64, u64) {
        (self.outcome.evaluations.density, self.outcome.evaluations.gradient)
    }

    /// The family of q in words.
    #[getter]
    fn family(&self) -> String {
        self.outcome.shape.to_string()
    }

    /// Parameters of q.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.outcome.params)
    }

    /// Indices of draws by systematic resampling.
    fn copies(&self, count: usize, seed: u64) -> PyResult<Vec<usize>> {
        let mut stream = Seed::new(seed).named("resampled").stream(0, 0);
        self.outcome.draws.copies(count, &mut stream).map_err(value_error)
    }

    /// Starting points for a sampler, one per row, with the mean and the covariance of the weighted draws.
    #[expect(clippy::type_complexity, reason = "a tuple of arrays")]
    fn handover<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>)> {
        let handover = self.outcome.handover().map_err(value_error)?;
        let covariance: &Mat<f64> = &handover.covariance;
        Ok((
            rows(py, handover.starts.as_ref())?,
            PyArray1::from_slice(py, &handover.mean),
            rows(py, covariance.as_ref())?,
        ))
    }

    fn __str__(&self) -> String {
        self.outcome.to_string()
    }
}
