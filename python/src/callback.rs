//! Log density and gradient from Python callables on batches.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use mcsa::core::{Columns, Error, ExactDraws, Gradient, LogDensity, Named, Stream, batch_mut, one};
use mcsa::faer::{Mat, MatMut, MatRef};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::fit_result::rows;
use crate::value_error;

/// Target density from a callable on batches: an array of shape `(N, d)`, one point per row, gives `N` log densities.
///
/// An exception of a callable, or a result that is no array of the right shape, is kept; from then on every density is NaN and the
/// callable is not called again, until [`failure`](Self::failure) hands the exception on.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct Density {
    dim: usize,
    log_density: Py<PyAny>,
    gradient: Option<Py<PyAny>>,
    names: Vec<String>,
    failure: Mutex<Option<PyErr>>,
    interrupted: AtomicBool,
    /// True once a batch of several points gave numbers of the right shape.
    has_served: AtomicBool,
    prior: Option<Box<Prior>>,
}

/// Prior from callables: its log density, and a function of a generator of NumPy and a number n that gives draws `(n, d)`.
struct Prior {
    density: Density,
    draw: Py<PyAny>,
    /// Draws that were made and not used.
    rest: Mutex<Vec<f64>>,
}

/// Draws of the prior by one call.
const DRAWS: usize = 1_000;

#[pymethods]
impl Density {
    #[new]
    #[pyo3(signature = (log_density, dim, gradient=None, names=None, prior=None))]
    pub(crate) fn new(
        log_density: Py<PyAny>,
        dim: usize,
        gradient: Option<Py<PyAny>>,
        names: Option<Vec<String>>,
        prior: Option<(Py<PyAny>, Py<PyAny>)>,
    ) -> PyResult<Self> {
        let is_callable = |callable: &Py<PyAny>| Python::attach(|py| callable.bind(py).is_callable());
        if !is_callable(&log_density) {
            return Err(PyTypeError::new_err(
                "log_density must be callable: an array (N, d) gives N numbers",
            ));
        }
        if gradient.as_ref().is_some_and(|gradient| !is_callable(gradient)) {
            return Err(PyTypeError::new_err(
                "gradient must be callable: an array (N, d) gives gradients (N, d), or a pair of N log densities and these",
            ));
        }
        let names = names.unwrap_or_default();
        if !names.is_empty() && names.len() != dim {
            return Err(PyValueError::new_err(format!("{} names for {dim} coordinates", names.len())));
        }
        mcsa::core::square_fits_in_memory("dim", dim).map_err(value_error)?;
        let mut named = Named::default();
        names.iter().for_each(|name| named.push(name, 0.0));
        named.check_distinct().map_err(value_error)?;
        let prior = match prior {
            Some((draw, log_density)) if is_callable(&draw) => {
                let density = Self::new(log_density, dim, None, None, None)?;
                Some(Box::new(Prior { density, draw, rest: Mutex::default() }))
            }
            Some(_) => {
                return Err(PyTypeError::new_err("prior must be a pair of callables: draw, log_density"));
            }
            None => None,
        };
        Ok(Self {
            dim,
            log_density,
            gradient,
            names,
            failure: Mutex::new(None),
            interrupted: AtomicBool::new(false),
            has_served: AtomicBool::new(false),
            prior,
        })
    }

    /// The dimension.
    #[getter]
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }
}

/// A result as a float64 array: lists, other kinds of numbers, arrays of JAX. A masked entry has no number.
fn as_floats<'py>(what: &str, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static IS_MASKED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static REQUIRE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // Subclasses, as masked arrays are, take the long way, and so do fields of packed records.
    let is_plain = |start: *mut f64, strides: &[isize]| {
        (start as usize).is_multiple_of(size_of::<f64>())
            && strides.iter().all(|stride| stride % size_of::<f64>() as isize == 0)
    };
    let vector = value.cast::<PyArray1<f64>>().is_ok_and(|array| is_plain(array.data(), array.strides()));
    let matrix = || value.cast::<PyArray2<f64>>().is_ok_and(|array| is_plain(array.data(), array.strides()));
    if value.is_exact_instance_of::<PyUntypedArray>() && (vector || matrix()) {
        return Ok(value);
    }
    if IS_MASKED.import(value.py(), "numpy.ma", "is_masked")?.call1((&value,))?.is_truthy()? {
        return Err(PyValueError::new_err(format!(
            "{what} returned a masked array; expected a number for every entry"
        )));
    }
    let asarray = ASARRAY.import(value.py(), "numpy", "asarray")?;
    let array = asarray.call1((value,))?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if !["b", "i", "u", "f"].contains(&&*kind) {
        return Err(PyTypeError::new_err(format!(
            "{what} returned an array of dtype {dtype}; expected real numbers"
        )));
    }
    // Aligned, and in C order.
    let require = REQUIRE.import(array.py(), "numpy", "require")?;
    require.call1((array, "float64", ["C", "A"]))
}

/// A result as a float64 array of the shape that has one `each` for each row.
fn shaped<'py>(
    what: &str,
    value: Bound<'py, PyAny>,
    shape: &[usize],
    each: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let value = as_floats(what, value)?;
    let found: Vec<usize> = value.getattr("shape")?.extract()?;
    if found == shape {
        return Ok(value);
    }
    let (found, shape) = (shown(&found), shown(shape));
    Err(PyValueError::new_err(format!(
        "{what} returned an array of shape {found}; expected {shape}, one {each} for each row"
    )))
}

/// The numbers of a one-dimensional array of length `out`.
pub(crate) fn read_vector(what: &str, value: Bound<'_, PyAny>, out: &mut [f64]) -> PyResult<()> {
    let value = shaped(what, value, &[out.len()], "log density")?;
    let array: PyReadonlyArray1<'_, f64> = value.extract()?;
    out.iter_mut().zip(array.as_array()).for_each(|(out, value)| *out = *value);
    Ok(())
}

/// The numbers of an array `(N, d)`, to the columns of `out`.
pub(crate) fn read_matrix(
    what: &str,
    each: &str,
    value: Bound<'_, PyAny>,
    mut out: MatMut<'_, f64>,
) -> PyResult<()> {
    let value = shaped(what, value, &[out.ncols(), out.nrows()], each)?;
    let array: PyReadonlyArray2<'_, f64> = value.extract()?;
    let array = array.as_array();
    for j in 0..out.ncols() {
        for i in 0..out.nrows() {
            out[(i, j)] = array[[j, i]];
        }
    }
    Ok(())
}

const OF_ONE_POINT: &str = "log_density and gradient are called with a batch, one point per row. With vectorized=False they are called \
    with one point at a time.";

/// True if one point gives one log density, or a gradient.
fn serves_one(callable: &Bound<'_, PyAny>, point: &[f64], shape: &[usize]) -> bool {
    let found = callable.call1((PyArray1::from_slice(callable.py(), point),));
    found.and_then(read_shape).is_ok_and(|found| found == shape)
}

fn read_shape(value: Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    as_floats("log_density", value)?.getattr("shape")?.extract()
}

fn shown(shape: &[usize]) -> String {
    let sides: Vec<String> = shape.iter().map(ToString::to_string).collect();
    match &sides[..] {
        [one] => format!("({one},)"),
        sides => format!("({})", sides.join(", ")),
    }
}

impl Density {
    pub(crate) fn has_gradient(&self) -> bool {
        self.gradient.is_some()
    }

    /// The first exception of a callable since the last call.
    pub(crate) fn failure(&self) -> Option<PyErr> {
        let own = self.failure.lock().map_or(None, |mut failure| failure.take());
        own.or_else(|| self.prior.as_ref().and_then(|prior| prior.density.failure()))
    }

    /// True if Ctrl-C came during a call since the last call of this. The callable was called again, so that no number depends
    /// on it; a second Ctrl-C during that call is an exception like any other.
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupted.swap(false, Ordering::Relaxed)
    }

    /// Calls with the batch as an array of shape `(N, d)`, which the callable may keep or change.
    fn call<'py>(
        &self,
        py: Python<'py>,
        callable: &Py<PyAny>,
        z: MatRef<'_, f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.repeated(py, || callable.bind(py).call1((rows(py, z)?,)))
    }

    /// The result of a call, which is made again if Ctrl-C came during it.
    pub(crate) fn repeated<'py>(
        &self,
        py: Python<'py>,
        call: impl Fn() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = call();
        let is_signal = found.as_ref().is_err_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py));
        if is_signal && !self.interrupted.swap(true, Ordering::Relaxed) { call() } else { found }
    }

    pub(crate) fn has_failed(&self) -> bool {
        let has_own = self.failure.lock().map_or(true, |failure| failure.is_some());
        has_own || self.prior.as_ref().is_some_and(|prior| prior.density.has_failed())
    }

    pub(crate) fn keep(&self, error: PyErr) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    /// The exception that a batch led to, with a note if no batch served before and a single point serves.
    fn noted(&self, error: PyErr, z: MatRef<'_, f64>, callable: &Py<PyAny>, shape: &[usize]) -> PyErr {
        if !self.has_served.load(Ordering::Relaxed) {
            Python::attach(|py| {
                let is_raised = error.is_instance_of::<PyException>(py);
                if is_raised && serves_one(callable.bind(py), z.column(0), shape) {
                    // A note that cannot be added leaves the exception as it is.
                    let _ = error.value(py).call_method1("add_note", (OF_ONE_POINT,));
                }
            });
        }
        error
    }

    fn densities(&self, z: MatRef<'_, f64>, out: &mut [f64]) -> PyResult<()> {
        Python::attach(|py| {
            read_vector("log_density", self.call(py, &self.log_density, z)?, out)?;
            if z.ncols() > 1 && !self.has_served.swap(true, Ordering::Relaxed) {
                self.check_rows(py, z, out)?;
            }
            Ok(())
        })
    }

    /// The last point of a batch has the same log density alone. Where a second call gives another value the function is random, which the
    /// fit itself finds.
    fn check_rows(&self, py: Python<'_>, z: MatRef<'_, f64>, found: &[f64]) -> PyResult<()> {
        let (last, mut alone) = (z.ncols() - 1, [[f64::NAN]; 2]);
        for alone in &mut alone {
            read_vector("log_density", self.call(py, &self.log_density, z.subcols(last, 1))?, alone)?;
        }
        let [[alone], [again]] = alone;
        let differs = (alone - found[last]).abs() > 1e-3 * (1.0 + alone.abs());
        if differs && alone.to_bits() == again.to_bits() {
            return Err(PyValueError::new_err(format!(
                "log_density gives a point {} in a batch of {}, and {alone} alone: it joins points. Each row is a point of its own; sums \
                 over its entries are .sum(axis=1)",
                found[last],
                z.ncols()
            )));
        }
        Ok(())
    }

    fn gradients(
        &self,
        callable: &Py<PyAny>,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        gradients: MatMut<'_, f64>,
    ) -> PyResult<()> {
        let is_pair = Python::attach(|py| {
            let found = self.call(py, callable, z)?;
            match found.cast::<PyTuple>() {
                Ok(pair) if pair.len() == 2 => {
                    read_vector("gradient", pair.get_item(0)?, out)?;
                    read_matrix("gradient", "gradient", pair.get_item(1)?, gradients)?;
                    Ok::<bool, PyErr>(true)
                }
                _ => read_matrix("gradient", "gradient", found, gradients).map(|()| false),
            }
        })?;
        if is_pair { Ok(()) } else { self.densities(z, out) }
    }
}

impl LogDensity for Density {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut out = [f64::NAN];
        self.log_densities(one(z), &mut out, work);
        out[0]
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], _: &mut [f64]) {
        if self.has_failed() {
            out.fill(f64::NAN);
        } else if let Err(error) = self.densities(z, out) {
            out.fill(f64::NAN);
            self.keep(self.noted(error, z, &self.log_density, &[]));
        }
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let name = |i: usize| self.names.get(i).cloned().unwrap_or_else(|| format!("z[{i}]"));
        out.each(name, z.iter().copied());
    }

    fn prior(&self) -> Option<&dyn ExactDraws> {
        self.prior.as_deref().map(|prior| prior as &dyn ExactDraws)
    }
}

impl LogDensity for Prior {
    fn dim(&self) -> usize {
        self.density.dim
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.density.log_density(z, work)
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        self.density.log_densities(z, out, work);
    }
}

impl ExactDraws for Prior {
    /// The next of the draws of one call, whose generator is seeded by the stream.
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        z.fill(f64::NAN);
        let Ok(mut rest) = self.rest.lock() else { return };
        if rest.is_empty() && !self.density.has_failed() {
            let seed = (stream.uniform() * 2.0_f64.powi(53)) as u64;
            match self.drawn(seed) {
                Ok(draws) => *rest = draws,
                Err(error) => self.density.keep(error),
            }
        }
        let left = rest.len().saturating_sub(z.len());
        if rest.len() >= z.len() {
            z.copy_from_slice(&rest[left..]);
        }
        rest.truncate(left);
    }
}

impl Prior {
    fn drawn(&self, seed: u64) -> PyResult<Vec<f64>> {
        static GENERATOR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        Python::attach(|py| {
            let generator = GENERATOR.import(py, "numpy.random", "default_rng")?.call1((seed,))?;
            let found = self.draw.bind(py).call1((generator, DRAWS))?;
            let mut draws = Mat::zeros(self.density.dim, DRAWS);
            read_matrix("draws of the prior", "point", found, draws.as_mut())?;
            Ok(draws.col_iter().flat_map(|draw| draw.iter().copied().collect::<Vec<_>>()).collect())
        })
    }
}

impl Gradient for Density {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let mut out = [f64::NAN];
        self.gradients_into(one(z), &mut out, batch_mut(gradient, z.len(), 1), work);
        out[0]
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        _: &mut [f64],
    ) {
        let found = match &self.gradient {
            Some(_) if self.has_failed() => None,
            Some(callable) => Some(self.gradients(callable, z, out, gradients.as_mut())),
            None => Some(Err(value_error(Error::invalid("the target has no gradient")))),
        };
        if !matches!(found, Some(Ok(()))) {
            out.fill(f64::NAN);
            gradients.fill(f64::NAN);
        }
        if let Some(Err(error)) = found {
            let callable = self.gradient.as_ref().unwrap_or(&self.log_density);
            self.keep(self.noted(error, z, callable, &[self.dim]));
        }
    }
}
