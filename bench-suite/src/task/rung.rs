//! Climbs of one family by running moments from a start that is off, as a task.

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::{Labels, Preset, Section, Task};
use crate::catalog::{Case, Method, Target};
use crate::grid::{Entry, expand};

/// The section `[rungs]`: every case by every family.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rungs {
    /// Evaluations of a climb per dimension.
    pub evaluations: u64,
    /// The cases.
    #[serde(rename = "case", default)]
    cases: Vec<Entry>,
    /// Climbs of a Student t within a given number of evaluations.
    #[serde(rename = "goal", default)]
    goals: Vec<Goal>,
}

/// Climb of a Student t within a given number of evaluations, its start included.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The target.
    pub case: Case,
    /// The evaluations.
    pub evaluations: u64,
    /// Number of chains.
    pub chains: usize,
    /// Number of climbs.
    pub runs: u64,
    /// Number of final draws, which then count among the evaluations.
    pub draws: Option<usize>,
}

/// Family of a climb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Climber {
    /// Independent coordinates.
    MeanField,
    /// Diagonal covariance and ten factors.
    LowRank,
    /// Dense covariance.
    FullRank,
    /// Student t with dense scale and learned degrees of freedom.
    StudentT,
}

/// Climbs of one family to one target, a row for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// The target: a case.
    pub target: Target,
    /// Parallel chains.
    pub method: Method,
    /// The family.
    pub family: Climber,
    /// Evaluations of the target, the start included.
    pub evaluations: u64,
    /// Number of climbs.
    pub runs: u64,
    /// Number of final draws, if they count among the evaluations; else 4,000 that do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<usize>,
}

impl Climber {
    /// All families, from the smallest.
    pub const ALL: [Self; 4] = [Self::MeanField, Self::LowRank, Self::FullRank, Self::StudentT];

    /// Kind of the family in the list of looks.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::MeanField => "mean-field",
            Self::LowRank => "low-rank",
            Self::FullRank => "full-rank",
            Self::StudentT => "student-t",
        }
    }

    /// Name in figures and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::MeanField => "mean field",
            Self::LowRank => "low rank",
            Self::FullRank => "Gaussian",
            Self::StudentT => "Student t",
        }
    }
}

impl Section for Rungs {
    fn check(&self) -> Result<(), Error> {
        if self.evaluations == 0 {
            return Err(Error::invalid("rungs: evaluations is at least 1"));
        }
        let too_many =
            |goal: &Goal| goal.draws.is_some_and(|draws| draws as u64 >= goal.evaluations || draws < 2);
        if let Some(at) = self.goals.iter().position(too_many) {
            return Err(Error::invalid(format!(
                "rungs.goal[{at}]: draws is at least 2 and less than evaluations, among which they count"
            )));
        }
        expand::<Case>("rungs.case", &self.cases).map(drop)
    }

    fn labels(&self, _: &[&Preset]) -> Result<Labels, Error> {
        Ok(Labels::of_cases(expand("rungs.case", &self.cases)?))
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let mut tasks = Vec::new();
        for case in expand::<Case>("rungs.case", &self.cases)?.into_iter().map(|placed| placed.value) {
            let Some(dim) = case.dim() else {
                return Err(Error::invalid(format!("rungs.case: {} has no dimension", case.title())));
            };
            // About as many chains as dimensions.
            let method = Method::Pmcsa { chains: dim.clamp(10, 256) };
            for family in Climber::ALL {
                let (target, method) = (Target::Case { case: case.clone() }, method.clone());
                let evaluations = self.evaluations * dim as u64;
                let runs = preset.steps;
                tasks.push(Rung { target, method, family, evaluations, runs, draws: None });
            }
        }
        for &Goal { ref case, evaluations, chains, runs, draws } in &self.goals {
            let (target, method) = (Target::Case { case: case.clone() }, Method::Pmcsa { chains });
            let family = Climber::StudentT;
            tasks.push(Rung { target, method, family, evaluations, runs, draws });
        }
        tasks.retain(|task| preset.admits(task.target.label(), &task.method));
        Ok(tasks.into_iter().map(Task::Rung).collect())
    }
}

impl Rung {
    /// The case.
    pub fn case(&self) -> Option<&Case> {
        match &self.target {
            Target::Case { case } => Some(case),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Final draws that leave nothing for the climb are refused, with the place; a goal without them is made with none.
    #[test]
    fn counted_draws_leave_evaluations() {
        let with = |goal: &str| {
            let case = "case = { kind = \"wishart\", dim = 4 }\nchains = 5\nruns = 1\nevaluations = 100";
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
