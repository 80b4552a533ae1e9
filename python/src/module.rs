//! Contents of the Python module.

use pyo3::prelude::*;

use crate::ascent::Climbing;
use crate::callback::Density;
use crate::fitted::Fitted;
use crate::fitting::Fitting;
use crate::model::Model;

/// Native part of the package `mcsa`: the Rust library's fits of a posterior.
#[pymodule]
fn _mcsa(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Density>()?;
    module.add_class::<Model>()?;
    module.add_class::<Fitting>()?;
    module.add_class::<Fitted>()?;
    module.add_class::<Climbing>()
}
