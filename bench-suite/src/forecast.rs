//! Estimates of the running time of jobs from the times of other jobs.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::store::{Ended, Outcome, Store};
use crate::task::{Job, Task};

/// Observed cost of jobs: seconds per unit of work, per recorded row, and for the health of a fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) work: f64,
    pub(crate) measuring: f64,
    pub(crate) rows: f64,
    pub(crate) judging: f64,
    pub(crate) jobs: f64,
}

impl Cost {
    pub(crate) fn observed(outcome: &Outcome) -> Self {
        let Ended { seconds, measuring, judging, .. } = outcome.ended;
        let (work, rows) = (outcome.job.task.work() as f64, outcome.rows.len() as f64);
        Self { seconds, work, measuring: measuring - judging, rows, judging, jobs: 1.0 }
    }

    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.work += other.work;
        self.measuring += other.measuring;
        self.rows += other.rows;
        self.judging += other.judging;
        self.jobs += other.jobs;
    }

    fn of(&self, task: &Task) -> f64 {
        let per = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
        per(self.seconds, self.work) * task.work() as f64
            + per(self.measuring, self.rows) * task.recorded().len() as f64
            + per(self.judging, self.jobs)
    }
}

/// Cost estimates of tasks.
///
/// Tasks that differ in length alone share one estimate: running time is assumed proportional to [`Task::work`], time for
/// measurements to the number of rows, that for the health of a fit is the same at any length. A task that has not been timed is estimated by the mean of its target's tasks, or else
/// of all tasks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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
pub(crate) fn key(task: &Task) -> String {
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
            self.add(&outcome.job.task, &Cost::observed(outcome));
        }
    }

    /// Adds the observed cost of a task.
    pub(crate) fn add(&mut self, task: &Task, cost: &Cost) {
        self.tasks.entry(key(task)).or_default().add(cost);
        self.targets.entry(task.target().title()).or_default().add(cost);
        self.all.add(cost);
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

    /// Seconds for the health of each fit.
    const HEALTH: f64 = 20.0;

    /// Synthetic results of an experiment that cost `price` of each task: seconds per unit of work, and per row.
    fn results(id: &str, price: fn(&Task) -> (f64, f64)) -> Vec<Outcome> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains(id)).unwrap();
        let mut evidence =
            Results::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| Vec::new());
        for outcome in &mut evidence.outcomes {
            let (unit, row) = price(&outcome.job.task);
            outcome.ended.seconds = unit * outcome.job.task.work() as f64;
            outcome.ended.judging = HEALTH;
            outcome.ended.measuring = row * outcome.rows.len() as f64 + HEALTH;
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
            let expected = unit * long.work() as f64 + row * long.recorded().len() as f64 + HEALTH;
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
        let expected = 1e-3 * other.job.task.work() as f64 + HEALTH;
        assert!((forecast.seconds(&other.job.task).unwrap() / expected - 1.0).abs() < 1e-12, "that of pima");
        let pima = |outcome: &&Outcome| kind(outcome) && outcome.job.task.target().label() == "pima";
        let forecast = learned(outcomes.iter().filter(pima));
        let german =
            outcomes.iter().find(|o| o.job.task.target().label() == "german_credit_numeric").unwrap();
        let expected = 1e-3 * german.job.task.work() as f64 + HEALTH;
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
}
