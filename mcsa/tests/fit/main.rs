//! Tests of the fit in one call.

mod hostile;
mod limits;
mod many_dimensions;
mod resume;
mod targets;
