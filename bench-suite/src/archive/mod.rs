//! Archive of results: one small compressed file for each experiment, from which the report is drawn without running anything.
//!
//! An archived result carries the fingerprint of the code that computed it, its date and its vector unit. Numbers keep six
//! significant digits and seconds three; whole numbers are exact. Results are found by the name of their job, so that runs of
//! any presets and any number of sittings add up, and a job is never there twice.

mod file;
mod kept;
mod shelf;

pub use kept::{Kept, Origin};
pub use shelf::{Added, Archive};
