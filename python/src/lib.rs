//! Native part of the Python package `mcsa`.

mod callback;
mod errors;
mod fitted;
mod fitting;
mod model;
mod module;
