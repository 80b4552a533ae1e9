//! A posterior as a prior for further data.

use mcsa::core::{ExactDraws, Gradient, LogDensity, Seed};
use mcsa::estimators::Draws;
use mcsa::faer::Mat;
use mcsa::models::Mixture;
use mcsa::posterior::{Approximation, mixture_of_moments};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fit_result::rows;
use crate::value_error;

/// Gaussian, or mixture of Gaussians, with the moments of weighted draws.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct Prior(Mixture);

impl Prior {
    /// Of draws, and the q that they come from.
    pub(crate) fn of(draws: &Draws, q: Option<&Approximation>) -> PyResult<Self> {
        mixture_of_moments(draws, q).map(Self).map_err(value_error)
    }

    /// Points, one per row, as columns.
    fn columns(&self, z: &PyReadonlyArray2<'_, f64>) -> PyResult<Mat<f64>> {
        let (z, dim) = (z.as_array(), self.0.dim());
        if z.ncols() != dim {
            let said = format!("points have {} coordinates; the prior has {dim}", z.ncols());
            return Err(PyValueError::new_err(said));
        }
        Ok(Mat::from_fn(dim, z.nrows(), |i, j| z[[j, i]]))
    }
}

#[pymethods]
impl Prior {
    /// Log density at each row of an array.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let z = self.columns(&z)?;
        let (mut out, mut work) = (vec![0.0; z.ncols()], vec![0.0; self.0.work_len(z.ncols())]);
        self.0.log_densities(z.as_ref(), &mut out, &mut work);
        Ok(PyArray1::from_vec(py, out))
    }

    /// Gradient at each row of an array.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let z = self.columns(&z)?;
        let mut slopes = Mat::zeros(z.nrows(), z.ncols());
        let (mut out, mut work) = (vec![0.0; z.ncols()], vec![0.0; self.0.work_len(z.ncols())]);
        self.0.gradients_into(z.as_ref(), &mut out, slopes.as_mut(), &mut work);
        rows(py, slopes.as_ref())
    }

    /// Draws, one per row.
    fn draw<'py>(&self, py: Python<'py>, seed: u64, count: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let seed = Seed::new(seed).named("prior");
        let mut points = Mat::zeros(self.0.dim(), count);
        (0..count).for_each(|j| {
            self.0.draw_into(&mut seed.stream(j as u64, 0), points.col_as_slice_mut(j));
        });
        rows(py, points.as_ref())
    }
}
