//! Fits of families of any shape, started from one warm fit and evaluated with reference draws.

use mcsa_core::Error;
use mcsa_families::{Defence, Tail};
use mcsa_models::Tempered;
use serde::{Deserialize, Serialize};

use super::Trace;
use crate::catalog::{Method, Rule, Shape, Target};
use crate::experiment::Preset;
use crate::grid::{Entry, Placed, check_on, expand};

/// The section `[shapes]`: every combination of target, family, schedule and method.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shapes {
    /// Warm fits; each gives its own fits.
    pub starts: Vec<Warm>,
    /// Schedules; each gives its own fits.
    #[serde(rename = "schedule")]
    pub schedules: Vec<Schedule>,
    /// Optimiser.
    pub optimizer: Rule,
    /// Recorded steps.
    pub trace: Trace,
    /// Targets.
    #[serde(rename = "target", default)]
    targets: Vec<Entry>,
    /// Families.
    #[serde(rename = "family", default)]
    families: Vec<Entry>,
    /// Methods to compare.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
}

/// Warm fit: a mean-field Gaussian fitted by parallel chains, common to all families, from which the compared fits begin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Warm {
    /// Initial mean of every coordinate.
    pub mean: f64,
    /// Initial standard deviation of every coordinate.
    pub scale: f64,
    /// Number of steps, of Adam at rate 0.01.
    pub steps: u64,
}

/// Training schedule: stages in sequence; chains and optimiser are restarted in each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Schedule {
    /// Display name.
    pub name: String,
    /// Stages.
    pub stages: Vec<Stage>,
}

/// One stage of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// Fraction of all steps.
    pub part: f64,
    /// Weight of the defensive component of the proposal, a Cauchy distribution around the start.
    pub defence: f64,
    /// Power to which the target density is raised.
    pub power: f64,
}

/// One fit: everything that determines it except the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapedFit {
    /// Target.
    pub target: Target,
    /// Family.
    pub family: Shape,
    /// Estimator of the direction.
    pub method: Method,
    /// Warm fit.
    pub start: Warm,
    /// Training schedule.
    pub schedule: Schedule,
    /// Optimiser.
    pub optimizer: Rule,
    /// Number of steps without the warm fit.
    pub steps: u64,
    /// Recorded steps.
    pub trace: Trace,
}

/// Approximate cost of a step, in steps of the warm fit.
pub(super) const WORK_OF_STEP: u64 = 4;

impl Shapes {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.starts.is_empty() || self.schedules.is_empty() {
            return Err(Error::invalid(
                "shapes: at least one of starts and one [[shapes.schedule]] are needed",
            ));
        }
        self.schedules.iter().try_for_each(Schedule::check)?;
        let methods = expand::<Method>("shapes.method", &self.methods)?;
        match methods.iter().find(|method| !is_known(&method.value)) {
            Some(other) => Err(Error::invalid(format!(
                "shapes.method: {} is not among those that families of any shape are fitted by",
                other.value.kind()
            ))),
            None => {
                let (targets, families, methods) = self.expanded()?;
                let labels: Vec<&str> = targets.iter().map(|target| target.value.label()).collect();
                check_on("shapes.target", &labels, &families)?;
                check_on("shapes.target", &labels, &methods)
            }
        }
    }

    #[expect(clippy::type_complexity, reason = "the axes of a grid, named where they are taken apart")]
    fn expanded(&self) -> Result<(Vec<Placed<Target>>, Vec<Placed<Shape>>, Vec<Placed<Method>>), Error> {
        Ok((
            expand("shapes.target", &self.targets)?,
            expand("shapes.family", &self.families)?,
            expand("shapes.method", &self.methods)?,
        ))
    }

    pub(crate) fn tasks(&self, preset: &Preset) -> Result<Vec<ShapedFit>, Error> {
        let (targets, families, methods) = self.expanded()?;
        let mut tasks = Vec::new();
        for target in targets.iter().map(|placed| &placed.value) {
            let label = target.label();
            for family in families.iter().filter(|family| family.is_on(label)) {
                let is_here = |m: &&Placed<Method>| m.is_on(label) && preset.admits(label, &m.value);
                for (start, schedule) in
                    self.starts.iter().flat_map(|start| self.schedules.iter().map(move |each| (start, each)))
                {
                    tasks.extend(methods.iter().filter(is_here).map(|method| ShapedFit {
                        target: target.clone(),
                        family: family.value.clone(),
                        method: method.value.clone(),
                        start: *start,
                        schedule: schedule.clone(),
                        optimizer: self.optimizer.clone(),
                        steps: preset.steps,
                        trace: self.trace,
                    }));
                }
            }
        }
        Ok(tasks)
    }
}

fn is_known(method: &Method) -> bool {
    matches!(method, Method::Pmcsa { .. } | Method::Jsa { .. } | Method::MscRb { .. } | Method::Elbo { .. })
}

impl Schedule {
    fn check(&self) -> Result<(), Error> {
        let place = |error: Error| error.within(format!("shapes.schedule {:?}", self.name));
        let parts: f64 = self.stages.iter().map(|stage| stage.part).sum();
        if (parts - 1.0).abs() > 1e-9 || self.stages.iter().any(|stage| stage.part <= 0.0) {
            return Err(place(Error::invalid("the parts are positive and add up to 1")));
        }
        self.stages.iter().try_for_each(|stage| {
            Tempered::new(&mcsa_models::Gaussian::standard(1), stage.power).map(drop).map_err(place)?;
            Defence::new(stage.defence, Tail::cauchy(1)).map(drop).map_err(place)
        })
    }
}

impl ShapedFit {
    pub(super) fn work(&self) -> u64 {
        (self.start.steps + WORK_OF_STEP * self.steps) * self.method.effort()
    }
}
