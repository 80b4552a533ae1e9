//! Runs on cases as tasks: fits in one call, fits of one family, and methods of inference within growing budgets.

use std::collections::BTreeMap;

use mcsa_core::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Labels, Preset, Section, Task};
use crate::catalog::{Case, Entrant, Method, Moment, Target};
use crate::grid::{Placed, check_names, grid};

/// The cases of a section as targets.
fn cases<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Placed<Target>>, D::Error> {
    Ok(grid(from)?.into_iter().map(|placed| placed.map(|case| Target::Case { case })).collect())
}

fn entrants<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Placed<Method>>, D::Error> {
    Ok(grid(from)?.into_iter().map(|placed| placed.map(|entrant| Method::Inference { entrant })).collect())
}

/// The section `[benchmarks]`: every case by every method, within each budget.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Benchmarks {
    /// The budgets in evaluations, increasing; a preset runs as many of the first as its `steps`.
    pub budgets: Vec<u64>,
    /// Half the width of the cube from which starts are drawn, by kind of case; 2 if absent.
    #[serde(default)]
    pub reach: BTreeMap<String, f64>,
    #[serde(rename = "case", deserialize_with = "cases")]
    cases: Vec<Placed<Target>>,
    #[serde(rename = "method", deserialize_with = "entrants")]
    methods: Vec<Placed<Method>>,
}

/// Runs of one method on one case, a row for each budget.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    pub target: Target,
    pub method: Method,
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
        let labels: Vec<&str> = self.cases.iter().map(|case| case.value.label()).collect();
        for (label, reach) in &self.reach {
            let is_right = labels.contains(&label.as_str()) && *reach > 0.0 && reach.is_finite();
            if !is_right {
                let reason = format!(
                    "benchmarks.reach: {label} = {reach}, a kind of case and a positive number are expected"
                );
                return Err(Error::invalid(reason));
            }
        }
        check_names(&self.methods, ("benchmarks.case", &labels), &[])
    }

    fn labels(&self, _: &[&Preset]) -> Labels {
        Labels::default().with("target", &self.cases).with("method", &self.methods)
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let mut tasks = Vec::new();
        for target in self.cases.iter().map(|placed| &placed.value) {
            for placed in self.methods.iter().filter(|placed| placed.is_on(target.label())) {
                let method = placed.value.clone();
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

    /// Evaluations of the first budgets, weighted by the cost of the method.
    pub(super) fn work_of(&self, budgets: u64) -> u64 {
        self.ladder[..budgets as usize].iter().sum::<u64>() * self.entrant().map_or(1, Entrant::effort)
    }
}

/// The section `[judgements]`: fits of cases whose moments are known, and of planted failures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Judgements {
    /// Largest number of evaluations of a fit before its draws.
    pub evaluations: u64,
    /// Number of runs of a good target for each run of a planted failure.
    pub good: u64,
    /// False for fits by the log density alone.
    #[serde(default = "with_gradient")]
    pub gradient: bool,
    #[serde(rename = "case", deserialize_with = "cases")]
    cases: Vec<Placed<Target>>,
}

/// Fits of one case, a row for each: error of the answer, and the verdict.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    pub target: Target,
    /// Parallel chains. The fit derives their number from the dimension; the number given here is that in up to ten dimensions.
    pub method: Method,
    pub evaluations: u64,
    pub runs: u64,
    #[serde(default = "with_gradient", skip_serializing_if = "Clone::clone")]
    pub gradient: bool,
}

const fn with_gradient() -> bool {
    true
}

impl Section for Judgements {
    fn check(&self) -> Result<(), Error> {
        if self.good == 0 || self.evaluations == 0 {
            return Err(Error::invalid("judgements: good and evaluations are at least 1"));
        }
        Ok(())
    }

    fn labels(&self, _: &[&Preset]) -> Labels {
        Labels::default().with("target", &self.cases)
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let method = Method::Pmcsa { chains: 10 };
        let targets = self.cases.iter().map(|placed| &placed.value);
        let admitted =
            targets.filter(|target| preset.admits(target.label(), &method)).map(|target| Judgement {
                runs: preset.steps * if target.case().is_some_and(Case::is_planted) { 1 } else { self.good },
                target: target.clone(),
                method: method.clone(),
                evaluations: self.evaluations,
                gradient: self.gradient,
            });
        Ok(admitted.map(Task::Judgement).collect())
    }
}

/// The section `[rungs]`: every case by every family.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rungs {
    /// Evaluations of a fit per dimension.
    pub evaluations: u64,
    #[serde(rename = "case", deserialize_with = "cases")]
    cases: Vec<Placed<Target>>,
    /// Further fits, each with its own number of evaluations.
    #[serde(rename = "goal", default)]
    goals: Vec<Rung>,
}

/// Fits of one family to one target by running moments with parallel chains, a row for each.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    pub target: Target,
    pub method: Method,
    pub family: Moment,
    /// Evaluations of the target, the start included.
    pub evaluations: u64,
    pub runs: u64,
    /// Number of final draws, which then count among the evaluations. If absent, there are 4,000 draws that do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<usize>,
}

impl Section for Rungs {
    fn check(&self) -> Result<(), Error> {
        if self.evaluations == 0 {
            return Err(Error::invalid("rungs: evaluations is at least 1"));
        }
        let too_many =
            |goal: &Rung| goal.draws.is_some_and(|draws| draws as u64 >= goal.evaluations || draws < 2);
        if let Some(at) = self.goals.iter().position(too_many) {
            return Err(Error::invalid(format!(
                "rungs.goal[{at}]: draws is at least 2 and less than evaluations, among which they count"
            )));
        }
        Ok(())
    }

    fn labels(&self, _: &[&Preset]) -> Labels {
        Labels::default().with("target", &self.cases)
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let mut tasks = Vec::new();
        for target in self.cases.iter().map(|placed| &placed.value) {
            let Some(dim) = target.case().and_then(Case::dim) else {
                return Err(Error::invalid(format!("rungs.case: {} has no dimension", target.title())));
            };
            let rung = |family| Rung {
                target: target.clone(),
                // About as many chains as dimensions.
                method: Method::Pmcsa { chains: dim.clamp(10, 256) },
                family,
                evaluations: self.evaluations * dim as u64,
                runs: preset.steps,
                draws: None,
            };
            tasks.extend(Moment::OF_ONE_PART.map(rung));
        }
        tasks.extend(self.goals.iter().cloned());
        tasks.retain(|task| preset.admits(task.target.label(), &task.method));
        Ok(tasks.into_iter().map(Task::Rung).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Experiment, PresetName};
    use crate::plan::plan;
    use mcsa_data::Catalogue;

    use super::*;

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
            let Task::Benchmark(benchmark) = &job.task else { panic!("{}", job.title()) };
            assert_eq!(Benchmark { budgets: 1, ..benchmark.clone() }.reached(), [1_000]);
            assert_eq!(benchmark.reach, if benchmark.target.label() == "student" { 5.0 } else { 2.0 });
        }
    }

    #[test]
    fn a_fault_is_named() {
        let error = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            Experiment::parse("board.toml", &TEXT.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(error("[1000, 3000", "[3000, 1000").contains("benchmarks.budgets: increasing"));
        assert!(error("student = 5.0", "studnet = 5.0").contains("benchmarks.reach: studnet"));
        assert!(error("student = 5.0", "student = 0.0").contains("student = 0"));
        assert!(error("on = ['wishart']", "on = ['wishrat']").contains("wishrat"));
        assert!(error("'student-t'", "'student'").contains("unknown variant `student`"));
        assert!(error("'Gaussian: d 4'", "'Gaussian: d 5'").contains("Gaussian: d 5"));
    }

    /// Final draws that leave nothing for the fit are an error, with the place; a goal without them is made with none.
    #[test]
    fn counted_draws_leave_evaluations() {
        let with = |goal: &str| {
            let case = "target = { kind = 'case', case = { kind = 'wishart', dim = 4 } }\nfamily = 'student-t'\n\
                        method = { kind = 'pmcsa', chains = 5 }\nruns = 1\nevaluations = 100";
            let cases = "[[case]]\nkind = \"wishart\"\ndim = 4";
            toml::from_str::<Rungs>(&format!("evaluations = 5\n{cases}\n[[goal]]\n{case}\n{goal}")).unwrap()
        };
        for bad in ["draws = 100", "draws = 1", "draws = 0"] {
            let error = with(bad).check().unwrap_err().to_string();
            assert!(error.starts_with("rungs.goal[0]: draws is at least 2"), "{bad}: {error}");
        }
        assert!(with("draws = 99").check().is_ok());
        assert_eq!(with("").goals[0].draws, None);
    }
}
