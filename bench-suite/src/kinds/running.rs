//! The surroundings of a running job.

use std::path::Path;

use crate::data::Catalogue;
use crate::store::Store;

/// How a job is run, beyond what determines its result.
#[derive(Clone, Copy)]
pub struct Running<'a> {
    /// Where results go.
    pub store: &'a Store,
    /// Where data come from.
    pub catalogue: &'a Catalogue,
    /// When a checkpoint is due.
    pub checkpoint: Due,
    /// Where checkpoints go.
    pub place: Place<'a>,
    /// Told the work done since the last call, as counted by [`Task::work`](super::Task::work); returns whether to go on. A job
    /// that is not to go on writes a checkpoint and ends.
    pub progress: &'a (dyn Fn(u64) -> bool + Sync),
    /// Shown lambda when a fit ends.
    pub last: &'a (dyn Fn(&[f64]) + Sync),
    /// Told what went wrong without ending the job.
    pub warn: &'a (dyn Fn(&str) + Sync),
}

/// Where the checkpoints of a job go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// To the store, where its result will be.
    BesideResults,
    /// To a file of their own.
    File(&'a Path),
    /// Nowhere: a job that is interrupted is lost.
    Nowhere,
}

/// When a checkpoint is due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Due {
    /// After so many steps.
    Steps(u64),
    /// After so many seconds.
    Seconds(f64),
}

impl<'a> Running<'a> {
    /// Without interruption, checkpoints in between, or anybody to tell.
    pub fn new(store: &'a Store, catalogue: &'a Catalogue) -> Self {
        let checkpoint = Due::Seconds(f64::INFINITY);
        let (place, progress) = (Place::BesideResults, &|_| true);
        Self { store, catalogue, checkpoint, place, progress, last: &|_| (), warn: &|_| () }
    }
}
