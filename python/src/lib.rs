//! Native part of the Python package `mcsa`.

mod ascent;
mod callback;
mod errors;
mod fitted;
mod fitting;
mod model;
mod module;
mod source;
mod sparse;
