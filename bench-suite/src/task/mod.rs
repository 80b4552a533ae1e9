//! Tasks of jobs as plain data, and the sections of an experiment that plan them. Their execution is in [`jobs`](crate::jobs).

mod benchmark;
mod chains;
mod evidence;
mod fit;
mod job;
mod judgement;
mod labels;
mod preset;
mod rung;
mod scatter;
mod schedule;
mod trace;
mod variance;

pub use benchmark::{Benchmark, Benchmarks};
pub use chains::Chains;
pub use fit::{Fit, Fits, Metrics};
pub use job::Job;
pub use judgement::{Judgement, Judgements};
pub use labels::Labels;
pub use preset::Preset;
pub use rung::{Climber, Goal, Rung, Rungs};
pub use scatter::{Scatter, Scatters, Setting};
pub use schedule::{Schedule, Stage};
pub use trace::{Spacing, Trace};
pub use variance::{Variance, Variances};

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use crate::catalog::{Method, Target};

/// Task of one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A fit of a variational family, recorded along the way.
    Fit(Fit),
    /// Variance of an estimator at fixed parameters.
    Variance(Variance),
    /// Variances and biases of an estimator at many parameters.
    Scatter(Scatter),
    /// Fits in one call, with their verdicts.
    Judgement(Judgement),
    /// Climbs of one family from a start that is off.
    Rung(Rung),
    /// Runs of a method of inference within growing budgets.
    Benchmark(Benchmark),
    /// Markov chains whose draws are measured.
    Chains(Chains),
}

/// Section of an experiment that plans tasks.
pub(crate) trait Section {
    /// Refuses unknown and invalid settings.
    fn check(&self) -> Result<(), Error>;

    /// Labels of its settings and of those of presets.
    fn labels(&self, presets: &[&Preset]) -> Result<Labels, Error>;

    /// Tasks at a preset, each to be replicated.
    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error>;
}

impl Task {
    /// Target of the task.
    pub fn target(&self) -> &Target {
        match self {
            Self::Fit(fit) => &fit.target,
            Self::Variance(variance) => &variance.target,
            Self::Scatter(scatter) => &scatter.target,
            Self::Judgement(judgement) => &judgement.target,
            Self::Rung(rung) => &rung.target,
            Self::Benchmark(benchmark) => &benchmark.target,
            Self::Chains(chains) => &chains.target,
        }
    }

    /// Method of the task.
    pub fn method(&self) -> &Method {
        match self {
            Self::Fit(fit) => &fit.method,
            Self::Variance(variance) => &variance.method,
            Self::Scatter(scatter) => &scatter.method,
            Self::Judgement(judgement) => &judgement.method,
            Self::Rung(rung) => &rung.method,
            Self::Benchmark(benchmark) => &benchmark.method,
            Self::Chains(chains) => &chains.method,
        }
    }

    /// The fit, if the task is one.
    pub fn fit(&self) -> Option<&Fit> {
        match self {
            Self::Fit(fit) => Some(fit),
            _ => None,
        }
    }

    /// Description of target and method with all their settings.
    pub fn title(&self) -> String {
        format!("{} by {}{}", self.target().title(), self.method().title(), self.variant())
    }

    /// Other settings by which tasks differ, in words.
    pub fn variant(&self) -> String {
        match self {
            Self::Fit(fit) => fit.variant(),
            Self::Variance(variance) => format!(" at gap {}", variance.gap),
            Self::Scatter(_) | Self::Benchmark(_) | Self::Chains(_) => String::new(),
            Self::Judgement(judgement) => format!(" within {} evaluations", judgement.evaluations),
            Self::Rung(rung) => format!(", {}, within {} evaluations", rung.family.name(), rung.evaluations),
        }
    }

    /// Amount of work in units of about equal cost: for progress and estimates of time.
    pub fn work(&self) -> u64 {
        match self {
            Self::Fit(fit) => fit.work(),
            Self::Variance(variance) => variance.transitions * variance.method.effort(),
            Self::Scatter(scatter) => scatter.work(),
            Self::Judgement(judgement) => judgement.runs * judgement.evaluations,
            Self::Rung(rung) => rung.runs * rung.evaluations,
            Self::Benchmark(benchmark) => benchmark.work(),
            Self::Chains(chains) => chains.count() * chains.work_of_chain(),
        }
    }

    /// Steps at which rows are recorded.
    pub fn recorded(&self) -> Vec<u64> {
        match self {
            Self::Fit(fit) => fit.recorded(),
            Self::Scatter(scatter) => (1..=scatter.lambdas).collect(),
            Self::Judgement(judgement) => (1..=judgement.runs).collect(),
            Self::Rung(rung) => (1..=rung.runs).collect(),
            Self::Benchmark(benchmark) => benchmark.reached().to_vec(),
            Self::Variance(_) | Self::Chains(_) => vec![self.length()],
        }
    }

    /// Length in steps, transitions, parameters or draws.
    pub fn length(&self) -> u64 {
        *self.clone().length_mut()
    }

    /// The task with another length.
    pub fn of_length(&self, length: u64) -> Self {
        let mut task = self.clone();
        *task.length_mut() = length;
        task
    }

    fn length_mut(&mut self) -> &mut u64 {
        match self {
            Self::Fit(fit) => &mut fit.steps,
            Self::Variance(variance) => &mut variance.transitions,
            Self::Scatter(scatter) => &mut scatter.lambdas,
            Self::Judgement(judgement) => &mut judgement.runs,
            Self::Rung(rung) => &mut rung.runs,
            Self::Benchmark(benchmark) => &mut benchmark.budgets,
            Self::Chains(chains) => &mut chains.draws,
        }
    }

    /// Number of steps of all chains and fits of the task.
    pub fn steps(&self) -> u64 {
        match self {
            Self::Fit(fit) => fit.start.warm_steps() + fit.steps,
            Self::Scatter(Scatter { lambdas, setting, .. }) => lambdas * setting.chains * setting.length,
            Self::Chains(chains) => chains.count() * (chains.warm_up() + chains.draws),
            Self::Variance(_) | Self::Judgement(_) | Self::Rung(_) | Self::Benchmark(_) => self.length(),
        }
    }
}
