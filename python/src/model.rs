//! Models of the library, with data as arrays.

use std::sync::Arc;

use mcsa::core::Gradient;
use mcsa::faer::Mat;
use mcsa::models::{
    EightSchools, HierarchicalLogistic, LinearRegression, LogisticRegression, ProbitRegression, ScalePrior,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::value_error;

/// Posterior of a model of the library.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct Model {
    pub(crate) target: Arc<dyn Gradient>,
    title: String,
}

fn model(title: &str, built: Result<impl Gradient + 'static, mcsa::core::Error>) -> PyResult<Model> {
    let built = built.map_err(|error| value_error(error.within(title)))?;
    Ok(Model { target: Arc::new(built), title: title.to_owned() })
}

fn matrix(x: &PyReadonlyArray2<'_, f64>) -> Mat<f64> {
    let x = x.as_array();
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[[i, j]])
}

fn vector(y: &PyReadonlyArray1<'_, f64>) -> Vec<f64> {
    y.as_array().to_vec()
}

#[pymethods]
impl Model {
    /// Eight schools: effects `theta_j ~ N(mu, tau)` of coaching, estimated with known errors.
    #[staticmethod]
    #[pyo3(signature = (centred=false))]
    fn eight_schools(centred: bool) -> PyResult<Self> {
        let built = if centred { EightSchools::centred() } else { EightSchools::non_centred() };
        model("eight schools", Ok(built))
    }

    /// Logistic regression with prior `N(0, prior_scale^2)` on the weights.
    #[staticmethod]
    fn logistic_regression(
        x: PyReadonlyArray2<'_, f64>,
        y: PyReadonlyArray1<'_, f64>,
        prior_scale: f64,
    ) -> PyResult<Self> {
        model("logistic regression", LogisticRegression::new(matrix(&x).as_ref(), &vector(&y), prior_scale))
    }

    /// Logistic regression with a scale of its own for every weight.
    #[staticmethod]
    fn hierarchical_logistic(x: PyReadonlyArray2<'_, f64>, y: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let built = HierarchicalLogistic::new(matrix(&x).as_ref(), &vector(&y), ScalePrior::default());
        model("hierarchical logistic regression", built)
    }

    /// Probit regression with prior `N(0, prior_scale^2)` on the weights.
    #[staticmethod]
    fn probit_regression(
        x: PyReadonlyArray2<'_, f64>,
        y: PyReadonlyArray1<'_, f64>,
        prior_scale: f64,
    ) -> PyResult<Self> {
        model("probit regression", ProbitRegression::new(matrix(&x).as_ref(), &vector(&y), prior_scale))
    }

    /// Linear regression with known noise and prior `N(0, prior_scale^2)` on the weights.
    #[staticmethod]
    fn linear_regression(
        x: PyReadonlyArray2<'_, f64>,
        y: PyReadonlyArray1<'_, f64>,
        noise_scale: f64,
        prior_scale: f64,
    ) -> PyResult<Self> {
        let built = LinearRegression::new(matrix(&x).as_ref(), &vector(&y), noise_scale, prior_scale);
        model("linear regression", built)
    }

    /// The dimension.
    #[getter]
    fn dim(&self) -> usize {
        self.target.dim()
    }

    /// Log density at each row of an array `(N, d)`.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let z = z.as_array();
        if z.ncols() != self.target.dim() {
            let message =
                format!("points have {} coordinates; the model has {}", z.ncols(), self.target.dim());
            return Err(PyValueError::new_err(message));
        }
        let columns = Mat::from_fn(z.ncols(), z.nrows(), |i, j| z[[j, i]]);
        let mut work = vec![0.0; self.target.work_len(columns.ncols())];
        let mut out = vec![0.0; columns.ncols()];
        self.target.log_densities(columns.as_ref(), &mut out, &mut work);
        Ok(PyArray1::from_vec(py, out))
    }

    fn __repr__(&self) -> String {
        format!("<mcsa model: {}, {} dimensions>", self.title, self.target.dim())
    }
}
