//! Estimates of the running time of jobs from the times of other jobs.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;

use crate::interrupt::Interrupt;
use crate::kinds::Running;
use crate::notice::tell;
use crate::store::{Outcome, Store};
use crate::task::{Job, Task};
use mcsa_data::Catalogue;

/// Observed cost of jobs: seconds per unit of work, and seconds per recorded row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Cost {
    seconds: f64,
    work: f64,
    measuring: f64,
    rows: f64,
}

impl Cost {
    fn add(&mut self, outcome: &Outcome) {
        self.seconds += outcome.ended.seconds;
        self.work += outcome.job.task.work() as f64;
        self.measuring += outcome.ended.measuring;
        self.rows += outcome.rows.len() as f64;
    }

    fn of(&self, task: &Task) -> f64 {
        let per = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
        per(self.seconds, self.work) * task.work() as f64
            + per(self.measuring, self.rows) * task.recorded().len() as f64
    }
}

/// Cost estimates of tasks.
///
/// Tasks that differ in length alone share one estimate: running time is assumed proportional to [`Task::work`], time for
/// measurements to the number of rows. A task that has not been timed is estimated by the mean of its target's tasks, or else
/// of all tasks.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    tasks: HashMap<String, Cost>,
    targets: HashMap<String, Cost>,
    all: Cost,
}

/// Estimated processor time of some jobs, and the number of timed tasks behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Seconds of one processor.
    pub seconds: f64,
    /// Number of jobs whose task has been timed.
    pub known: usize,
    /// Number of jobs that are estimated from other tasks.
    pub guessed: usize,
}

/// Key of all tasks with the same cost per unit of work.
fn key(task: &Task) -> String {
    match task {
        Task::Fit(fit) if fit.auxiliary > 0 => format!("{}, {} sets beside", task.title(), fit.auxiliary),
        _ => task.title(),
    }
}

impl Forecast {
    /// Estimates from results that the store holds for these jobs and this code. Fits that ended early and unusable files are
    /// ignored.
    pub fn of_stored(store: &Store, jobs: &[Job]) -> Self {
        let mut forecast = Self::default();
        let found: Vec<Outcome> = jobs.par_iter().filter_map(|job| store.fresh(job).ok()?).collect();
        found.iter().for_each(|outcome| forecast.learn(outcome));
        forecast
    }

    /// Adds a result to the estimates.
    pub fn learn(&mut self, outcome: &Outcome) {
        if outcome.ended.failure.is_none() {
            let task = &outcome.job.task;
            self.tasks.entry(key(task)).or_default().add(outcome);
            self.targets.entry(task.target().title()).or_default().add(outcome);
            self.all.add(outcome);
        }
    }

    /// Returns true if the task has been timed.
    pub fn knows(&self, task: &Task) -> bool {
        self.tasks.contains_key(&key(task))
    }

    /// Estimated seconds of one processor for a task; `None` if no task was timed.
    pub fn seconds(&self, task: &Task) -> Option<f64> {
        let found = self.tasks.get(&key(task)).or_else(|| self.targets.get(&task.target().title()));
        let cost = found.unwrap_or(&self.all);
        (cost.work > 0.0).then(|| cost.of(task))
    }

    /// Estimate for all of these jobs; `None` if no task was timed.
    pub fn of(&self, jobs: &[&Job]) -> Option<Estimate> {
        let mut estimate = Estimate::default();
        for job in jobs {
            estimate.seconds += self.seconds(&job.task)?;
            match self.knows(&job.task) {
                true => estimate.known += 1,
                false => estimate.guessed += 1,
            }
        }
        Some(estimate)
    }

    /// Runs a short version of every task that has not been timed, on all processors. Their results are kept in a folder, so
    /// that the next run need not time them again. Returns the number of tasks that were timed; errors are ignored here,
    /// because the job itself reports them later. Stops early if the program is asked to end.
    pub fn calibrate(
        &mut self,
        jobs: &[&Job],
        catalogue: &Catalogue,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> usize {
        let mut firsts: HashMap<String, &Job> = HashMap::new();
        for job in jobs.iter().filter(|job| !self.knows(&job.task)) {
            firsts.entry(key(&job.task)).or_insert(job);
        }
        tell(&format!("timing a piece of each of {} tasks that have no result yet", firsts.len()));
        let store = Store::new(folder);
        let pieces: Vec<&Job> = firsts.into_values().collect();
        let timed = pieces.par_iter().filter_map(|job| piece(job, &store, catalogue, interrupt));
        let found: Vec<Outcome> = timed.collect();
        found.iter().for_each(|outcome| self.learn(outcome));
        found.len()
    }
}

/// Minimal seconds of a timed short version, so that the time to start a job is a small part.
const PIECE: f64 = 0.2;

/// Runs a shortened job, eight times longer at each attempt until it takes [`PIECE`] seconds or has full length.
fn piece(job: &Job, store: &Store, catalogue: &Catalogue, interrupt: &Interrupt) -> Option<Outcome> {
    let goes_on = || interrupt.code().is_none();
    let running = Running { progress: &|_| goes_on(), ..Running::new(store, catalogue) };
    let mut length = 1;
    while goes_on() {
        let mut task = job.task.of_length(length.min(job.task.length()));
        let is_whole = task == job.task;
        if let Task::Fit(fit) = &mut task {
            // Two rows are enough to measure the cost of a row.
            fit.trace.points = 1;
        }
        let short = Job { task, ..job.clone() };
        if !store.holds(&short) {
            short.run(&running).ok()?;
        }
        let outcome = store.fresh(&short).ok()??;
        if is_whole || outcome.ended.seconds >= PIECE || outcome.ended.failure.is_some() {
            return Some(outcome);
        }
        length *= 8;
    }
    None
}

/// A duration in words.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

impl Estimate {
    /// The estimate in words, for a number of threads.
    pub fn told(&self, threads: usize) -> String {
        let Self { seconds, known, guessed } = *self;
        let time = span(seconds / threads.max(1) as f64);
        let basis = match (known, guessed) {
            (_, 0) => "from timed jobs of the same task and their length".to_owned(),
            (0, _) => "from timed jobs of other tasks alone, so very roughly".to_owned(),
            _ => format!(
                "{known} jobs from timed ones of the same task and their length, {guessed} from other tasks"
            ),
        };
        format!("about {time} on {threads} threads ({basis}; if the machine does nothing else)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;
    use crate::registry::REGISTRY;
    use crate::results::Results;

    /// Synthetic results of an experiment that cost `price` of each task: seconds per unit of work, and per row.
    fn results(id: &str, price: fn(&Task) -> (f64, f64)) -> Vec<Outcome> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains(id)).unwrap();
        let mut evidence =
            Results::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| Vec::new());
        for outcome in &mut evidence.outcomes {
            let (unit, row) = price(&outcome.job.task);
            outcome.ended.seconds = unit * outcome.job.task.work() as f64;
            outcome.ended.measuring = row * outcome.rows.len() as f64;
        }
        evidence.outcomes
    }

    fn learned<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> Forecast {
        let mut forecast = Forecast::default();
        outcomes.into_iter().for_each(|outcome| forecast.learn(outcome));
        forecast
    }

    #[test]
    fn a_known_task_costs_by_its_length() {
        let price = |task: &Task| if task.method().kind() == "pmcsa" { (1e-3, 0.5) } else { (2e-3, 0.25) };
        let outcomes = results("k003-fig2-logistic", price);
        let forecast = learned(&outcomes);
        for outcome in &outcomes {
            let (unit, row) = price(&outcome.job.task);
            let long = outcome.job.task.of_length(40_000);
            let expected = unit * long.work() as f64 + row * long.recorded().len() as f64;
            assert!((forecast.seconds(&long).unwrap() / expected - 1.0).abs() < 1e-12);
        }
        let jobs: Vec<&Job> = outcomes.iter().map(|outcome| &outcome.job).collect();
        let estimate = forecast.of(&jobs).unwrap();
        let spent: f64 = outcomes.iter().map(|outcome| outcome.ended.seconds + outcome.ended.measuring).sum();
        assert!((estimate.seconds / spent - 1.0).abs() < 1e-12);
        assert_eq!((estimate.known, estimate.guessed), (jobs.len(), 0));
    }

    #[test]
    fn for_an_unknown_task_its_target_stands_and_else_all() {
        let outcomes = results("k003-fig2-logistic", |task| {
            if task.target().label() == "pima" { (1e-3, 0.0) } else { (4e-3, 0.0) }
        });
        let kind = |outcome: &&Outcome| outcome.job.task.method().kind() == "pmcsa";
        let forecast = learned(outcomes.iter().filter(kind));
        let other = outcomes.iter().find(|outcome| outcome.job.task.method().kind() == "snis").unwrap();
        assert!(!forecast.knows(&other.job.task));
        let expected = 1e-3 * other.job.task.work() as f64;
        assert!((forecast.seconds(&other.job.task).unwrap() / expected - 1.0).abs() < 1e-12, "that of pima");
        let pima = |outcome: &&Outcome| kind(outcome) && outcome.job.task.target().label() == "pima";
        let forecast = learned(outcomes.iter().filter(pima));
        let german =
            outcomes.iter().find(|o| o.job.task.target().label() == "german_credit_numeric").unwrap();
        let expected = 1e-3 * german.job.task.work() as f64;
        assert!((forecast.seconds(&german.job.task).unwrap() / expected - 1.0).abs() < 1e-12);
        let estimate = forecast.of(&[&german.job]).unwrap();
        assert_eq!((estimate.known, estimate.guessed), (0, 1));
        assert!(estimate.told(2).contains("very roughly"), "{}", estimate.told(2));
    }

    #[test]
    fn of_nothing_nothing_is_said() {
        let mut outcomes = results("k003-fig2-logistic", |_| (1.0, 1.0));
        assert_eq!(Forecast::default().of(&[&outcomes[0].job]), None);
        outcomes.iter_mut().for_each(|outcome| outcome.ended.failure = Some("step 3".into()));
        assert_eq!(
            learned(&outcomes).seconds(&outcomes[0].job.task),
            None,
            "a fit that ended early is no measure"
        );
    }

    #[test]
    fn a_piece_of_each_task_times_it() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-tab-cost")).unwrap();
        let catalogue = Catalogue::new(None);
        let experiment = entry.experiment().unwrap();
        let jobs = crate::plan::plan(&experiment, PresetName::Paper, &catalogue).unwrap().jobs;
        let jobs: Vec<&Job> = jobs.iter().collect();
        let folder = std::env::temp_dir().join(format!("mcsa-forecast-{}", std::process::id()));
        let mut forecast = Forecast::default();
        let asked = Interrupt::default();
        asked.ask();
        assert_eq!(forecast.calibrate(&jobs, &catalogue, &folder, &asked), 0, "asked to end");
        let timed = forecast.calibrate(&jobs, &catalogue, &folder, &Interrupt::default());
        assert_eq!(timed, 11, "each method of the table once");
        let estimate = forecast.of(&jobs).unwrap();
        assert!(estimate.seconds > 0.0 && estimate.guessed == 0, "{estimate:?}");
        // The next run finds these results: its estimate of the seconds is bit-identical.
        let mut next = Forecast::default();
        assert_eq!(next.calibrate(&jobs, &catalogue, &folder, &Interrupt::default()), timed);
        let relative = next.of(&jobs).unwrap().seconds / estimate.seconds - 1.0;
        assert!(relative.abs() < 1e-12, "{relative}");
        let _ = std::fs::remove_dir_all(&folder);
    }
}
