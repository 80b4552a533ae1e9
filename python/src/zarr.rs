//! Zarr archives from arrays.

use std::path::PathBuf;

use mcsa::arviz::{Array, Group, write_archive};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::value_error;

/// Numbers in row-major order, or the labels of a side.
#[derive(FromPyObject)]
pub(crate) enum Values<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Integers(PyReadonlyArray1<'py, i64>),
    Words(Vec<String>),
}

/// Name, shape, sides and values of an array.
type Given<'py> = (String, Vec<usize>, Vec<String>, Values<'py>);

/// Writes a Zarr archive: for each group its name, its attributes as JSON, and its arrays.
#[pyfunction]
pub(crate) fn write_zarr(path: PathBuf, groups: Vec<(String, String, Vec<Given<'_>>)>) -> PyResult<()> {
    let array = |(name, shape, dims, values): Given<'_>| {
        let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
        let side = dims.first().copied().unwrap_or_default();
        let array = match values {
            Values::Numbers(numbers) => Array::numbers(&shape, &dims, &numbers.as_array().to_vec()),
            Values::Integers(labels) => Ok(Array::integers(side, &labels.as_array().to_vec())),
            Values::Words(labels) => Array::words(side, &labels),
        };
        Ok::<_, PyErr>((name, array.map_err(value_error)?))
    };
    let group = |(name, attributes, arrays): (String, String, Vec<Given<'_>>)| {
        let attributes = serde_json::from_str(&attributes)
            .map_err(|error| PyValueError::new_err(format!("attributes of {name}: {error}")))?;
        let arrays = arrays.into_iter().map(array).collect::<PyResult<_>>()?;
        Ok::<_, PyErr>(Group { name, attributes, arrays })
    };
    let groups = groups.into_iter().map(group).collect::<PyResult<Vec<_>>>()?;
    write_archive(path, &groups).map_err(value_error)
}
