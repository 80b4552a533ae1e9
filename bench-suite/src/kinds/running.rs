//! Environment of a running job.

use std::path::Path;

use crate::store::Store;
use mcsa_data::Catalogue;

/// Environment in which a job runs; it does not affect the result.
#[derive(Clone, Copy)]
pub struct Running<'a> {
    /// Store for results.
    pub store: &'a Store,
    /// Source of data sets.
    pub catalogue: &'a Catalogue,
    /// Interval between checkpoints.
    pub checkpoint: Due,
    /// Destination of checkpoints.
    pub place: Place<'a>,
    /// Called with the work done since the last call, in units of [`Task::work`](super::Task::work); returns true if the job
    /// is to continue. Otherwise the job writes a checkpoint and ends.
    pub progress: &'a (dyn Fn(u64) -> bool + Sync),
    /// Called with lambda when a fit ends.
    pub last: &'a (dyn Fn(&[f64]) + Sync),
    /// Called with warnings, which do not end the job.
    pub warn: &'a (dyn Fn(&str) + Sync),
}

/// Destination of the checkpoints of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// The store, next to the result.
    BesideResults,
    /// A separate file.
    File(&'a Path),
    /// None: an interrupted job is lost.
    Nowhere,
}

/// Interval between checkpoints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Due {
    /// A number of steps.
    Steps(u64),
    /// A number of seconds.
    Seconds(f64),
}

impl<'a> Running<'a> {
    /// Environment without interruption, intermediate checkpoints or callbacks.
    pub fn new(store: &'a Store, catalogue: &'a Catalogue) -> Self {
        let checkpoint = Due::Seconds(f64::INFINITY);
        let (place, progress) = (Place::BesideResults, &|_| true);
        Self { store, catalogue, checkpoint, place, progress, last: &|_| (), warn: &|_| () }
    }
}
