//! Tests of the fit in one call.

mod hostile;
mod limits;
mod resume;
mod targets;
