//! Times of short versions of tasks that have no result yet.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::forecast::{Cost, Forecast, key};
use crate::interrupt::Interrupt;
use crate::kinds::{Place, Running};
use crate::notice::tell;
use crate::store::{CODE, Outcome, Store, write_whole};
use crate::task::{Job, Task};
use mcsa_data::Catalogue;

/// Short runs of tasks, whose times predict those of long ones.
#[derive(Clone)]
pub(crate) struct Calibration {
    /// Source of data sets.
    pub(crate) catalogue: Catalogue,
    /// Folder for the times, so that none is measured again.
    pub(crate) folder: PathBuf,
    /// Request to end the program.
    pub(crate) interrupt: Interrupt,
    /// Time after which no task is timed any more.
    pub(crate) limit: Duration,
}

/// Minimal seconds of a timed short version, so that the time to start a job is a small part.
const PIECE: f64 = 0.2;

/// Time between two messages on the progress.
const NEWS: Duration = Duration::from_secs(5);

/// Time without a result after which another thread begins, and the most such threads.
const PATIENCE: Duration = Duration::from_secs(2);
const OTHERS: usize = 16;

/// Time after the limit in which interrupted pieces are still awaited: they are measures too.
const GRACE: Duration = Duration::from_secs(5);

#[expect(
    clippy::disallowed_methods,
    reason = "an estimate of time is measured in time; no result depends on it"
)]
fn now() -> Instant {
    Instant::now()
}

impl Calibration {
    /// Adds to a forecast the times of tasks that it does not know: those in the folder, and those of short versions, run on
    /// all processors. Returns the number of tasks that were added. Errors are ignored here, because the job itself reports
    /// them later. Stops early if the program is asked to end.
    pub(crate) fn add_to(&self, forecast: &mut Forecast, jobs: &[&Job]) -> usize {
        let mut firsts: HashMap<String, &Job> = HashMap::new();
        for job in jobs.iter().filter(|job| !forecast.knows(&job.task)) {
            firsts.entry(key(&job.task)).or_insert(job);
        }
        let (mut found, mut untimed) = (Vec::new(), Vec::new());
        for (key, job) in firsts {
            match self.kept(&key) {
                Some(cost) => found.push((job, cost)),
                None => untimed.push((key, job)),
            }
        }
        // In one order, in which tasks of one target are not next to each other.
        untimed.sort_by_key(|(key, _)| digest(key));
        if !untimed.is_empty() && !self.limit.is_zero() {
            found.extend(self.time(&untimed));
        }
        // The sums of a forecast must not depend on the order in which tasks were timed.
        found.sort_by_key(|(job, _)| key(&job.task));
        found.iter().for_each(|(job, cost)| forecast.add(&job.task, cost));
        found.len()
    }

    /// Times tasks on all processors. A thread that is in the middle of a step when the time is over is left to end by itself.
    fn time<'j>(&self, untimed: &[(String, &'j Job)]) -> Vec<(&'j Job, Cost)> {
        let (start, count) = (now(), untimed.len());
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count);
        tell(&format!(
            "timing a piece of each of {count} tasks that have no result yet, at most {} s",
            self.limit.as_secs()
        ));
        let owned = |(key, job): &(String, &Job)| (key.clone(), (*job).clone());
        let work: Arc<Vec<(String, Job)>> = Arc::new(untimed.iter().map(owned).collect());
        let (next, (sender, timed)) = (Arc::new(AtomicUsize::new(0)), channel());
        let begin = || {
            let (own, work, next, sender) =
                (self.clone(), Arc::clone(&work), Arc::clone(&next), sender.clone());
            std::thread::spawn(move || {
                loop {
                    let k = next.fetch_add(1, Relaxed);
                    let Some((key, job)) = work.get(k) else { break };
                    let Some(left) = own.limit.checked_sub(start.elapsed()) else { break };
                    let share = left.as_secs_f64() * threads as f64 / (work.len() - k) as f64;
                    let cost = own.piece(job, now() + Duration::from_secs_f64(share.max(PIECE)).min(left));
                    if let Some(cost) = &cost {
                        own.keep(key, cost);
                    }
                    // Nobody listens any more when the time is over.
                    let _ = sender.send((k, cost));
                }
            });
        };
        (0..threads).for_each(|_| begin());
        let (mut found, mut done, mut news) = (Vec::new(), 0, NEWS);
        let (mut last, mut others) = (now(), 0);
        while done < count && self.interrupt.code().is_none() && start.elapsed() < self.limit + GRACE {
            if let Ok((k, cost)) = timed.recv_timeout(Duration::from_millis(200)) {
                (done, last) = (done + 1, now());
                found.extend(cost.map(|cost| (untimed[k].1, cost)));
            } else if last.elapsed() > PATIENCE && others < OTHERS {
                // All threads are in long steps, which cannot be interrupted.
                (others, last) = (others + 1, now());
                begin();
            }
            if start.elapsed() > news {
                news = start.elapsed() + NEWS;
                tell(&format!("{done} of {count} tasks timed after {:.0} s", start.elapsed().as_secs_f64()));
            }
        }
        if found.len() < count {
            tell(&format!("{} tasks were not timed: they are estimated from others", count - found.len()));
        }
        found
    }

    /// Runs a shortened job, eight times longer at each attempt until it takes [`PIECE`] seconds or has full length. At the end
    /// of its time, what was done until then is the measure.
    fn piece(&self, job: &Job, end: Instant) -> Option<Cost> {
        let store = Store::new(&self.folder);
        let (mut length, mut best): (u64, Option<Cost>) = (1, None);
        while self.interrupt.code().is_none() && (best.is_none() || now() < end) {
            let mut task = job.task.of_length(length.min(job.task.length()));
            let is_whole = task == job.task;
            if let Task::Fit(fit) = &mut task {
                // Two rows are enough to measure the cost of a row.
                fit.trace.points = 1;
            }
            let short = Job { task, ..job.clone() };
            let (start, made) = (now(), Mutex::new((0.0, 0.0)));
            let progress = |work| {
                if work > 0 {
                    // What follows the last step, the health of the fit, is no part of the time of steps.
                    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                    *made = (made.0 + work as f64, start.elapsed().as_secs_f64());
                }
                self.interrupt.code().is_none() && now() < end
            };
            let place = Place::Nowhere;
            let running = Running { place, progress: &progress, ..Running::new(&store, &self.catalogue) };
            match short.rows(&running) {
                Ok(Some((rows, ended))) => {
                    let is_long = is_whole || ended.seconds >= PIECE || ended.failure.is_some();
                    let failed = ended.failure.is_some();
                    best = (!failed)
                        .then(|| {
                            Cost::observed(&Outcome {
                                job: short,
                                rows,
                                ended,
                                unit: None,
                                code: CODE.to_owned(),
                            })
                        })
                        .or(best);
                    if is_long {
                        break;
                    }
                }
                Ok(None) => {
                    let (work, seconds) = made.into_inner().unwrap_or_else(PoisonError::into_inner);
                    return best.or_else(|| (work > 0.0).then(|| Cost { seconds, work, ..Cost::default() }));
                }
                Err(_) => return best,
            }
            length *= 8;
        }
        best
    }

    fn path(&self, key: &str) -> std::path::PathBuf {
        self.folder.join(format!("{}.{CODE}.json", digest(key)))
    }

    fn kept(&self, key: &str) -> Option<Cost> {
        let (name, cost): (String, Cost) =
            serde_json::from_slice(&std::fs::read(self.path(key)).ok()?).ok()?;
        (name == key).then_some(cost)
    }

    fn keep(&self, key: &str, cost: &Cost) {
        // A time that cannot be kept is measured again.
        if let Ok(text) = serde_json::to_string(&(key, cost)) {
            let _ = write_whole(&self.path(key), text.as_bytes());
        }
    }
}

fn digest(key: &str) -> String {
    Sha256::digest(key.as_bytes()).iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;
    use crate::registry::REGISTRY;

    #[test]
    fn a_piece_of_each_task_times_it() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-tab-cost")).unwrap();
        let catalogue = Catalogue::new(None);
        let experiment = entry.experiment().unwrap();
        let jobs = crate::plan::plan(&experiment, PresetName::Paper, &catalogue).unwrap().jobs;
        let jobs: Vec<&Job> = jobs.iter().collect();
        let folder = std::env::temp_dir().join(format!("mcsa-forecast-{}", std::process::id()));
        let timed = |forecast: &mut Forecast, interrupt: &Interrupt, seconds| {
            let (catalogue, folder, interrupt) = (catalogue.clone(), folder.clone(), interrupt.clone());
            let limit = Duration::from_secs(seconds);
            Calibration { catalogue, folder, interrupt, limit }.add_to(forecast, &jobs)
        };
        let mut forecast = Forecast::default();
        let (asked, open) = (Interrupt::default(), Interrupt::default());
        asked.ask();
        assert_eq!(timed(&mut forecast, &asked, 100), 0, "asked to end");
        assert_eq!(timed(&mut forecast, &open, 0), 0, "no time");
        assert_eq!(forecast.of(&jobs), None);
        let count = timed(&mut forecast, &open, 100);
        assert_eq!(count, 11, "each method of the table once");
        let estimate = forecast.of(&jobs).unwrap();
        assert!(estimate.seconds > 0.0 && estimate.guessed == 0, "{estimate:?}");
        // The next run finds these times, and needs none.
        let mut next = Forecast::default();
        assert_eq!(timed(&mut next, &open, 0), count);
        assert_eq!(next.of(&jobs).unwrap().seconds.to_bits(), estimate.seconds.to_bits());
        let _ = std::fs::remove_dir_all(&folder);
    }
}
