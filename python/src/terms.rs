//! Posteriors whose likelihood has one term per datum, from Python callables.

use mcsa::core::{Gradient, LogDensity, Named, Part, Separable, Subsampled};
use mcsa::faer::Mat;
use mcsa::models::support::add_difference;
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::callback::{Density, read_matrix, read_vector};

/// Log prior and log likelihood of some data at a point, each with its gradient.
///
/// An exception of either callable is kept by the density of the prior. Second derivatives are differences of gradients.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct Terms {
    prior: Density,
    log_likelihood: Py<PyAny>,
    num_data: usize,
}

#[pymethods]
impl Terms {
    /// `log_prior` takes points `(1, d)` and gives a pair as a gradient does; `log_likelihood` takes a point and the indices of data,
    /// and gives a pair of the log likelihoods of these and their gradients, one per row.
    #[new]
    fn new(
        py: Python<'_>,
        dim: usize,
        num_data: usize,
        log_prior: Py<PyAny>,
        log_likelihood: Py<PyAny>,
        names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let prior = Density::new(log_prior.clone_ref(py), dim, Some(log_prior), names, None)?;
        Ok(Self { prior, log_likelihood, num_data })
    }

    /// The dimension.
    #[getter]
    fn dim(&self) -> usize {
        self.prior.dim()
    }
}

impl Terms {
    /// The callable of the prior, which keeps exceptions.
    pub(crate) fn callables(&self) -> &Density {
        &self.prior
    }

    /// Log likelihoods of some data and their gradients, one per column; NaN after an exception.
    fn terms(&self, rows: &[usize], z: &[f64]) -> (Vec<f64>, Mat<f64>) {
        let (mut values, mut gradients) =
            (vec![f64::NAN; rows.len()], Mat::full(z.len(), rows.len(), f64::NAN));
        if !rows.is_empty() && !self.prior.has_failed() {
            let found = Python::attach(|py| {
                let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
                let found = self.prior.repeated(py, || {
                    let (z, rows) = (PyArray1::from_slice(py, z), PyArray1::from_slice(py, &rows));
                    self.log_likelihood.bind(py).call1((z, rows))
                })?;
                let pair = found.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
                let Some(pair) = pair else {
                    return Err(PyTypeError::new_err("log_likelihood must return a pair: values, gradients"));
                };
                read_vector("log_likelihood", pair.get_item(0)?, &mut values)?;
                read_matrix("log_likelihood", "gradient", pair.get_item(1)?, gradients.as_mut())
            });
            if let Err(error) = found {
                self.prior.keep(error);
                values.fill(f64::NAN);
            }
        }
        (values, gradients)
    }

    /// `out += sum of the weighted gradients` of some data.
    fn add_gradients(
        &self,
        rows: &[usize],
        weight: impl Fn(usize) -> f64,
        z: &[f64],
        out: &mut [f64],
    ) -> f64 {
        let (values, gradients) = self.terms(rows, z);
        for (at, gradient) in gradients.col_iter().enumerate() {
            out.iter_mut().zip(gradient.iter()).for_each(|(out, slope)| *out += weight(at) * slope);
        }
        values.iter().sum()
    }

    fn all(&self) -> Vec<usize> {
        (0..self.num_data).collect()
    }
}

impl LogDensity for Terms {
    fn dim(&self) -> usize {
        self.prior.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        2 * self.prior.dim()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.log_prior(z, work) + self.log_likelihood_at(&self.all(), z, work)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.prior.constrain(z, out);
    }
}

impl Gradient for Terms {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.prior_gradient_into(z, gradient, work) + self.add_gradients(&self.all(), |_| 1.0, z, gradient)
    }
}

impl Separable for Terms {
    fn num_data(&self) -> usize {
        self.num_data
    }

    fn log_prior(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.prior.gradient_into(z, &mut work[..z.len()], &mut [])
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        self.terms(rows, z).0.iter().sum()
    }
}

impl Subsampled for Terms {
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.prior.gradient_into(z, gradient, &mut [])
    }

    fn add_gradient_at(&self, part: Part<'_>, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.add_gradients(part.rows, |_| part.scale, z, gradient)
    }

    fn prior_hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        out.fill(0.0);
        let slope = |z: &[f64], slope: &mut [f64]| _ = self.prior.gradient_into(z, slope, &mut []);
        add_difference(slope, 1.0, z, v, out, work);
    }

    fn add_hessian_vector_at(&self, part: Part<'_>, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.add_weighted_hessian_vector_at(part.rows, &vec![part.scale; part.rows.len()], z, v, out, work);
    }

    fn gradients_at(&self, rows: &[usize], z: &[f64], gradients: &mut [f64], _: &mut [f64]) {
        let (_, found) = self.terms(rows, z);
        for (gradient, found) in gradients.chunks_exact_mut(z.len()).zip(found.col_iter()) {
            gradient.iter_mut().zip(found.iter()).for_each(|(gradient, slope)| *gradient = *slope);
        }
    }

    fn add_weighted_hessian_vector_at(
        &self,
        rows: &[usize],
        weights: &[f64],
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        work: &mut [f64],
    ) {
        let slope = |z: &[f64], slope: &mut [f64]| {
            slope.fill(0.0);
            self.add_gradients(rows, |at| weights[at], z, slope);
        };
        add_difference(slope, 1.0, z, v, out, work);
    }
}
