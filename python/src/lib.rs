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

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A `ValueError` with the message of the library.
pub(crate) fn value_error(error: mcsa::core::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Native part of the package `mcsa`: the Rust library's fits of a posterior.
#[pymodule]
fn _mcsa(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
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
