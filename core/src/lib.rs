//! Being laid.

pub mod numeric;
