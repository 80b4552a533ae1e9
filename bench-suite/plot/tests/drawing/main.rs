//! Law: figures show data at the correct positions, and no input breaks drawing.

mod laws;
mod properties;
mod sheet;
