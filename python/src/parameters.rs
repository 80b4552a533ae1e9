//! Declared parameters: the transforms of the library on batches of points.

use mcsa::core::square_fits_in_memory;
use mcsa::models::{Parameters as Declared, Transform};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::value_error;

/// Parameters of a model in the order of their declaration, and their transforms from unconstrained points.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct Parameters(Declared);

/// Parameters of each point, one point per row, and the log-Jacobian of the map at each.
type Constrained<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Parameters {
    /// From the name, set, and number of numbers or rows of each parameter; an interval has a low and a high end.
    #[new]
    fn new(declared: Vec<(String, String, usize, f64, f64)>) -> PyResult<Self> {
        let mut parameters = Declared::new();
        for (name, set, count, low, high) in &declared {
            square_fits_in_memory("a parameter", *count).map_err(value_error)?;
            parameters = match &**set {
                "real" => parameters.real(name, *count),
                "positive" => parameters.each(name, Transform::Positive, *count),
                "interval" => parameters.each(name, Transform::Interval { low: *low, high: *high }, *count),
                "simplex" => parameters.simplex(name, *count),
                "ordered" => parameters.ordered(name, *count),
                "correlation" => parameters.correlation(name, *count),
                other => return Err(PyValueError::new_err(format!("no set {other:?} of parameters"))),
            };
        }
        square_fits_in_memory("dim", parameters.dim()).map_err(value_error)?;
        parameters.check().map_err(value_error)?;
        if parameters.dim() == 0 {
            return Err(PyValueError::new_err("the parameters have no free coordinate"));
        }
        Ok(Self(parameters))
    }

    /// Number of unconstrained coordinates.
    #[getter]
    fn dim(&self) -> usize {
        self.0.dim()
    }

    /// Parameters `(N, numbers)` at the rows of an array `(N, dim)`, and the log-Jacobian at each.
    fn constrain<'py>(&self, py: Python<'py>, z: PyReadonlyArray2<'py, f64>) -> PyResult<Constrained<'py>> {
        let z = shaped("points", &z, self.0.dim())?;
        let count = z.len() / self.0.dim();
        let mut theta = vec![0.0; count * self.0.len()];
        let mut log_jacobian = Vec::with_capacity(count);
        let rows = z.chunks_exact(self.0.dim()).zip(theta.chunks_exact_mut(self.0.len()));
        log_jacobian.extend(rows.map(|(z, theta)| self.0.constrain_into(z, theta)));
        Ok((theta.into_pyarray(py).reshape([count, self.0.len()])?, log_jacobian.into_pyarray(py)))
    }

    /// Gradients `(N, dim)` of log densities with these slopes `(N, numbers)` in the parameters, log-Jacobian included.
    fn pull_back<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray2<'py, f64>,
        slopes: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (z, slopes) = (shaped("points", &z, self.0.dim())?, shaped("slopes", &slopes, self.0.len())?);
        let (count, of_slopes) = (z.len() / self.0.dim(), slopes.len() / self.0.len());
        if count != of_slopes {
            return Err(PyValueError::new_err(format!("{of_slopes} rows of slopes for {count} points")));
        }
        let mut gradients = vec![0.0; z.len()];
        let rows = z.chunks_exact(self.0.dim()).zip(slopes.chunks_exact(self.0.len()));
        for ((z, slope), gradient) in rows.zip(gradients.chunks_exact_mut(self.0.dim())) {
            self.0.pull_back_into(z, slope, gradient);
        }
        gradients.into_pyarray(py).reshape([count, self.0.dim()])
    }
}

/// The numbers of an array by rows of this width.
fn shaped(what: &str, array: &PyReadonlyArray2<'_, f64>, width: usize) -> PyResult<Vec<f64>> {
    let array = array.as_array();
    if array.ncols() != width {
        let found = array.ncols();
        return Err(PyValueError::new_err(format!("{what} have {found} coordinates; expected {width}")));
    }
    Ok(array.iter().copied().collect())
}
