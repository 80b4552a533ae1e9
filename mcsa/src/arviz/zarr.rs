//! Writer of Zarr archives, version 3 of the format: arrays of one chunk, groups, and consolidated metadata.

use std::fs;
use std::io;
use std::path::Path;

use mcsa_core::Error;
use serde_json::{Map, Value, json};

/// Array of an archive, with a name for each side.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    /// Name of each side.
    dims: Vec<String>,
    data_type: &'static str,
    codec: Value,
    fill: Value,
    bytes: Vec<u8>,
}

impl Array {
    /// Numbers in row-major order.
    ///
    /// # Errors
    /// If their count is not the product of the sides, or not every side has a name.
    pub fn numbers(shape: &[usize], dims: &[&str], values: &[f64]) -> Result<Self, Error> {
        let count = shape.iter().try_fold(1_usize, |count, side| count.checked_mul(*side));
        if count != Some(values.len()) || dims.len() != shape.len() {
            let said = format!("{} numbers and sides {dims:?} for the shape {shape:?}", values.len());
            return Err(Error::invalid(said).within("Array"));
        }
        let bytes = values.iter().copied().flat_map(f64::to_le_bytes).collect();
        Ok(Self::of(shape.to_vec(), dims, "float64", json!("NaN"), bytes))
    }

    /// Whole numbers as labels along the side `dim`.
    pub fn integers(dim: &str, labels: &[i64]) -> Self {
        let bytes = labels.iter().copied().flat_map(i64::to_le_bytes).collect();
        Self::of(vec![labels.len()], &[dim], "int64", json!(0), bytes)
    }

    /// Words as labels along the side `dim`.
    ///
    /// # Errors
    /// If a word, or the number of words, is 2^32 or longer.
    pub fn words<S: AsRef<str>>(dim: &str, labels: &[S]) -> Result<Self, Error> {
        let length = |length: usize| {
            u32::try_from(length).map_err(|_| Error::invalid("a label is too long").within("Array"))
        };
        let mut bytes = length(labels.len())?.to_le_bytes().to_vec();
        for label in labels {
            bytes.extend(length(label.as_ref().len())?.to_le_bytes());
            bytes.extend(label.as_ref().bytes());
        }
        let codec = json!({"name": "vlen-utf8"});
        Ok(Self { codec, ..Self::of(vec![labels.len()], &[dim], "string", json!(""), bytes) })
    }

    /// The labels `0, 1, ..., count - 1` along the side `dim`.
    pub fn count(dim: &str, count: usize) -> Self {
        Self::integers(dim, &(0..count as i64).collect::<Vec<_>>())
    }

    fn of(shape: Vec<usize>, dims: &[&str], data_type: &'static str, fill: Value, bytes: Vec<u8>) -> Self {
        let codec = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let dims = dims.iter().map(ToString::to_string).collect();
        Self { shape, dims, data_type, codec, fill, bytes }
    }

    fn metadata(&self) -> Value {
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": self.data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.shape}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": self.fill,
            "codecs": [self.codec],
            "attributes": {},
            "dimension_names": self.dims,
        })
    }
}

/// Group of arrays by name, with attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Name of the group: "posterior", "sample_stats", "log_likelihood", "observed_data".
    pub name: String,
    /// Attributes.
    pub attributes: Map<String, Value>,
    /// Variables, and labels of their sides.
    pub arrays: Vec<(String, Array)>,
}

/// Metadata of a group.
fn group(attributes: &Map<String, Value>) -> Map<String, Value> {
    let Value::Object(metadata) = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
    else {
        return Map::new();
    };
    metadata
}

/// Writes an archive to a folder; one that an archive was written to before is replaced.
///
/// ```
/// use mcsa::arviz::{Array, Group, write_archive};
/// # let path = std::env::temp_dir().join(format!("mcsa-doc-group-{}.zarr", std::process::id()));
/// let school = Array::words("school", &["A", "B"])?;
/// let y = Array::numbers(&[2], &["school"], &[28.0, 8.0])?;
/// let arrays = vec![("school".to_owned(), school), ("y".to_owned(), y)];
/// write_archive(&path, &[Group { name: "observed_data".into(), attributes: Default::default(), arrays }])?;
/// assert!(path.join("observed_data/y/zarr.json").is_file());
/// # std::fs::remove_dir_all(&path).unwrap();
/// # Ok::<(), mcsa::prelude::Error>(())
/// ```
///
/// # Errors
/// If something that is no Zarr archive is there, a name is no name of a folder, or the folder cannot be written.
pub fn write_archive(folder: impl AsRef<Path>, groups: &[Group]) -> Result<(), Error> {
    let folder = folder.as_ref();
    let refuse = |reason: &dyn std::fmt::Display| {
        Error::invalid(format!("cannot write {}: {reason}", folder.display())).within("Archive")
    };
    let names = groups.iter().flat_map(|group| {
        std::iter::once(group.name.as_str()).chain(group.arrays.iter().map(|(name, _)| name.as_str()))
    });
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['/', '\\']);
    if let Some(name) = names.into_iter().find(|name| !is_name(name)) {
        return Err(refuse(&format!("{name:?} cannot be the name of a folder")));
    }
    if folder.exists() {
        if !folder.join("zarr.json").is_file() {
            return Err(refuse(&"there is something else, which is no Zarr archive"));
        }
        fs::remove_dir_all(folder).map_err(|error| refuse(&error))?;
    }
    write(folder, groups).map_err(|error| refuse(&error))
}

fn write(folder: &Path, groups: &[Group]) -> io::Result<()> {
    let mut nodes = Map::new();
    for group_ in groups {
        let place = folder.join(&group_.name);
        fs::create_dir_all(&place)?;
        let mut inside = Map::new();
        for (name, array) in &group_.arrays {
            let place = place.join(name);
            let chunk = array.shape.iter().fold(place.join("c"), |path, _| path.join("0"));
            fs::create_dir_all(chunk.parent().unwrap_or(&place))?;
            fs::write(chunk, &array.bytes)?;
            let metadata = array.metadata();
            write_json(&place, &metadata)?;
            nodes.insert(format!("{}/{name}", group_.name), metadata.clone());
            inside.insert(name.clone(), metadata);
        }
        let own = group(&group_.attributes);
        nodes.insert(group_.name.clone(), with_nodes(own.clone(), Map::new()));
        write_json(&place, &with_nodes(own, inside))?;
    }
    write_json(folder, &with_nodes(group(&Map::new()), nodes))
}

/// Metadata of a group with those of all that is below it.
fn with_nodes(mut own: Map<String, Value>, nodes: Map<String, Value>) -> Value {
    let inline = json!({"kind": "inline", "must_understand": false, "metadata": nodes});
    own.insert("consolidated_metadata".into(), inline);
    Value::Object(own)
}

fn write_json(folder: &Path, value: &Value) -> io::Result<()> {
    fs::write(folder.join("zarr.json"), format!("{value:#}\n"))
}
