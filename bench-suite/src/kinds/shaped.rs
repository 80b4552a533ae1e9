//! Fits of families of any shape, begun alike and judged by draws of the target.

use mcsa::Error;
use mcsa_families::{Defence, Tail};
use mcsa_models::Tempered;
use serde::{Deserialize, Serialize};

use super::Trace;
use crate::catalog::{Method, Rule, Shape, Target};
use crate::experiment::Preset;
use crate::grid::{Entry, Placed, check_on, expand};

/// The section `[shapes]`: every target by every family, trained in every way.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shapes {
    /// Where fits begin, each in turn.
    pub starts: Vec<Warm>,
    /// What follows, each in turn.
    #[serde(rename = "schedule")]
    pub schedules: Vec<Schedule>,
    /// What moves lambda.
    pub optimizer: Rule,
    /// Which steps are recorded.
    pub trace: Trace,
    /// What is fitted.
    #[serde(rename = "target", default)]
    targets: Vec<Entry>,
    /// What fits.
    #[serde(rename = "family", default)]
    families: Vec<Entry>,
    /// What is compared.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
}

/// A fit with independent Gaussians by parallel chains, before that which is compared: the same for all families.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Warm {
    /// Every mean, before.
    pub mean: f64,
    /// Every standard deviation, before.
    pub scale: f64,
    /// How many steps, of Adam at rate 0.01.
    pub steps: u64,
}

/// How a fit is warmed up: one stage after the other, chains and optimiser begun anew in each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Schedule {
    /// What people call it.
    pub name: String,
    /// Its stages.
    pub stages: Vec<Stage>,
}

/// A stretch of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// Which part of the steps.
    pub part: f64,
    /// How often chains are offered a draw of a Cauchy tail around the start.
    pub defence: f64,
    /// The power of the target.
    pub power: f64,
}

/// One fit: everything that determines its path but the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapedFit {
    /// What is fitted.
    pub target: Target,
    /// What fits.
    pub family: Shape,
    /// What estimates the direction.
    pub method: Method,
    /// Where the fit begins.
    pub start: Warm,
    /// What follows.
    pub schedule: Schedule,
    /// What moves lambda.
    pub optimizer: Rule,
    /// How many steps, warm ones not counted.
    pub steps: u64,
    /// Which of them are recorded.
    pub trace: Trace,
}

/// What a step costs, in steps of the warm fit: about.
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
