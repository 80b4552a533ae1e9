//! The papers' experiments: run, drawn and judged.
//!
//! An experiment is data and flows one way: a file of `experiments/` ([`experiment`], with lists that stand for grids: [`grid`])
//! becomes a [`plan`] of jobs; the [`catalog`] turns a job's names into types; its [`kinds`] say how it is run, the [`runner`]
//! runs many; rows go to the [`store`] and come back as [`evidence`]. From evidence alone are made [`figures`],
//! [`claims`] and the [`report`], which sets our numbers beside those that were [`published`].
//!
//! A job's name is a hash of everything that determines its result, data included, so a job that has been run is not run again,
//! and changing any number makes a new file. A result carries the fingerprint of the code it came from, in its name too; results
//! of other code are stale: run again when asked for, shown as such until then, and never mixed with fresh ones. The fingerprint
//! covers all that a number passes through, found by following modules, manifests and locked versions from [`kinds`] on
//! (`bench-suite/fingerprint`). A file that cannot be used costs its own job, which is run again.
//!
//! # To add an experiment
//!
//! 1. `experiments/<id>.toml`: what is compared, on what, with which effort in each preset. Unknown keys are refused by name. A
//!    setting that is a list stands for each of its values; `on` says for which targets a method is.
//! 2. `figures/<noun>.rs`: a function from [`evidence::Evidence`] to [`figures::Plate`]s. Colours come from [`look`].
//! 3. `claims/<noun>.rs`: what it is said to show, each with a number and a threshold, tested on rows made up so that it
//!    holds, fails and abstains.
//! 4. A line in [`registry`] and, for a table, its cells in `published/cells.csv`.
//!
//! What has nothing to run, because it is a formula or measured at once, is an exhibit: its file says `[exhibit]` in place of
//! presets and jobs, and the rest is the same. [`tables`] are made like figures.
//!
//! `cargo xtask figures <id>` runs it; everything else (resuming, table, CSV, report, summary) follows. A new kind of job, for
//! what is neither a fit nor a variance, is a file in [`kinds`] and an arm in `Task`; a new model, method or optimiser is one
//! in the [`catalog`].
//!
//! What the papers claim of bias, variance and rates is tried by [`theory`].
//!
//! The only crate that reads, writes, prints or knows the time.

pub mod as_published;
pub mod catalog;
pub mod claims;
pub mod data;
pub mod draw;
pub mod evidence;
pub mod experiment;
pub mod figures;
pub mod forecast;
pub mod grid;
pub mod instance;
pub mod interrupt;
pub mod interval;
pub mod kinds;
pub mod look;
mod notice;
mod number;
pub mod plan;
pub mod provenance;
pub mod published;
mod quantile;
mod readme;
pub mod registry;
pub mod report;
pub mod runner;
pub mod store;
pub mod tables;
mod text;
pub mod theory;
pub mod verbs;
