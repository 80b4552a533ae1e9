//! Rooms of the experiments: the figures, tables and checks that belong to one experiment or to a family of experiments.
//!
//! An experiment that only needs the standard figures and comparisons has no room: its file is enough.

mod ancestor_weight;
mod bias_bound;
mod cost;
mod directions;
mod exchange_rates;
mod gains;
mod ladder;
mod local_latents;
mod papers;
mod probit;
mod pruning;
mod ranks;
mod registry;
mod robustness;
mod scoreboard;
mod shapes;
mod sparse_processes;
mod step_size;
mod subset_average;
mod taxonomy;
mod variance_divergence;
mod verdict;

pub(crate) use papers::examined;
pub use registry::REGISTRY;
pub(crate) use scoreboard::{Board, methods, reach, winners};
pub(crate) use verdict::{Rates, rates};
