//! Kinds of jobs. Each file defines one kind: the section of an experiment that plans it, the task of one job, and the
//! execution of that task.

mod auxiliary;
mod average;
mod checkpoints;
mod climb;
mod counted_volatility;
mod fit;
mod paths;
mod propagation;
mod running;
mod scatter;
mod shaped;
mod spent;
mod staged;
mod sums;
mod trace;
mod variance;

pub(crate) use climb::SINGLE;
pub use fit::{Fit, Fits};
pub use paths::{PathFit, PathFits, Scoring};
pub use running::{Due, Place, Running};
pub use scatter::{Scatter, Scatters, Setting};
pub use shaped::{Schedule, ShapedFit, Shapes, Stage, Warm};
pub use trace::{Spacing, Trace};
pub use variance::{Variance, Variances};

use std::time::Instant;

use mcsa_core::{Counts, Error, Seed};
use serde::{Deserialize, Serialize};

use crate::catalog::{Method, Target};
use crate::experiment::{Experiment, Preset};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// Task of one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A fit of a Gaussian family, recorded along the way.
    Fit(Fit),
    /// Variance of an estimator at fixed parameters.
    Variance(Variance),
    /// Variances and biases of an estimator at many parameters.
    Scatter(Scatter),
    /// A fit of a family of any shape, evaluated with reference draws.
    Shaped(ShapedFit),
    /// A fit of a family of paths.
    Path(PathFit),
}

/// Result of a job: rows, and how it ended.
pub(crate) type Done = (Vec<Row>, Ended);

impl Task {
    /// Tasks that an experiment plans at a preset, each to be replicated.
    ///
    /// # Errors
    /// If a setting is unknown or invalid.
    pub fn all(experiment: &Experiment, preset: &Preset) -> Result<Vec<Self>, Error> {
        if let Some(fits) = &experiment.fits {
            return Ok(fits.tasks(preset)?.into_iter().map(Self::Fit).collect());
        }
        if let Some(scatter) = &experiment.scatter {
            return Ok(scatter.tasks(preset)?.into_iter().map(Self::Scatter).collect());
        }
        if let Some(shapes) = &experiment.shapes {
            return Ok(shapes.tasks(preset)?.into_iter().map(Self::Shaped).collect());
        }
        if let Some(paths) = &experiment.paths {
            return Ok(paths.tasks(preset)?.into_iter().map(Self::Path).collect());
        }
        let variances = experiment.variances.as_ref().map(|section| section.tasks(preset));
        Ok(variances.transpose()?.unwrap_or_default().into_iter().map(Self::Variance).collect())
    }

    /// Target of the task.
    pub fn target(&self) -> &Target {
        match self {
            Self::Fit(fit) => &fit.target,
            Self::Variance(variance) => &variance.target,
            Self::Scatter(scatter) => &scatter.target,
            Self::Shaped(fit) => &fit.target,
            Self::Path(path) => &path.target,
        }
    }

    /// Method of the task.
    pub fn method(&self) -> &Method {
        match self {
            Self::Fit(fit) => &fit.method,
            Self::Variance(variance) => &variance.method,
            Self::Scatter(scatter) => &scatter.method,
            Self::Shaped(fit) => &fit.method,
            Self::Path(path) => &path.method,
        }
    }

    /// Description of target and method with all their settings.
    pub fn title(&self) -> String {
        let gap = match self {
            Self::Fit(_) | Self::Scatter(_) | Self::Path(_) => String::new(),
            Self::Variance(variance) => format!(" at gap {}", variance.gap),
            Self::Shaped(fit) => {
                format!(" in {}, {}, from {}", fit.family.kind(), fit.schedule.name, fit.start.mean)
            }
        };
        format!("{} by {}{gap}", self.target().title(), self.method().title())
    }

    /// Amount of work in units of about equal cost: for progress and estimates of time.
    pub fn work(&self) -> u64 {
        match self {
            Self::Fit(fit) => fit.work(),
            Self::Variance(variance) => variance.work(),
            Self::Scatter(scatter) => scatter.work(),
            Self::Shaped(fit) => fit.work(),
            Self::Path(path) => path.work(),
        }
    }

    /// Number of rows that are measured.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Fit(fit) => fit.trace.steps(fit.steps).len() as u64,
            Self::Variance(_) => 1,
            Self::Scatter(scatter) => scatter.lambdas,
            Self::Shaped(fit) => fit.trace.steps(fit.steps).len() as u64,
            Self::Path(_) => 1,
        }
    }

    /// Length in steps, transitions or parameters.
    pub fn length(&self) -> u64 {
        match self {
            Self::Fit(fit) => fit.steps,
            Self::Variance(variance) => variance.transitions,
            Self::Scatter(scatter) => scatter.lambdas,
            Self::Shaped(fit) => fit.steps,
            Self::Path(path) => path.steps,
        }
    }

    /// The task with another length.
    pub fn of_length(&self, length: u64) -> Self {
        let mut task = self.clone();
        match &mut task {
            Self::Fit(fit) => fit.steps = length,
            Self::Variance(variance) => variance.transitions = length,
            Self::Scatter(scatter) => scatter.lambdas = length,
            Self::Shaped(fit) => fit.steps = length,
            Self::Path(path) => path.steps = length,
        }
        task
    }

    /// Runs the task. `None` if it was interrupted: the next run continues from its checkpoint.
    pub(crate) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        match self {
            Self::Fit(fit) => fit.run(job, running),
            Self::Variance(variance) => variance.run(job, running),
            Self::Scatter(scatter) => scatter.run(job, running),
            Self::Shaped(fit) => fit.run(job, running),
            Self::Path(path) => path.run(job, running),
        }
    }
}

/// Outcome of a run of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The result was stored.
    Kept,
    /// The run was interrupted; the next run continues from its checkpoint.
    Interrupted,
}

impl Job {
    /// Runs the job and stores its rows, unless it is interrupted.
    ///
    /// # Errors
    /// If its settings do not fit together, data are absent, or a file cannot be written. A fit that diverges is not an error
    /// but a result, and is stored.
    pub fn run(&self, running: &Running<'_>) -> Result<Ending, Error> {
        let place = |error: Error| {
            error.within(format!("{}, {}, replicate {}", self.experiment, self.task.title(), self.replicate))
        };
        match self.task.run(self, running).map_err(place)? {
            Some((rows, ended)) => running.store.keep(self, &rows, &ended).map(|()| Ending::Kept),
            None => Ok(Ending::Interrupted),
        }
    }
}

/// Seed of a job's randomness for a named purpose, separate from that of the fit.
fn aside(seed: Seed, name: &str) -> Seed {
    seed.named(name)
}

/// Current time. Seconds are reported beside the counts; no other number depends on them.
#[expect(clippy::disallowed_methods, reason = "seconds are results too, and no path depends on them")]
fn now() -> Instant {
    Instant::now()
}

/// Evaluation counts of a target and a family, by name.
fn totals(target: Counts, family: Counts) -> std::collections::BTreeMap<String, u64> {
    let pairs = [
        ("p_evaluations", target.log_density),
        ("p_gradients", target.gradient),
        ("q_evaluations", family.log_prob),
        ("q_draws", family.sample),
        ("q_scores", family.score),
        ("q_slopes", family.slope),
    ];
    pairs.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}
