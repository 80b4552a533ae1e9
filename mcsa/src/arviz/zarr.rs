//! Writer of Zarr archives, version 3 of the format: arrays of one chunk, groups, and consolidated metadata.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

/// Array of one chunk.
pub(super) struct Array {
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
    pub(super) fn numbers(shape: Vec<usize>, dims: Vec<String>, values: impl Iterator<Item = f64>) -> Self {
        let bytes = values.flat_map(f64::to_le_bytes).collect();
        let codec = json!({"name": "bytes", "configuration": {"endian": "little"}});
        Self { shape, dims, data_type: "float64", codec, fill: json!("NaN"), bytes }
    }

    /// The labels `0, 1, ..., count - 1` along the side `name`.
    pub(super) fn labels(name: &str, count: usize) -> Self {
        let bytes = (0..count as i64).flat_map(i64::to_le_bytes).collect();
        let codec = json!({"name": "bytes", "configuration": {"endian": "little"}});
        Self { shape: vec![count], dims: vec![name.into()], data_type: "int64", codec, fill: json!(0), bytes }
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
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) attributes: Map<String, Value>,
    pub(super) arrays: Vec<(String, Array)>,
}

/// Metadata of a group.
fn group(attributes: &Map<String, Value>) -> Map<String, Value> {
    let Value::Object(metadata) = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
    else {
        return Map::new();
    };
    metadata
}

/// Writes an archive to a folder that does not exist yet.
pub(super) fn write(folder: &Path, groups: &[Group]) -> io::Result<()> {
    let mut nodes = Map::new();
    for group_ in groups {
        let place = folder.join(group_.name);
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
        nodes.insert(group_.name.into(), with_nodes(own.clone(), Map::new()));
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
