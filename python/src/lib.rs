//! Native part of the Python package `mcsa`.

mod ascent;
mod calibration;
mod callback;
mod comparison;
mod fit_result;
mod fit_state;
mod model;
mod parameters;
mod prior;
mod source;
mod sparse;
mod terms;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

/// A `ValueError` with the message of the library.
pub(crate) fn value_error(error: mcsa::core::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pyo3::create_exception!(
    mcsa._mcsa,
    FitError,
    PyValueError,
    "A fit could not be made, for a reason that is no exception of a callable."
);

/// The error of a fit itself, apart from those of callables.
pub(crate) fn fit_error(error: mcsa::core::Error) -> PyErr {
    FitError::new_err(error.to_string())
}

/// `Ok(true)` at Ctrl-C; the exception of another signal's handler is an error.
pub(crate) fn is_interrupted(py: Python<'_>) -> PyResult<bool> {
    match py.check_signals() {
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(true),
        found => found.map(|()| false),
    }
}

/// Native part of the package `mcsa`: the Rust library's fits of a posterior.
#[pymodule]
fn _mcsa(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("RULE", mcsa::posterior::RULE.number)?;
    module.add("FitError", module.py().get_type::<FitError>())?;
    module.add_class::<callback::Density>()?;
    module.add_class::<terms::Terms>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<parameters::Parameters>()?;
    module.add_class::<fit_state::FitState>()?;
    module.add_class::<fit_result::FitResult>()?;
    module.add_class::<comparison::Loo>()?;
    module.add_class::<prior::Prior>()?;
    module.add_class::<ascent::AscentState>()?;
    module.add_function(wrap_pyfunction!(comparison::compare, module)?)?;
    module.add_function(wrap_pyfunction!(calibration::calibration_looks, module)?)?;
    module.add_function(wrap_pyfunction!(calibration::calibration_judge, module)?)
}
