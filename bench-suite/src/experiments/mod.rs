//! Rooms of the experiments: the figures, tables and checks that belong to one experiment or to a family of experiments.
//!
//! An experiment that only needs the standard figures and comparisons has no room: its file is enough.

mod ancestor_weight;
mod bias_bound;
mod classification;
mod conditional_variance;
mod convergence;
mod cost;
mod directions;
mod exchange_rates;
mod gradient_variance;
mod ladder;
mod marginal_likelihood;
mod papers;
mod probit;
mod registry;
mod regression;
mod robustness;
mod shapes;
mod skew_normal;
mod step_size;
mod subset_average;
mod surrogates;
mod taxonomy;
mod variance_divergence;
mod verdict;

pub(crate) use papers::examined;
pub use registry::REGISTRY;
pub(crate) use verdict::{Rates, rates};
