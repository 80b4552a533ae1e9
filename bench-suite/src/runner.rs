//! Running jobs side by side.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcsa::Error;

use crate::data::Catalogue;
use crate::kinds::{Due, Running};
use crate::plan::Job;
use crate::store::Store;

/// Seconds between checkpoints of a job: what an interruption can cost.
const CHECKPOINT: f64 = 20.0;

/// Where jobs run and how many at once.
pub struct Runner<'a> {
    /// Where results go.
    pub store: &'a Store,
    /// Where data come from.
    pub catalogue: &'a Catalogue,
    /// How many at once; 0 is one per processor. Results do not depend on it.
    pub threads: usize,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Jobs that were run.
    pub jobs: usize,
    /// On how many threads.
    pub threads: usize,
    /// From start to end.
    pub seconds: f64,
    /// What went wrong, job by job; the others were run all the same.
    pub errors: Vec<Error>,
}

/// What has been learned of the time that jobs take, for an estimate of what is left.
struct Clock {
    /// Seconds and number of jobs that ended, by task.
    known: HashMap<String, (f64, usize)>,
    /// Jobs still to be run, by task: how many, and the work of each.
    left: HashMap<String, (usize, u64)>,
    /// Seconds and work of all that ended.
    all: (f64, u64),
    shown: Instant,
}

impl Clock {
    fn of(jobs: &[&Job]) -> Self {
        let mut left = HashMap::new();
        for job in jobs {
            left.entry(job.task.title()).or_insert((0, job.task.work())).0 += 1;
        }
        Self { known: HashMap::new(), left, all: (0.0, 0), shown: now() }
    }

    fn ended(&mut self, job: &Job, seconds: f64) {
        let known = self.known.entry(job.task.title()).or_default();
        (known.0, known.1) = (known.0 + seconds, known.1 + 1);
        self.all = (self.all.0 + seconds, self.all.1 + job.task.work());
        if let Some(left) = self.left.get_mut(&job.task.title()) {
            left.0 = left.0.saturating_sub(1);
        }
    }

    /// Processor seconds still to be spent: by the mean of the same task, or else by its work.
    fn rest(&self) -> f64 {
        let rate = self.all.0 / self.all.1.max(1) as f64;
        let each = |(title, (count, work)): (&String, &(usize, u64))| {
            let seconds = self.known.get(title).map_or(*work as f64 * rate, |(sum, n)| sum / *n as f64);
            *count as f64 * seconds
        };
        self.left.iter().map(each).sum()
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is told in seconds; no result depends on them")]
fn now() -> Instant {
    Instant::now()
}

impl Runner<'_> {
    /// Runs the jobs, in their order, and tells of progress on the standard error stream.
    ///
    /// # Errors
    /// If no threads can be started. What goes wrong in a job is in [`Ran::errors`].
    pub fn run(&self, jobs: &[&Job]) -> Result<Ran, Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let pool =
            pool.map_err(|error| Error::invalid(format!("cannot start {} threads: {error}", self.threads)))?;
        let threads = pool.current_num_threads();
        let start = now();
        let bar = bar(jobs.len());
        let (next, errors, clock) =
            (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(Clock::of(jobs)));
        let go_on = |_| true;
        let running = Running {
            store: self.store,
            catalogue: self.catalogue,
            checkpoint: Due::Seconds(CHECKPOINT),
            progress: &go_on,
            last: &|_| (),
        };
        pool.broadcast(|_| {
            while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
                let since = now();
                if let Err(error) = job.run(&running) {
                    errors.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(error);
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
        bar.finish_and_clear();
        let errors = errors.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(Ran { jobs: jobs.len(), threads, seconds: start.elapsed().as_secs_f64(), errors })
    }
}

#[expect(clippy::print_stderr, reason = "where there is no terminal, progress is a line now and then")]
fn tell(message: &str) {
    eprintln!("{message}");
}

fn bar(jobs: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(jobs as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A time in words.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
