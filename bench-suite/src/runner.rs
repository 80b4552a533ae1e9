//! Parallel execution of jobs.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcsa_core::Error;

use crate::forecast::{Forecast, span};
use crate::interrupt::Interrupt;
use crate::kinds::{Due, Ending, Running};
use crate::notice::tell;
use crate::store::{Store, check_folder};
use crate::task::{Job, Task};
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
    /// Estimates of the time that jobs take.
    pub forecast: &'a Forecast,
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

/// Times of the jobs that ended, for an estimate of the remaining time.
struct Clock<'f> {
    forecast: &'f Forecast,
    /// Seconds and number of ended jobs, by task and length.
    known: HashMap<(String, u64), (f64, usize)>,
    /// Number of jobs still to run, by task and length, with one example task.
    left: HashMap<(String, u64), (usize, Task)>,
    /// Total seconds of the jobs that ended, and their forecast.
    all: (f64, f64),
    shown: Instant,
}

impl<'f> Clock<'f> {
    fn of(jobs: &[&Job], forecast: &'f Forecast) -> Self {
        let mut left = HashMap::new();
        for job in jobs {
            left.entry(Self::key(job)).or_insert_with(|| (0, job.task.clone())).0 += 1;
        }
        Self { forecast, known: HashMap::new(), left, all: (0.0, 0.0), shown: now() }
    }

    fn key(job: &Job) -> (String, u64) {
        (format!("{} {}", job.experiment, job.task.title()), job.task.work())
    }

    /// Forecast of a task, in seconds or, if no task was timed, in units of work.
    fn foreseen(&self, task: &Task) -> f64 {
        self.forecast.seconds(task).unwrap_or(task.work() as f64)
    }

    fn ended(&mut self, job: &Job, seconds: f64) {
        let known = self.known.entry(Self::key(job)).or_default();
        (known.0, known.1) = (known.0 + seconds, known.1 + 1);
        self.all = (self.all.0 + seconds, self.all.1 + self.foreseen(&job.task));
        if let Some(left) = self.left.get_mut(&Self::key(job)) {
            left.0 = left.0.saturating_sub(1);
        }
    }

    /// Remaining processor seconds: the mean time of ended jobs of the same task, or else the forecast times the observed
    /// ratio of actual to forecast time.
    fn rest(&self) -> f64 {
        let longer = if self.all.1 > 0.0 { self.all.0 / self.all.1 } else { 1.0 };
        let each = |(key, (count, task)): (&(String, u64), &(usize, Task))| {
            let known = self.known.get(key).map(|(sum, count)| sum / *count as f64);
            *count as f64 * known.unwrap_or_else(|| longer * self.foreseen(task))
        };
        self.left.iter().map(each).sum()
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is told in seconds; no result depends on them")]
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
            (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(Clock::of(jobs, self.forecast)));
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
                self.store.begin(job);
                match job.run(&running) {
                    Ok(Ending::Stored) => {}
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

    /// Jobs that take twice the time predicted from their work, then one of known time.
    #[test]
    fn what_is_left_is_learned_from_what_ended() {
        let jobs =
            plan(&REGISTRY[0].experiment().unwrap(), PresetName::Quick, &Catalogue::new(None)).unwrap().jobs;
        let jobs: Vec<&Job> = jobs.iter().collect();
        let forecast = Forecast::default();
        let mut clock = Clock::of(&jobs, &forecast);
        let work = |jobs: &[&Job]| jobs.iter().map(|job| job.task.work() as f64).sum::<f64>();
        assert_eq!(clock.rest(), work(&jobs));
        clock.ended(jobs[0], 2.0 * jobs[0].task.work() as f64);
        assert!((clock.rest() / (2.0 * work(&jobs[1..])) - 1.0).abs() < 1e-12);
        for job in &jobs[1..] {
            clock.ended(job, 1.0);
        }
        assert_eq!(clock.rest(), 0.0);
    }
}
