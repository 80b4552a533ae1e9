//! Experiments of the papers: definition, execution, figures, and checks of published claims.
//!
//! An experiment is data. A file of `papers/` ([`experiment`], with lists that expand to grids: [`grid`]) becomes a
//! [`plan`] of jobs, each a [`task`] with a seed. The [`catalog`] maps the names in a task to types, [`jobs`] runs it, and the
//! [`runner`] runs many jobs in parallel. Rows of [`metric`]s go to the [`store`] and are read back as [`results`], from which alone
//! [`figures`], [`claims`] and the [`report`] are made. The report also shows the numbers that were [`published`].
//!
//! The name of a job is a hash of everything that determines its result, data included, so that a job with a result is not
//! run again and a changed setting makes a new file. A result carries the fingerprint of the code that computed it, in its
//! file name too. Results of other code are stale: they are computed again on request, shown as stale until then, and never
//! mixed with fresh ones. The fingerprint is a hash of the sources of [`jobs`] and of the crates below it, of the locked
//! versions of their dependencies, and of the settings of the build (`bench-suite/fingerprint.rs`). An unusable file affects its own job only, which is run
//! again.
//!
//! # Adding an experiment
//!
//! 1. `papers/<paper>/<figure>.toml`: targets, methods, and the amount of computation in each preset. Unknown keys are refused with
//!    their name. A setting that is a list expands to each of its values; `on` lists the targets that a method is run on.
//! 2. In the same file, its [`claims`]: comparisons of methods need no code.
//! 3. A line in `experiments/mod.rs` and, for a published table, its cells in `published/cells.csv`.
//! 4. If the standard [`figures`] and [`tables`] do not suffice, tables `[[figure]]` and `[[table]]` in the file; for what these
//!    cannot express, in `experiments/<paper>.rs` functions from
//!    [`results::Results`] to [`figures::FigureFile`]s and [`tables::Table`]s, and checks of claims that are no comparisons, tested
//!    on synthetic rows for which they hold, fail and abstain. Colours come from [`look`].
//!
//! A file of the user needs the first two steps alone: `cargo xtask figures my_experiment.toml`. `docs/experiment-file.md` lists
//! all keys.
//!
//! An experiment without jobs, because it is a formula or measured when drawn, is an exhibit: its file has `[exhibit]` in
//! place of presets and jobs, and the other steps do not change.
//!
//! `cargo xtask figures <id>` runs the experiment; resuming, table, CSV, report and summary need no further code. A new kind
//! of job, which is neither a fit nor a variance, is a file in [`task`], one in [`jobs`] and an arm in `Task`; a new model, method or
//! optimiser is an entry in the [`catalog`].
//!
//! The papers' claims on bias, variance and rates are checked by [`theory`].
//!
//! This is the only crate that reads files, writes files, prints, or uses the clock.

pub use mcsa_catalogue as catalog;

pub mod archive;
pub mod claims;
mod exact;
pub mod experiment;
pub(crate) mod experiments;
pub mod figures;
pub mod grid;
pub mod instance;
pub mod interrupt;
pub mod interval;
pub mod jobs;
pub mod look;
pub mod metric;
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
