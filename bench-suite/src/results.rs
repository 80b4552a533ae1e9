//! Results of an experiment, from which figures, tables and claims are made.

use std::collections::BTreeMap;

use mcsa_core::Error;
use rayon::prelude::*;

use crate::archive::Archive;
use crate::catalog::{FamilyConfig, Method, Target};
use crate::experiment::{Experiment, PresetName};
use crate::interval::bootstrap;
use crate::metric::Vector;
use crate::plan::{Plan, plan};
use crate::store::{Others, Outcome, Row, Store};
use crate::tables::in_groups;
use crate::task::{Fit, Job, Task};
use mcsa_data::Catalogue;
use mcsa_diagnostics::quantile;

/// Results of an experiment at a preset, all computed by one version of the code unless they are from the archive.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The experiment.
    pub experiment: Experiment,
    /// The preset.
    pub preset: PresetName,
    /// Results, in the order of the plan.
    pub outcomes: Vec<Outcome>,
    /// Number of jobs without a usable result.
    pub missing: usize,
    /// Unusable files, each with the reason. Their jobs are counted in `missing`.
    pub bad: Vec<String>,
    /// Number of jobs whose only results come from other code; they are left out unless `is_stale`.
    pub stale: usize,
    /// True if all results come from other code. They are shown because there are none of the present code.
    pub is_stale: bool,
    /// Absent data sets, each with instructions to obtain it.
    pub absent: BTreeMap<String, String>,
}

/// All replicates of one task.
#[derive(Debug, Clone)]
pub(crate) struct Series<'a> {
    pub(crate) task: &'a Task,
    pub(crate) outcomes: Vec<&'a Outcome>,
}

impl Results {
    pub(crate) fn none(experiment: Experiment, preset: PresetName) -> Self {
        Self {
            experiment,
            preset,
            outcomes: Vec::new(),
            missing: 0,
            bad: Vec::new(),
            stale: 0,
            is_stale: false,
            absent: BTreeMap::new(),
        }
    }

    /// Reads the results in the store. Results of the present code are used alone. If there are none, results of one other
    /// version are used and marked as stale: the version with results of the most jobs; of several such versions, the one whose
    /// results are most often the newest of their job. Unusable files are left out and listed.
    pub fn gather(
        experiment: Experiment,
        preset: PresetName,
        store: &Store,
        catalogue: &Catalogue,
    ) -> Result<Self, Error> {
        let Plan { jobs, absent } = plan(&experiment, preset, catalogue)?;
        let others = store.others(&experiment.id);
        let found = jobs.par_iter().map(|job| store.fresh(job)).collect::<Vec<_>>();
        let (mut outcomes, mut bad, mut stale, mut missing) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (job, found) in jobs.iter().zip(found) {
            match found {
                Ok(Some(outcome)) => outcomes.push(outcome),
                Ok(None) if others.of(job).next().is_some() => stale.push(job),
                Ok(None) => missing += 1,
                Err(error) => {
                    missing += 1;
                    bad.push(error.to_string());
                }
            }
        }
        let (count, is_stale) = (stale.len(), outcomes.is_empty() && !stale.is_empty());
        if let Some(code) = most_of(&stale, &others).filter(|_| is_stale) {
            for found in stale.par_iter().map(|job| store.by_code(code, job)).collect::<Vec<_>>() {
                match found {
                    Ok(outcome) => outcomes.extend(outcome),
                    Err(error) => bad.push(error.to_string()),
                }
            }
        }
        let none = Self::none(experiment, preset);
        Ok(Self { outcomes, missing, bad, stale: count, is_stale, absent, ..none })
    }

    /// Archived results of any code, with their dates.
    pub fn archived(
        experiment: Experiment,
        preset: PresetName,
        archive: &Archive,
        catalogue: &Catalogue,
    ) -> Result<Self, Error> {
        let Plan { jobs, absent } = plan(&experiment, preset, catalogue)?;
        let mut kept = archive.read(&experiment.id)?;
        let all = jobs.len();
        let found = |job: Job| kept.remove(&job.id()).map(|(head, rows)| head.outcome(job, rows));
        let outcomes: Vec<Outcome> = jobs.into_iter().filter_map(found).collect();
        let missing = all - outcomes.len();
        Ok(Self { outcomes, missing, absent, ..Self::none(experiment, preset) })
    }

    /// Returns true if some of the results come from other code.
    pub fn has_stale(&self) -> bool {
        self.outcomes.iter().any(Outcome::is_stale)
    }

    /// Results grouped by task, in the order of the plan.
    pub(crate) fn series(&self) -> Vec<Series<'_>> {
        let all = in_groups(self.outcomes.iter().map(|outcome| (&outcome.job.task, outcome)));
        all.into_iter().map(|(task, outcomes)| Series { task, outcomes }).collect()
    }

    /// Words on synthetic stand-ins among the data; `None` if there are none.
    pub(crate) fn stand_ins(&self) -> Option<&'static str> {
        let is_stand_in = |outcome: &Outcome| outcome.job.is_stand_in();
        match self.outcomes.iter().filter(|outcome| is_stand_in(outcome)).count() {
            0 => None,
            all if all == self.outcomes.len() => Some("on SYNTHETIC data"),
            _ => Some("some of the data are SYNTHETIC"),
        }
    }

    /// Words on the data: real, synthetic or none.
    pub(crate) fn kind_of_data(&self) -> &'static str {
        let has = |is_it: fn(&Outcome) -> bool| self.outcomes.iter().any(is_it);
        let synthetic = has(|outcome| outcome.job.is_stand_in());
        match (
            has(|outcome| outcome.job.task.target().data().is_some() && !outcome.job.is_stand_in()),
            synthetic,
        ) {
            (true, true) => "real and SYNTHETIC data",
            (true, false) => "real data",
            (false, true) => "SYNTHETIC data",
            (false, false) => "made-up targets",
        }
    }

    /// True if the fits of a series begin where their method begins by default, which is as published.
    pub(crate) fn is_from_first_start(&self, series: &Series<'_>) -> bool {
        let first = self.experiment.fits.as_ref().map(|fits| fits.start_of(series.method()));
        series.fit().is_none_or(|fit| Some(fit.start) == first)
    }

    pub(crate) fn of_target(&self, label: &str) -> Vec<Series<'_>> {
        self.series().into_iter().filter(|series| series.target().label() == label).collect()
    }

    pub(crate) fn find(&self, is_it: impl Fn(&Series<'_>) -> bool) -> Option<Series<'_>> {
        self.series().into_iter().find(|series| is_it(series))
    }

    pub(crate) fn replicates(&self) -> usize {
        self.series().iter().map(|series| series.outcomes.len()).max().unwrap_or(0)
    }

    /// Synthetic results for tests of figures and claims: the trace of each job is `rows` of its task, replicate and step.
    #[cfg(test)]
    pub(crate) fn synthetic(
        experiment: Experiment,
        preset: PresetName,
        rows: impl Fn(&Task, u64, u64) -> Vec<(&'static str, f64)>,
    ) -> Self {
        let rows = |task: &Task, replicate, step| (rows(task, replicate, step), Vec::new());
        Self::with_vectors(experiment, preset, rows)
    }

    #[cfg(test)]
    pub(crate) fn with_vectors(
        experiment: Experiment,
        preset: PresetName,
        rows: impl Fn(&Task, u64, u64) -> (Vec<(&'static str, f64)>, Vec<(Vector, Vec<f64>)>),
    ) -> Self {
        use crate::store::{Ended, code_of};
        let jobs = plan(&experiment, preset, &Catalogue::new(None)).unwrap().jobs;
        let outcome = |job: Job| {
            let row = |step| {
                let (values, vectors) = rows(&job.task, job.replicate, step);
                Row { vectors: vectors.into_iter().collect(), ..Row::new(step, values) }
            };
            let rows = job.task.recorded().into_iter().map(row).collect();
            let (unit, code) = (String::new(), code_of(&job).to_owned());
            Outcome { job, rows, ended: Ended::default(), unit, code, confirmed: None, date: None }
        };
        let outcomes = jobs.into_iter().map(outcome).collect();
        Self { outcomes, ..Self::none(experiment, preset) }
    }
}

/// The code version with results of the most jobs; of several, the one whose results are most often the newest of their job.
fn most_of<'o>(jobs: &[&Job], others: &'o Others) -> Option<&'o str> {
    let mut counts = BTreeMap::<&str, (usize, usize)>::new();
    for (age, code) in jobs.iter().flat_map(|job| others.of(job).enumerate()) {
        let (count, newest) = counts.entry(code).or_default();
        (*count, *newest) = (*count + 1, *newest + usize::from(age == 0));
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(code, _)| code)
}

/// Medians of both coordinates in `parts` groups of equal size, ordered by the first coordinate. Empty if a first coordinate is
/// NaN, or if there are fewer points than groups.
pub(crate) fn medians_of_parts(mut points: Vec<(f64, f64)>, parts: usize) -> Vec<(f64, f64)> {
    if points.len() < parts || points.iter().any(|point| point.0.is_nan()) {
        return Vec::new();
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let part = |k: usize| &points[k * points.len() / parts..(k + 1) * points.len() / parts];
    let median = |part: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        quantile(&mut part.iter().map(of).collect::<Vec<_>>(), 0.5)
    };
    (0..parts).map(|k| (median(part(k), |point| point.0), median(part(k), |point| point.1))).collect()
}

impl Series<'_> {
    pub(crate) fn target(&self) -> &Target {
        self.task.target()
    }

    /// Label of the target; after `SYNTHETIC` if its data are a stand-in of a data set.
    pub(crate) fn place(&self) -> String {
        let label = self.target().label();
        let is_stand_in = self.outcomes.iter().any(|outcome| outcome.job.is_stand_in());
        if is_stand_in { format!("SYNTHETIC {label}") } else { label.to_owned() }
    }

    pub(crate) fn method(&self) -> &Method {
        self.task.method()
    }

    pub(crate) fn fit(&self) -> Option<&Fit> {
        self.task.fit()
    }

    pub(crate) fn shape(&self) -> Option<&FamilyConfig> {
        self.fit().map(|fit| &fit.family)
    }

    pub(crate) fn failures(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.ended.failure.is_some()).count()
    }

    /// Recorded steps of the longest trace.
    pub(crate) fn steps(&self) -> Vec<u64> {
        let longest = self.outcomes.iter().max_by_key(|outcome| outcome.rows.len());
        longest.map(|outcome| outcome.rows.iter().map(|row| row.step).collect()).unwrap_or_default()
    }

    /// Value of a metric at a step, for every replicate that recorded it.
    pub(crate) fn at(&self, step: u64, name: &str) -> Vec<f64> {
        let value = |outcome: &&Outcome| {
            outcome.rows.iter().find(|row| row.step == step).and_then(|row| row.values.get(name).copied())
        };
        self.outcomes.iter().filter_map(value).collect()
    }

    /// Last rows of the replicates that did not end early.
    fn ends(&self) -> impl Iterator<Item = &Row> {
        let whole = self.outcomes.iter().filter(|outcome| outcome.ended.failure.is_none());
        whole.filter_map(|outcome| outcome.rows.last())
    }

    /// Value of a metric in the last row, for every replicate that did not end early.
    pub(crate) fn last(&self, name: &str) -> Vec<f64> {
        self.ends().filter_map(|row| row.values.get(name).copied()).collect()
    }

    /// Value of a metric in the last row of a replicate that did not end early.
    pub(crate) fn end(&self, replicate: u64, name: &str) -> Option<f64> {
        let outcome = self.outcomes.iter().find(|outcome| outcome.job.replicate == replicate)?;
        outcome.rows.last().filter(|_| outcome.ended.failure.is_none())?.values.get(name).copied()
    }

    /// Paired differences of a metric at the end to another series, over the replicates that both have.
    pub(crate) fn differences(&self, against: &Series<'_>, metric: &str) -> Vec<f64> {
        let replicates = self.outcomes.iter().map(|outcome| outcome.job.replicate);
        let difference = |replicate| Some(self.end(replicate, metric)? - against.end(replicate, metric)?);
        replicates.filter_map(difference).collect()
    }

    /// Two metrics in each row of each replicate.
    pub(crate) fn pairs(&self, x: &str, y: &str) -> Vec<(f64, f64)> {
        let rows = self.outcomes.iter().flat_map(|outcome| &outcome.rows);
        rows.filter_map(|row| Some((*row.values.get(x)?, *row.values.get(y)?))).collect()
    }

    /// A vector of the last row, for every replicate that recorded it and did not end early.
    pub(crate) fn last_vectors(&self, vector: Vector) -> Vec<&[f64]> {
        self.ends().filter_map(|row| row.vectors.get(&vector)).map(Vec::as_slice).collect()
    }

    /// Entry `k` of a vector of the last row, for every replicate that recorded it and did not end early.
    pub(crate) fn last_entries(&self, vector: Vector, k: usize) -> Vec<f64> {
        self.last_vectors(vector).iter().filter_map(|entries| entries.get(k).copied()).collect()
    }

    /// Recorded steps, and quantiles of a metric over replicates at each of them.
    pub(crate) fn quantiles<const K: usize>(&self, name: &str, levels: [f64; K]) -> Vec<(f64, [f64; K])> {
        self.by_step(name, |mut values| {
            (!values.is_empty()).then(|| levels.map(|level| quantile(&mut values, level)))
        })
    }

    /// Recorded steps, and the mean over replicates at each of them with its bootstrap interval: low, mean, high.
    pub(crate) fn means(&self, name: &str, level: f64) -> Vec<(f64, [f64; 3])> {
        self.by_step(name, |values| {
            bootstrap(&values, level).map(|interval| [interval.low, interval.value, interval.high])
        })
    }

    /// Recorded steps, and numbers of the values of a metric at each of them.
    fn by_step<T>(&self, name: &str, of: impl Fn(Vec<f64>) -> Option<T>) -> Vec<(f64, T)> {
        let row = |step: u64| Some((step as f64, of(self.at(step, name))?));
        self.steps().into_iter().filter_map(row).collect()
    }

    /// Median of a metric over replicates at the recorded step nearest to `step`.
    pub(crate) fn median_at(&self, step: u64, name: &str) -> Option<f64> {
        let nearest = self.steps().into_iter().min_by_key(|recorded| recorded.abs_diff(step))?;
        let mut values = self.at(nearest, name);
        (!values.is_empty()).then(|| quantile(&mut values, 0.5))
    }
}
