//! Parallel execution of jobs.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcsa_core::Error;

use crate::interrupt::Interrupt;
use crate::jobs::{Due, Ending, Running};
use crate::notice::tell;
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

/// Estimate of the remaining time: seconds per unit of [`Task::work`](crate::task::Task::work), of ended jobs of the same task, or
/// else of all.
struct Clock {
    tasks: HashMap<String, Progress>,
    shown: Instant,
}

/// Progress of the jobs of a task.
#[derive(Default)]
struct Progress {
    /// Work of jobs that have not ended.
    left: f64,
    /// Seconds per unit of work of each job that has ended.
    rates: Vec<f64>,
}

/// Median, which a single job during which the clock jumped does not move; `None` of nothing.
fn median(mut rates: Vec<f64>) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len().saturating_sub(1) / 2).copied()
}

impl Clock {
    fn of(jobs: &[&Job]) -> Self {
        let mut tasks = HashMap::<String, Progress>::new();
        jobs.iter().for_each(|job| tasks.entry(key(job)).or_default().left += work(job));
        Self { tasks, shown: now() }
    }

    fn ended(&mut self, job: &Job, seconds: f64) {
        if let Some(task) = self.tasks.get_mut(&key(job)) {
            task.left = (task.left - work(job)).max(0.0);
            task.rates.push(seconds / work(job));
        }
    }

    /// Remaining seconds of one processor.
    fn rest(&self) -> f64 {
        let all = median(self.tasks.values().flat_map(|task| task.rates.iter().copied()).collect());
        let rest = |task: &Progress| task.left * median(task.rates.clone()).or(all).unwrap_or(0.0);
        self.tasks.values().map(rest).sum()
    }
}

fn key(job: &Job) -> String {
    format!("{} {}", job.experiment, job.task.title())
}

fn work(job: &Job) -> f64 {
    job.task.work().max(1) as f64
}

/// A duration in words.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is shown in seconds; no result depends on them")]
fn now() -> Instant {
    Instant::now()
}

impl Runner<'_> {
    /// Runs the jobs in order and reports progress on the standard error stream. If the program is asked to end, running jobs
    /// write a checkpoint and end, and no further job begins. No further job begins either if a job fails and the folder of its
    /// result cannot be written, because later results would be lost too.
    ///
    /// # Errors
    /// If no threads can be started. Errors of jobs are in [`Ran::errors`].
    pub fn run(&self, jobs: &[&Job]) -> Result<Ran, Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let pool =
            pool.map_err(|error| Error::invalid(format!("cannot start {} threads: {error}", self.threads)))?;
        let threads = pool.current_num_threads();
        let start = now();
        let bar = bar(jobs.len());
        let (next, errors, clock) =
            (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(Clock::of(jobs)));
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
                let since = now();
                match job.run(&running) {
                    Ok(Ending::Stored) => self.journal.ended(job),
                    Ok(Ending::Interrupted) => break,
                    Err(error) => {
                        if check_folder(&self.store.folder(&job.experiment)).is_err() {
                            is_lost.store(true, Relaxed);
                        }
                        errors.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(error)
                    }
                }
                let mut clock = clock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                clock.ended(job, since.elapsed().as_secs_f64());
                let left = span(clock.rest() / threads as f64);
                bar.inc(1);
                let message = format!(
                    "{}, {} of {} jobs, about {left} left",
                    job.experiment,
                    bar.position(),
                    jobs.len()
                );
                if bar.is_hidden() && clock.shown.elapsed() > Duration::from_secs(30) {
                    clock.shown = now();
                    tell(&message);
                }
                bar.set_message(message);
            }
        });
        let ended = bar.position() as usize;
        bar.finish_and_clear();
        let errors = errors.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(Ran { jobs: ended, threads, seconds: start.elapsed().as_secs_f64(), errors })
    }
}

fn bar(jobs: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(jobs as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;
    use crate::plan::plan;
    use crate::registry::REGISTRY;

    /// Jobs of one task take twice as long for each unit of work as the first job of all.
    #[test]
    fn the_rest_is_estimated_from_jobs_that_ended() {
        let jobs =
            plan(&REGISTRY[0].experiment().unwrap(), PresetName::Quick, &Catalogue::new(None)).unwrap().jobs;
        let jobs: Vec<&Job> = jobs.iter().collect();
        let mut clock = Clock::of(&jobs);
        assert_eq!(clock.rest(), 0.0, "nothing is known");
        clock.ended(jobs[0], 3.0 * work(jobs[0]));
        let all: f64 = jobs[1..].iter().map(|job| work(job)).sum();
        assert!((clock.rest() / (3.0 * all) - 1.0).abs() < 1e-12);
        let other = jobs.iter().position(|job| key(job) != key(jobs[0])).unwrap();
        clock.ended(jobs[other], 1.5 * work(jobs[other]));
        assert!(clock.rest() < 3.0 * (all - work(jobs[other])));
        for (k, job) in jobs.iter().enumerate().filter(|(k, _)| *k != 0 && *k != other) {
            clock.ended(job, k as f64);
        }
        assert!(clock.rest().abs() < 1e-6);
        // The clock jumps by a thousand years during one of three jobs.
        let mut clock = Clock::of(&jobs);
        let task: Vec<&&Job> = jobs.iter().filter(|job| key(job) == key(jobs[0])).take(3).collect();
        assert!(task.len() > 1);
        for (job, seconds) in task.iter().zip([1.0, 3e10, 1.0]) {
            clock.ended(job, seconds);
        }
        assert!(clock.rest() < 1e3 * all);
    }
}
