//! Weighted draws of a fit as arrays, with what was found about them.

use mcsa::core::{Columns, LogDensity, Named, Seed};
use mcsa::estimators::Draws;
use mcsa::faer::{Mat, MatRef};
use mcsa::posterior::{
    Approximation, Candidate, Evidence, FitResult as Outcome, Mixing, Objection, Parameter,
};
use numpy::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::comparison::Loo;
use crate::prior::Prior;
use crate::value_error;

/// Result of a fit.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct FitResult {
    weighted: Draws,
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
    /// Names of the columns of `values`.
    #[pyo3(get)]
    names: Vec<String>,
    /// For every parameter: mean, Monte Carlo error, standard deviation, and quantiles at 5, 50 and 95 %. None for an ascent.
    #[pyo3(get)]
    numbers: Option<Vec<[f64; 6]>>,
    /// Log evidence, its standard error, a lower and an upper bound.
    #[pyo3(get)]
    log_evidence: (f64, f64, f64, f64),
    /// The answer, the verdict in words, and the objections as JSON and in words. None if no check was run.
    #[pyo3(get)]
    verdict: Option<Answer>,
    /// Numbers of evaluations: of the log density alone, and of the gradient with its log density.
    #[pyo3(get)]
    evaluations: (u64, u64),
    /// The family of q in words.
    #[pyo3(get)]
    family: String,
    /// Parameters of q.
    #[pyo3(get)]
    params: Vec<f64>,
    /// The family of q as JSON; None for chains, and for an ascent.
    #[pyo3(get)]
    shape: Option<String>,
    /// Starting points for a sampler, one per row, with mean and covariance of the weighted draws; None if there are none.
    #[pyo3(get)]
    handover: Option<Handover>,
    /// Of an answer by chains: their number, effective sample size, R-hat, and divergent steps.
    #[pyo3(get)]
    sampled: Option<Sampled>,
}

type Answer = (bool, String, Vec<(String, String)>);
type Handover = (Py<PyArray2<f64>>, Vec<f64>, Py<PyArray2<f64>>);
type Sampled = (usize, f64, f64, u64);

/// Arrays of a result in a file.
type Given<'py> = (
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
);

/// The columns of a matrix as the rows of an array.
pub(crate) fn rows<'py>(py: Python<'py>, columns: MatRef<'_, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let mut values = Vec::with_capacity(columns.nrows() * columns.ncols());
    (0..columns.ncols()).for_each(|j| values.extend_from_slice(columns.column(j)));
    values.into_pyarray(py).reshape([columns.ncols(), columns.nrows()])
}

impl FitResult {
    /// The result of a fit in one call.
    pub(crate) fn of_fit(py: Python<'_>, outcome: Outcome, target: &dyn LogDensity) -> PyResult<Self> {
        let handover = outcome.sampler_start().ok();
        let handover = match &handover {
            Some(handover) => Some((
                rows(py, handover.starts.as_ref())?.unbind(),
                handover.mean.clone(),
                rows(py, handover.covariance.as_ref())?.unbind(),
            )),
            None => None,
        };
        let numbers = |Parameter { mean, error, sd, quantiles: [low, middle, high], .. }: &Parameter| {
            [*mean, *error, *sd, *low, *middle, *high]
        };
        let of_q = outcome.sampled.is_none().then(|| serde_json::to_string(&outcome.shape)).transpose();
        let Outcome {
            shape, params, draws, parameters, evidence, verdict, evaluations, sampled, chains, ..
        } = outcome;
        let count = chains.positions.ncols();
        let objection =
            |found: &Objection| serde_json::to_string(found).map(|numbers| (numbers, found.to_string()));
        let objections = verdict.objections.iter().map(objection).collect::<Result<_, _>>();
        let objections = objections.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self {
            numbers: Some(parameters.iter().map(numbers).collect()),
            log_evidence: (evidence.log, evidence.error, evidence.lower, evidence.upper),
            verdict: Some((verdict.is_yes(), verdict.to_string(), objections)),
            evaluations: (evaluations.density, evaluations.gradient),
            family: if sampled.is_some() { "chains".into() } else { shape.to_string() },
            params,
            shape: of_q.map_err(|error| PyValueError::new_err(error.to_string()))?,
            handover,
            sampled: sampled.map(|Mixing { sample_size, r_hat, divergences, .. }| {
                (count, sample_size, r_hat, divergences)
            }),
            ..Self::of_draws(py, draws, target)?
        })
    }

    /// The result of an ascent: weighted draws of q, without a verdict.
    pub(crate) fn of_draws(py: Python<'_>, weighted: Draws, target: &dyn LogDensity) -> PyResult<Self> {
        let mut named = Named::default();
        for j in 0..weighted.len() {
            named.next_point();
            target.constrain(weighted.points.as_ref().column(j), &mut named);
        }
        Self::of_values(py, weighted, named.values(), named.names().to_vec())
    }

    /// Weighted draws with the parameters of each.
    fn of_values(py: Python<'_>, weighted: Draws, values: &[f64], names: Vec<String>) -> PyResult<Self> {
        let Evidence { log, error, lower, upper } = Evidence::of(&weighted, &[]);
        Ok(Self {
            draws: rows(py, weighted.points.as_ref())?.unbind(),
            values: values.to_pyarray(py).reshape([weighted.len(), names.len()])?.unbind(),
            log_p: PyArray1::from_slice(py, &weighted.log_p).unbind(),
            log_q: PyArray1::from_slice(py, &weighted.log_q).unbind(),
            log_weights: PyArray1::from_slice(py, &weighted.log_weights).unbind(),
            names,
            numbers: None,
            log_evidence: (log, error, lower, upper),
            verdict: None,
            evaluations: (0, 0),
            family: String::new(),
            params: Vec::new(),
            shape: None,
            handover: None,
            sampled: None,
            weighted,
        })
    }

    /// The q of a fit in one call; `None` for chains, and for an ascent.
    pub(crate) fn approximation(&self) -> PyResult<Option<Approximation>> {
        let read = |shape: &String| serde_json::from_str(shape);
        let shape = self.shape.as_ref().map(read).transpose();
        let shape = shape.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(shape.map(|shape| Approximation { shape, params: self.params.clone() }))
    }

    /// The fit among others that are compared.
    pub(crate) fn candidate<'a>(&self, name: &'a str) -> Candidate<'a> {
        let (log, error, lower, upper) = self.log_evidence;
        let is_reliable = self.verdict.as_ref().is_some_and(|(is_yes, ..)| *is_yes);
        Candidate { name, evidence: Evidence { log, error, lower, upper }, is_reliable, loo: None }
    }

    /// The result of an ascent with its q.
    pub(crate) fn with_q(self, family: String, params: Vec<f64>, evaluations: (u64, u64)) -> Self {
        Self { family, params, evaluations, ..self }
    }
}

#[pymethods]
impl FitResult {
    /// A result from its numbers: draws, values, log p and log q as arrays, the others as they were read.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the fields of a result")]
    fn restored(
        py: Python<'_>,
        given: Given<'_>,
        names: Vec<String>,
        numbers: Option<Vec<[f64; 6]>>,
        log_evidence: (f64, f64, f64, f64),
        verdict: Option<Answer>,
        evaluations: (u64, u64),
        family: String,
        params: Vec<f64>,
        shape: Option<String>,
        handover: Option<Handover>,
        sampled: Option<Sampled>,
        sample_size: f64,
    ) -> PyResult<Self> {
        let (draws, values, log_p, log_q) = given;
        let points = draws.as_array();
        let points = Mat::from_fn(points.ncols(), points.nrows(), |i, j| points[[j, i]]);
        let (log_p, log_q) = (log_p.as_array().to_vec(), log_q.as_array().to_vec());
        let weighted = match sampled {
            Some(_) => Draws::of_chains(points, log_p, sample_size),
            None => Draws::weighted(points, log_p, log_q),
        };
        let weighted = weighted.map_err(value_error)?;
        let values: Vec<f64> = values.as_array().iter().copied().collect();
        Ok(Self {
            numbers,
            log_evidence,
            verdict,
            evaluations,
            family,
            params,
            shape,
            handover,
            sampled,
            ..Self::of_values(py, weighted, &values, names)?
        })
    }

    /// k-hat of the weights.
    #[getter]
    fn k_hat(&self) -> f64 {
        self.weighted.shape
    }

    /// Largest k-hat at which this number of draws suffices.
    #[getter]
    fn k_hat_threshold(&self) -> f64 {
        self.weighted.shape_threshold
    }

    /// Effective sample size of the weights.
    #[getter]
    fn sample_size(&self) -> f64 {
        self.weighted.sample_size
    }

    /// The posterior as a prior for further data.
    fn prior(&self) -> PyResult<Prior> {
        Prior::of(&self.weighted, self.approximation()?.as_ref())
    }

    /// Leave-one-out cross-validation from an array of log likelihoods, a row per draw and a column per datum.
    fn loo(&self, py: Python<'_>, log_likelihood: PyReadonlyArray2<'_, f64>) -> PyResult<Loo> {
        let rows = log_likelihood.as_array();
        let by_datum = Mat::from_fn(rows.ncols(), rows.nrows(), |i, j| rows[[j, i]]);
        let found = py.detach(|| mcsa::posterior::Loo::of(&self.weighted, by_datum.as_ref()));
        found.map(Loo).map_err(value_error)
    }

    /// Whether the draws show the means and the standard deviations of numbers, whose values are columns with a row per draw.
    fn shown(&self, values: PyReadonlyArray2<'_, f64>) -> Vec<[bool; 2]> {
        let (weights, are_of_chains) = (self.weighted.weights(), self.family == "chains");
        let of = |column: ArrayView1<'_, f64>| Parameter::shown(&column.to_vec(), &weights, are_of_chains);
        values.as_array().columns().into_iter().map(of).collect()
    }

    /// Indices of draws by systematic resampling.
    fn copies(&self, count: usize, seed: u64) -> PyResult<Vec<usize>> {
        let mut stream = Seed::new(seed).named("resampled").stream(0, 0);
        self.weighted.copies(count, &mut stream).map_err(value_error)
    }
}
