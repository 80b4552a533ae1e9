//! Parallel execution of jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcsa_core::Error;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::interrupt::{Interrupt, tell};
use crate::jobs::{Due, Ending, Running, now};
use crate::provenance::Journal;
use crate::store::{Store, check_folder};
use crate::task::Job;
use mcsa_data::Catalogue;

/// Seconds between checkpoints of a job: the most that a kill can lose.
pub(crate) const CHECKPOINT: f64 = 20.0;

/// Executor of jobs on several threads.
pub struct Runner<'a> {
    /// Store for results.
    pub store: &'a Store,
    /// Source of data sets.
    pub catalogue: &'a Catalogue,
    /// Number of threads; 0 means one per processor. Results do not depend on it.
    pub threads: usize,
    /// Manifests, to which ended jobs are added.
    pub journal: &'a Journal,
    /// Request to end the program.
    pub interrupt: &'a Interrupt,
}

/// Summary of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Number of jobs that were run to their end; fewer than requested if the run was interrupted.
    pub jobs: usize,
    /// Number of threads.
    pub threads: usize,
    /// Seconds from start to end.
    pub seconds: f64,
    /// Errors of failed jobs; the other jobs were run nevertheless.
    pub errors: Vec<Error>,
}

/// A duration in words.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// That many threads; 0 means one per processor.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, Error> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::invalid(format!("cannot start {threads} threads: {error}")))
}

impl Runner<'_> {
    /// Runs the jobs in order and reports progress on the standard error stream. If the program is asked to end, running jobs
    /// write a checkpoint and end, and no further job begins. No further job begins either if a job fails and the folder of its
    /// result cannot be written, because later results would be lost too.
    ///
    /// # Errors
    /// If no threads can be started. Errors of jobs are in [`Ran::errors`].
    pub fn run(&self, jobs: &[&Job]) -> Result<Ran, Error> {
        let pool = pool(self.threads)?;
        let threads = pool.current_num_threads();
        let start = now();
        let work = |job: &Job| job.task.work().max(1);
        let bar = bar(jobs.iter().map(|job| work(job)).fold(0, u64::saturating_add));
        let (next, ended, errors) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let shown = Mutex::new(start);
        let goes_on = || self.interrupt.code().is_none();
        let is_lost = AtomicBool::new(false);
        let running = Running {
            checkpoint: Due::Seconds(CHECKPOINT),
            progress: &|_| goes_on(),
            warn: &|warning| bar.suspend(|| tell(warning)),
            ..Running::new(self.store, self.catalogue)
        };
        pool.broadcast(|_| {
            while goes_on()
                && !is_lost.load(Relaxed)
                && let Some(job) = jobs.get(next.fetch_add(1, Relaxed))
            {
                // A panic is a defect of the job, which no other job has to suffer for.
                let run = catch_unwind(AssertUnwindSafe(|| job.run(&running)));
                let panicked = |_| Err(Error::invalid(format!("{}: the job panicked", job.task.title())));
                match run.unwrap_or_else(panicked) {
                    Ok(Ending::Stored) => self.journal.ended(job),
                    Ok(Ending::Interrupted) => break,
                    Err(error) => {
                        if check_folder(&self.store.folder(&job.experiment)).is_err() {
                            is_lost.store(true, Relaxed);
                        }
                        errors.lock().unwrap_or_else(PoisonError::into_inner).push(error)
                    }
                }
                bar.inc(work(job));
                let (count, done) = (ended.fetch_add(1, Relaxed) + 1, bar.position().max(1));
                let rest = bar.length().unwrap_or(done).saturating_sub(done) as f64 / done as f64;
                let left = span(rest * start.elapsed().as_secs_f64());
                let message =
                    format!("{}, {count} of {} jobs, about {left} left", job.experiment, jobs.len());
                let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                if bar.is_hidden() && shown.elapsed() > Duration::from_secs(30) {
                    *shown = now();
                    tell(&message);
                }
                bar.set_message(message);
            }
        });
        bar.finish_and_clear();
        let errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Ran { jobs: ended.into_inner(), threads, seconds: start.elapsed().as_secs_f64(), errors })
    }
}

/// Bar of as much work.
fn bar(work: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(work), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
