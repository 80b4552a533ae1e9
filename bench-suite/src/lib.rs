//! The papers' experiments: run, drawn and judged.
//!
//! An experiment is data and flows one way: a file of `experiments/` becomes a [`plan`] of jobs; the [`catalog`] turns a
//! job's names into types; [`job`] runs it with checkpoints; its rows go to the [`store`]; [`figures`] are pure functions
//! from rows to drawings. A job's name is a hash of everything that determines its result, so a job that has been
//! run is not run again, and changing any number makes a new file.
//!
//! What the papers claim of bias, variance and rates is tried by [`theory`].
//!
//! The only crate that reads, writes, prints or knows the time.

pub mod as_published;
pub mod catalog;
pub mod data;
pub mod draw;
pub mod experiment;
pub mod figures;
pub mod instance;
pub mod job;
pub mod plan;
mod quantile;
mod readme;
pub mod store;
pub mod theory;
