//! Experiments of the papers: definition, execution, figures, and checks of published claims.
//!
//! An experiment is data. A file of `papers/` ([`experiment`], with lists that expand to grids: [`grid`]) becomes a [`plan`] of jobs,
//! each a [`task`] with a seed. The [`catalog`] maps the names in a task to types, [`jobs`] runs it, and the [`runner`] runs many jobs
//! in parallel. Rows of [`metric`]s go to the [`store`] and are read back as [`results`], from which alone [`figures`], [`claims`] and
//! the [`report`] are made. The report also shows the numbers that were [`published`].
//!
//! The name of a job is a hash of everything that determines its result, data included. A result carries the fingerprint of the code
//! that computed it (`bench-suite/fingerprint.rs`). Results of other code are stale: they are computed again on request, shown as
//! stale until then, and never mixed with fresh ones.
//!
//! A new experiment is a file in `papers/` with its claims, a line in `experiments/mod.rs` and, for a published table, cells in
//! `published/cells.csv`; a list as a setting expands to each of its values. What `[[figure]]`, `[[table]]` and `[[claim]]` cannot
//! express is in `experiments/<paper>.rs`: functions of [`results::Results`], tested on synthetic rows for which they hold, fail and
//! abstain. An exhibit, `[exhibit]`, has no jobs. `docs/book/src/experiment-file.md` lists all keys. A new kind of job is a file in [`task`], one
//! in [`jobs`] and an arm in `Task`; a new model, method or optimiser is an entry in the [`catalog`].
//!
//! The papers' claims on bias, variance and rates are checked by [`theory`]. This is the only crate that reads files, writes files,
//! prints, or uses the clock.

pub use mcsa_catalogue as catalog;

pub mod archive;
pub mod claims;
mod exact;
pub mod experiment;
pub(crate) mod experiments;
pub mod figures;
pub mod grid;
mod ignored;
pub mod instance;
pub mod interrupt;
pub mod interval;
pub mod jobs;
pub mod look;
pub mod metric;
mod outline;
pub mod plan;
pub mod provenance;
pub mod published;
pub mod registry;
pub mod report;
pub mod results;
pub mod runner;
mod selector;
pub mod store;
pub mod tables;
pub mod task;
mod text;
pub mod theory;
pub mod verbs;
