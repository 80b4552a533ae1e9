//! Fits of Gaussian families, recorded along the way.

use std::collections::BTreeMap;

use mcsa_core::{Counted, Error};
use serde::{Deserialize, Serialize};

use super::checkpoints::Checkpoints;
use super::climb::{Climb, Scene};
use super::propagation::propagate;
use super::{Done, Running, Trace, aside};
use crate::catalog::{Approximation, Beginning, Method, Rule, Target};
use crate::experiment::Preset;
use crate::grid::{Entry, Placed, check_on, expand};
use crate::plan::Job;

/// The section `[fits]`: every combination of target, method and optimiser.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fits {
    /// Variational family.
    pub family: Approximation,
    /// Initial parameters.
    pub start: Beginning,
    /// Initial parameters for some kinds of methods, in place of `start`.
    #[serde(default)]
    pub start_of: BTreeMap<String, Beginning>,
    /// Further initial parameters; each gives its own fits.
    #[serde(default)]
    pub also_from: Vec<Beginning>,
    /// Recorded steps.
    pub trace: Trace,
    /// Number of last iterates that are averaged; the average is measured in place of the last iterate. 0 if absent: no
    /// averaging.
    #[serde(default)]
    pub averaged: u64,
    /// Targets.
    #[serde(rename = "target", default)]
    targets: Vec<Entry>,
    /// Methods to compare.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
    /// Optimisers.
    #[serde(rename = "optimizer", default)]
    optimizers: Vec<Entry>,
}

/// One fit: everything that determines it except the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Target.
    pub target: Target,
    /// Variational family.
    pub family: Approximation,
    /// Initial parameters.
    pub start: Beginning,
    /// Estimator of the direction.
    pub method: Method,
    /// Optimiser.
    pub optimizer: Rule,
    /// Number of steps.
    pub steps: u64,
    /// Recorded steps.
    pub trace: Trace,
    /// Number of auxiliary sets of chains, from which the variance of the direction is estimated.
    #[serde(default, skip_serializing_if = "is_none")]
    pub auxiliary: u64,
    /// Number of last iterates that are averaged; the average is measured in place of the last iterate.
    #[serde(default, skip_serializing_if = "is_none")]
    pub averaged: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Targets, methods and optimisers of a grid.
type Axes = (Vec<Placed<Target>>, Vec<Placed<Method>>, Vec<Placed<Rule>>);

impl Fits {
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.expanded().map(drop)
    }

    fn expanded(&self) -> Result<Axes, Error> {
        let targets = expand::<Target>("fits.target", &self.targets)?;
        let (methods, rules) =
            (expand("fits.method", &self.methods)?, expand("fits.optimizer", &self.optimizers)?);
        let labels: Vec<&str> = targets.iter().map(|target| target.value.label()).collect();
        check_on::<Method>("fits.target", &labels, &methods)?;
        check_on::<Rule>("fits.target", &labels, &rules)?;
        let is_compared = |kind: &&String| methods.iter().any(|method| method.value.kind() == *kind);
        match self.start_of.keys().find(|kind| !is_compared(kind)) {
            Some(kind) => {
                Err(Error::invalid(format!("fits.start-of.{kind}: no [[fits.method]] is of this kind")))
            }
            None => Ok((targets, methods, rules)),
        }
    }

    /// Initial parameters of fits by a method.
    pub fn start_of(&self, method: &Method) -> Beginning {
        self.start_of.get(method.kind()).copied().unwrap_or(self.start)
    }

    pub(crate) fn tasks(&self, preset: &Preset) -> Result<Vec<Fit>, Error> {
        let (targets, methods, optimizers) = self.expanded()?;
        let mut tasks = Vec::new();
        for Placed { value: target, .. } in &targets {
            let label = target.label();
            let stride = preset.stride.unwrap_or(1).max(1);
            for optimizer in optimizers.iter().step_by(stride).filter(|optimizer| optimizer.is_on(label)) {
                let is_here = |m: &&Placed<Method>| m.is_on(label) && preset.admits(label, &m.value);
                let others = self.also_from.iter().chain(&preset.also_from).copied();
                for other in std::iter::once(None).chain(others.map(Some)) {
                    let fit = |method: &Placed<Method>| Fit {
                        target: target.clone(),
                        family: self.family.clone(),
                        start: other.unwrap_or_else(|| self.start_of(&method.value)),
                        method: method.value.clone(),
                        optimizer: optimizer.value.clone(),
                        steps: preset.steps,
                        trace: self.trace,
                        auxiliary: preset.auxiliary,
                        averaged: self.averaged,
                    };
                    for fit in methods.iter().filter(is_here).map(fit) {
                        // Fits that differ in no setting are listed once.
                        if !tasks.contains(&fit) {
                            tasks.push(fit);
                        }
                    }
                }
            }
        }
        Ok(tasks)
    }
}

impl Fit {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        if let Method::Ep { sweeps } = self.method {
            let done = propagate(self, sweeps, job, running)?;
            (running.progress)(self.work());
            return Ok(Some(done));
        }
        let checkpoints = Checkpoints::new(job, running);
        let problem = self.target.build(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let built = self.family.build(problem.posterior.dim());
        let family = Counted::new(&*built);
        let initial = self.start.draw(*family.inner(), &mut aside(job.seed, "start").stream(0, 0))?;
        let scene = Scene { fit: self, job, running, problem: &problem, target: &target, family: &family };
        self.method.meet(Climb { scene, checkpoints, initial })
    }

    pub(super) fn work(&self) -> u64 {
        self.steps * self.method.effort()
    }
}
