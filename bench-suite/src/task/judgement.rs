//! Fits of a posterior in one call, judged by their verdict, as a task.

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::{Labels, Preset, Section, Task};
use crate::catalog::{Case, Method, Target};
use crate::grid::{Entry, expand};

/// The section `[judgements]`: fits of cases whose moments are known, and of planted failures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Judgements {
    /// Largest number of evaluations of a fit before its draws.
    pub evaluations: u64,
    /// Runs of a good target for one of a planted failure.
    pub good: u64,
    /// False for fits by the log density alone.
    #[serde(default = "with_gradient")]
    pub gradient: bool,
    /// The cases.
    #[serde(rename = "case", default)]
    cases: Vec<Entry>,
}

/// Fits of one case, a row for each: error of the answer, and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The target: a case.
    pub target: Target,
    /// Chains of the climb: its number follows from the dimension, this one is that in up to ten.
    pub method: Method,
    /// Largest number of evaluations of a fit before its draws.
    pub evaluations: u64,
    /// Number of fits.
    pub runs: u64,
    /// False for fits by the log density alone.
    #[serde(default = "with_gradient", skip_serializing_if = "is_true")]
    pub gradient: bool,
}

const fn with_gradient() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
const fn is_true(gradient: &bool) -> bool {
    *gradient
}

impl Section for Judgements {
    fn check(&self) -> Result<(), Error> {
        if self.good == 0 || self.evaluations == 0 {
            return Err(Error::invalid("judgements: good and evaluations are at least 1"));
        }
        expand::<Case>("judgements.case", &self.cases).map(drop)
    }

    fn labels(&self, _: &[&Preset]) -> Result<Labels, Error> {
        Ok(Labels::of_cases(expand("judgements.case", &self.cases)?))
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let method = Method::Pmcsa { chains: 10 };
        let cases = expand::<Case>("judgements.case", &self.cases)?.into_iter().map(|placed| placed.value);
        let task = |case: Case| {
            let runs = preset.steps * if case.is_planted() { 1 } else { self.good };
            let target = Target::Case { case };
            let (evaluations, gradient) = (self.evaluations, self.gradient);
            Judgement { target, method: method.clone(), evaluations, runs, gradient }
        };
        let tasks = cases.map(task).filter(|task| preset.admits(task.target.label(), &method));
        Ok(tasks.map(Task::Judgement).collect())
    }
}

impl Judgement {
    /// The case.
    pub fn case(&self) -> Option<&Case> {
        match &self.target {
            Target::Case { case } => Some(case),
            _ => None,
        }
    }
}
