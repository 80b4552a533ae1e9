//! Runs of one method of inference on one case within growing budgets of evaluations, as a task.

use std::collections::BTreeMap;

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::{Labels, Preset, Section, Task};
use crate::catalog::{Case, Entrant, Method, Target};
use crate::grid::{Entry, Placed, check_on, expand};

/// The section `[benchmarks]`: every case by every method, within each budget.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Benchmarks {
    /// The budgets in evaluations, increasing; a preset runs as many of the first as its `steps`.
    pub budgets: Vec<u64>,
    /// Half the width of the cube from which starts are drawn, by kind of case; 2 if absent.
    #[serde(default)]
    pub reach: BTreeMap<String, f64>,
    /// The cases.
    #[serde(rename = "case", default)]
    cases: Vec<Entry>,
    /// The methods.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
}

/// Runs of one method on one case, a row for each budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// The target: a case.
    pub target: Target,
    /// The method: [`Method::Inference`].
    pub method: Method,
    /// Half the width of the cube from which starts are drawn.
    pub reach: f64,
    /// Budgets in evaluations, increasing.
    pub ladder: Vec<u64>,
    /// Number of budgets that are run, from the smallest.
    pub budgets: u64,
}

impl Section for Benchmarks {
    fn check(&self) -> Result<(), Error> {
        let is_increasing = self.budgets.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_increasing || self.budgets.first().is_none_or(|first| *first < LEAST) {
            let reason = format!("benchmarks.budgets: increasing numbers, at least {LEAST}, are expected");
            return Err(Error::invalid(reason));
        }
        let cases = expand::<Case>("benchmarks.case", &self.cases)?;
        let labels: Vec<&str> = cases.iter().map(|case| case.value.kind()).collect();
        for (label, reach) in &self.reach {
            let is_right = labels.contains(&label.as_str()) && *reach > 0.0 && reach.is_finite();
            if !is_right {
                let reason = format!(
                    "benchmarks.reach: {label} = {reach}, a kind of case and a positive number are expected"
                );
                return Err(Error::invalid(reason));
            }
        }
        check_on("benchmarks.case", &labels, &expand::<Entrant>("benchmarks.method", &self.methods)?)
    }

    fn labels(&self, _: &[&Preset]) -> Result<Labels, Error> {
        let mut labels = Labels::of_cases(expand("benchmarks.case", &self.cases)?);
        let methods = expand::<Entrant>("benchmarks.method", &self.methods)?;
        let method = |placed: Placed<Entrant>| placed.map(|entrant| Method::Inference { entrant });
        labels.add("method", &methods.into_iter().map(method).collect::<Vec<_>>());
        Ok(labels)
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let methods = expand::<Entrant>("benchmarks.method", &self.methods)?;
        let mut tasks = Vec::new();
        for case in expand::<Case>("benchmarks.case", &self.cases)?.into_iter().map(|placed| placed.value) {
            let target = Target::Case { case };
            for placed in methods.iter().filter(|placed| placed.is_on(target.label())) {
                let method = Method::Inference { entrant: placed.value.clone() };
                if preset.admits(target.label(), &method) {
                    let budgets = preset.steps.min(self.budgets.len() as u64);
                    let ladder = self.budgets.clone();
                    let reach = self.reach.get(target.label()).copied().unwrap_or(REACH);
                    tasks.push(Benchmark { target: target.clone(), method, reach, ladder, budgets });
                }
            }
        }
        Ok(tasks.into_iter().map(Task::Benchmark).collect())
    }
}

/// Smallest budget: room for a start and some hundred draws.
const LEAST: u64 = 300;
/// Half the width of the cube from which starts are drawn, as in Stan.
const REACH: f64 = 2.0;

impl Benchmark {
    /// The case.
    pub fn case(&self) -> Option<&Case> {
        match &self.target {
            Target::Case { case } => Some(case),
            _ => None,
        }
    }

    /// The method.
    pub fn entrant(&self) -> Option<&Entrant> {
        match &self.method {
            Method::Inference { entrant } => Some(entrant),
            _ => None,
        }
    }

    /// The budgets that are run.
    pub fn reached(&self) -> &[u64] {
        &self.ladder[..self.ladder.len().min(self.budgets as usize)]
    }

    /// Evaluations of all budgets that are run, weighted by the cost of the method.
    pub(super) fn work(&self) -> u64 {
        self.reached().iter().sum::<u64>() * self.entrant().map_or(1, Entrant::effort)
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Experiment, PresetName};
    use crate::plan::plan;
    use mcsa_data::Catalogue;

    const TEXT: &str = "id = 'board'\ntitle = 'Board'\nseed = 1\n\
        preset.quick = { replicates = 2, steps = 2, fewer = { 'nuts on Gaussian: d 3' = 1, 'Gaussian: d 4' = 0 } }\n\
        [benchmarks]\nbudgets = [1000, 3000, 10000]\nreach = { student = 5.0 }\n\
        [[benchmarks.case]]\nkind = 'wishart'\ndim = [2, 3, 4]\n\
        [[benchmarks.case]]\nkind = 'student'\ndim = 2\nfreedom = 5.0\n\
        [[benchmarks.method]]\nkind = 'nuts'\n\
        [[benchmarks.method]]\nkind = 'moments'\nfamily = ['mean-field', 'student-t']\non = ['wishart']\n";

    #[test]
    fn every_method_meets_every_case_it_is_for() {
        let experiment = Experiment::parse("board.toml", TEXT).unwrap();
        let jobs = plan(&experiment, PresetName::Quick, &Catalogue::new(None)).unwrap().jobs;
        let count = |kind: &str, title: &str| {
            let is_it = |job: &&crate::plan::Job| {
                job.task.method().kind() == kind && job.task.target().title() == title
            };
            jobs.iter().filter(is_it).count()
        };
        assert_eq!([count("nuts", "Gaussian: d 2"), count("nuts", "Gaussian: d 3")], [2, 1]);
        assert_eq!([count("moments-student-t", "Gaussian: d 3"), count("nuts", "Gaussian: d 4")], [2, 0]);
        assert_eq!(count("moments-mean-field", "Student t: d 2, freedom 5"), 0);
        for job in &jobs {
            assert_eq!(job.task.recorded(), [1_000, 3_000]);
            assert_eq!(job.task.of_length(1).recorded(), [1_000]);
            let super::Task::Benchmark(benchmark) = &job.task else { panic!("{}", job.title()) };
            assert_eq!(benchmark.reach, if benchmark.target.label() == "student" { 5.0 } else { 2.0 });
        }
    }

    #[test]
    fn a_fault_is_named() {
        let refused = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            Experiment::parse("board.toml", &TEXT.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(refused("[1000, 3000", "[3000, 1000").contains("benchmarks.budgets: increasing"));
        assert!(refused("student = 5.0", "studnet = 5.0").contains("benchmarks.reach: studnet"));
        assert!(refused("student = 5.0", "student = 0.0").contains("student = 0"));
        assert!(refused("on = ['wishart']", "on = ['wishrat']").contains("wishrat"));
        assert!(refused("'student-t'", "'student'").contains("unknown variant `student`"));
        assert!(refused("'Gaussian: d 4'", "'Gaussian: d 5'").contains("Gaussian: d 5"));
    }
}
