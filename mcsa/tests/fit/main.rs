//! Tests of the fit in one call.

mod archive;
mod hostile;
mod limits;
mod many_dimensions;
mod resume;
mod targets;
