//! Fits of variational families, as a task: target x family x start x schedule x method x optimiser; beside them target x method of
//! chains.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mcsa_core::Error;
use mcsa_families::{Defence, Tail};
use mcsa_models::{Gaussian, Tempered};
use serde::{Deserialize, Serialize};

use super::{Labels, Preset, Section, Task, at_most};
use crate::catalog::{FamilyConfig, Method, OptimizerConfig, Start, Target, is_default};
use crate::grid::{Placed, check_names, grid};

/// The section `[fits]`: every combination of target, family, optimiser, start, schedule and method.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fits {
    /// Initial parameters.
    pub start: Placed<Start>,
    /// Initial parameters for some kinds of methods, in place of `start`.
    #[serde(default)]
    pub start_of: BTreeMap<String, Placed<Start>>,
    /// Further initial parameters; each gives its own fits.
    #[serde(default)]
    pub also_from: Vec<Placed<Start>>,
    /// Recorded steps.
    pub trace: Trace,
    /// Metrics of a row.
    #[serde(default)]
    pub metrics: Metrics,
    /// Number of last iterates that are averaged; the average is measured in place of the last iterate. 0 if absent: no
    /// averaging.
    #[serde(default)]
    pub averaged: u64,
    /// Training schedules; each gives its own fits. Without one a fit has a single stage.
    #[serde(rename = "schedule", default)]
    schedules: Vec<Schedule>,
    #[serde(rename = "target", deserialize_with = "grid")]
    targets: Vec<Placed<Target>>,
    #[serde(rename = "family", deserialize_with = "grid")]
    families: Vec<Placed<FamilyConfig>>,
    #[serde(rename = "method", deserialize_with = "grid")]
    methods: Vec<Placed<Method>>,
    #[serde(rename = "optimizer", deserialize_with = "grid")]
    optimizers: Vec<Placed<OptimizerConfig>>,
}

/// Metrics of the rows of a fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metrics {
    /// Those of the target, such as held-out accuracy, and those of the method's kernel. They need a Gaussian family.
    #[default]
    Target,
    /// Divergence, k-hat and largest weight, by reference draws of the target.
    Reference,
    /// One row at the end of a fit to a logistic regression: the evidence lower bound on all training rows, its estimate of the
    /// evidence, predictions of held-out labels, and the clipped step sizes of annealed paths (SL-DAIS).
    ///
    /// ```text
    /// elbo = 1/S sum_s log w_s,   log_z = log 1/S sum_s w_s,   log w = log p(z, y) - log q(z)
    /// ```
    Bound {
        /// Number S of draws.
        draws: usize,
    },
    /// One row at the end of a fit of a family of paths: log evidence by particle filters at its last theta.
    ///
    /// ```text
    /// z ~ K,   lambda <- lambda + Adam(d/dlambda log q(z)),   theta <- theta + Adam(d/dtheta log p_theta(z, x))
    /// log_z                 by bootstrap filters, common to all methods
    /// log_z_as_published    msc: by the filter of the fitted steps and twists;   smc: by that of the fitted steps, untwisted
    /// ```
    ///
    /// All estimate `log p_theta(x)` at the fit's own theta. Theta differs between methods, so the estimated quantity differs
    /// too.
    Filters {
        /// Number of particles.
        particles: usize,
        /// Number of filters of each kind; the error of the estimate comes from their spread.
        filters: u64,
    },
}

/// One fit: everything that determines it except the seed.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    pub target: Target,
    pub family: FamilyConfig,
    pub start: Start,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    pub method: Method,
    pub optimizer: OptimizerConfig,
    /// Number of steps, without those of a warm fit.
    pub steps: u64,
    pub trace: Trace,
    #[serde(default, skip_serializing_if = "is_default")]
    pub metrics: Metrics,
    #[serde(default, skip_serializing_if = "is_default")]
    pub auxiliary: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub averaged: u64,
}

impl Fits {
    /// Initial parameters of fits by a method.
    pub fn start_of(&self, method: &Method) -> Start {
        self.start_of.get(method.kind()).unwrap_or(&self.start).value
    }
}

impl Section for Fits {
    fn check(&self) -> Result<(), Error> {
        self.schedules.iter().try_for_each(Schedule::check)?;
        let labels: Vec<&str> = self.targets.iter().map(|target| target.value.label()).collect();
        let kinds: Vec<&str> = self.methods.iter().map(|method| method.value.kind()).collect();
        let targets = ("fits.target", &labels[..]);
        check_names(&self.families, targets, &kinds)?;
        check_names(&self.methods, targets, &kinds)?;
        check_names(&self.optimizers, targets, &kinds)?;
        match self.start_of.keys().find(|kind| !kinds.contains(&kind.as_str())) {
            Some(kind) => {
                Err(Error::invalid(format!("fits.start-of.{kind}: no [[fits.method]] is of this kind")))
            }
            None => Ok(()),
        }
    }

    fn labels(&self, presets: &[&Preset]) -> Labels {
        let starts = std::iter::once(&self.start).chain(self.start_of.values()).chain(&self.also_from);
        Labels::default()
            .with("target", &self.targets)
            .with("family", &self.families)
            .with("method", &self.methods)
            .with("optimizer", &self.optimizers)
            .with("start", starts.chain(presets.iter().flat_map(|preset| &preset.also_from)))
    }

    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let others = self.also_from.iter().chain(&preset.also_from).map(|start| start.value);
        let starts: Vec<Option<Start>> = std::iter::once(None).chain(others.map(Some)).collect();
        let schedules = self.schedules.iter().cloned().map(Some);
        let schedules: Vec<_> = schedules.chain(self.schedules.is_empty().then_some(None)).collect();
        let varied = starts.iter().flat_map(|start| schedules.iter().map(move |each| (start, each)));
        let varied: Vec<_> = varied.collect();
        let optimizers = || self.optimizers.iter().step_by(preset.stride.unwrap_or(1).max(1));
        let (mut fits, mut chains) = (Vec::new(), Vec::new());
        for Placed { value: target, .. } in &self.targets {
            let label = target.label();
            let admitted = self.methods.iter().filter(|m| m.is_on(label) && preset.admits(label, &m.value));
            let (samplers, methods): (Vec<&Method>, Vec<&Method>) =
                admitted.map(|placed| &placed.value).partition(|method| method.sampling().is_some());
            for &method in &samplers {
                let (target, method) = (target.clone(), method.clone());
                chains.push(Chains { target, method, draws: preset.draws });
            }
            for family in self.families.iter().filter(|family| family.is_on(label)) {
                for optimizer in optimizers().filter(|optimizer| optimizer.is_on(label)) {
                    let is_fitted = |kind: &str| family.is_with(kind) && optimizer.is_with(kind);
                    for &(start, schedule) in &varied {
                        let methods = methods.iter().filter(|method| is_fitted(method.kind()));
                        fits.extend(methods.map(|&method| Fit {
                            target: target.clone(),
                            family: family.value.clone(),
                            start: start.unwrap_or_else(|| self.start_of(method)),
                            schedule: schedule.clone(),
                            method: method.clone(),
                            optimizer: optimizer.value.clone(),
                            steps: preset.steps,
                            trace: self.trace,
                            metrics: self.metrics,
                            auxiliary: preset.auxiliary,
                            averaged: self.averaged,
                        }));
                    }
                }
            }
        }
        fits.iter().try_for_each(Fit::check)?;
        chains.iter().try_for_each(Chains::check)?;
        // Fits that differ in no setting are listed once.
        let is_first = |(place, fit): &(usize, &Fit)| !fits[..*place].contains(fit);
        let fits = fits.iter().enumerate().filter(is_first).map(|(_, fit)| Task::Fit(fit.clone()));
        Ok(fits.chain(chains.into_iter().map(Task::Chains)).collect())
    }
}

/// The first fault of a list, as an error.
fn faultless<const N: usize>(faults: [(bool, String); N]) -> Result<(), Error> {
    match faults.into_iter().find(|(is_fault, _)| *is_fault) {
        Some((_, reason)) => Err(Error::invalid(reason)),
        None => Ok(()),
    }
}

impl Fit {
    /// An error for settings that do not fit together.
    pub fn check(&self) -> Result<(), Error> {
        let (family, method, target) = (self.family.kind(), self.method.kind(), self.target.kind());
        let (is_staged, is_gaussian) = (self.is_staged(), self.family.is_gaussian());
        let has_more = self.auxiliary + self.averaged > 0;
        match self.metrics {
            Metrics::Filters { particles, filters } => {
                let is_path = matches!(self.target, Target::FxVolatility { .. });
                let is_moved = matches!(self.method, Method::Msc { .. } | Method::Smc { .. });
                let is_published = self.family == FamilyConfig::Twisted && self.start == Start::Probit;
                let counts = "fits.metrics.filters: particles and filters are at least 1";
                let plain = "a fit of paths has family twisted and start probit, and no schedule, average or auxiliary sets";
                faultless([
                    (particles == 0 || filters == 0, counts.to_owned()),
                    (!is_path, format!("target {target} has no paths, which metrics of filters need")),
                    (!is_moved, format!("method {method} moves no paths; msc and smc do")),
                    (!is_published || self.schedule.is_some() || has_more, plain.to_owned()),
                ])
            }
            Metrics::Bound { draws } => self.check_bound(draws),
            Metrics::Target | Metrics::Reference => {
                let is_bound =
                    matches!(self.method, Method::Minibatched { .. }) || self.family.is_pushforward();
                let is_random = self.start.place().is_none();
                let shapes = "families of any shape, and schedules, are fitted by";
                faultless([
                    (is_bound, format!("method {method} and family {family} need metrics of the bound")),
                    (
                        is_staged && !self.method.fits_any_family(),
                        format!("method {method} is not among those that {shapes}"),
                    ),
                    (
                        is_staged && has_more,
                        format!("auxiliary sets and averages are not for schedules, nor for {family}"),
                    ),
                    (
                        !is_gaussian && is_random,
                        format!("family {family} begins at start standard, placed or warm"),
                    ),
                    (
                        !is_gaussian && self.metrics == Metrics::Target,
                        format!("family {family} needs metrics = \"reference\""),
                    ),
                ])
            }
        }
    }

    /// An error for a fit with metrics of the bound whose settings do not fit together.
    fn check_bound(&self, draws: usize) -> Result<(), Error> {
        let has_first_part = matches!(self.target, Target::SparseProcess(_) | Target::LocalRegression(_));
        let is_fitted = match (&self.target, &self.family) {
            (Target::SparseProcess(_), FamilyConfig::Annealed(annealed)) => annealed.full_rank,
            (Target::SparseProcess(_), family) => *family == FamilyConfig::FullRank,
            (Target::LocalRegression(_), family) => {
                matches!(family, FamilyConfig::SemiAnnealed(_) | FamilyConfig::MeanField { .. })
            }
            (_, family) => !matches!(family, FamilyConfig::SemiAnnealed(_)),
        };
        let is_by_bound = matches!(self.method, Method::Elbo { .. } | Method::Minibatched { .. });
        let is_placed = self.start.place().is_some() && (self.start.warm_steps() == 0 || has_first_part);
        let (family, method, target) = (self.family.title(), self.method.kind(), self.target.kind());
        let fit = "a fit with metrics of the bound";
        faultless([
            (draws < 2, "metrics of the bound: at least 2 draws".to_owned()),
            (
                !self.target.has_labels() && !has_first_part,
                format!("target {target} has no rows for metrics of the bound"),
            ),
            (!is_fitted, format!("family {family} has no bound of target {target}")),
            (!is_placed, format!("{fit} begins at start standard or placed")),
            (
                self.schedule.is_some() || self.auxiliary + self.averaged > 0,
                format!("{fit} has no schedule, average or auxiliary sets"),
            ),
            (!is_by_bound, format!("method {method} is not for metrics of the bound")),
            (self.family == FamilyConfig::Twisted, "twisted is for metrics of filters".to_owned()),
        ])?;
        match &self.family {
            FamilyConfig::Annealed(annealed) => annealed.check(),
            _ => Ok(()),
        }
    }

    /// Returns true if the fit has a schedule or a family that is not Gaussian.
    pub(crate) fn is_staged(&self) -> bool {
        self.schedule.is_some() || !self.family.is_gaussian()
    }

    /// The schedule, a single stage if there is none.
    pub(crate) fn stages(&self) -> &Schedule {
        self.schedule.as_ref().unwrap_or(&PLAIN)
    }

    /// Family, schedule and start in words, unless they are the usual ones.
    pub(super) fn variant(&self) -> String {
        match (&self.schedule, self.start.place()) {
            (Some(schedule), Some((mean, _))) => {
                format!(" in {}, {}, from {mean}", self.family.kind(), schedule.name)
            }
            (Some(schedule), None) => format!(" in {}, {}", self.family.kind(), schedule.name),
            (None, _) if matches!(self.family, FamilyConfig::MeanField { .. } | FamilyConfig::Twisted) => {
                String::new()
            }
            (None, _) => format!(" in {}", self.family.title()),
        }
    }

    /// Steps at which rows are recorded.
    pub(crate) fn recorded(&self) -> Vec<u64> {
        match self.metrics {
            Metrics::Filters { .. } | Metrics::Bound { .. } => vec![self.steps],
            _ => self.trace.steps(self.steps),
        }
    }

    /// Units of progress: steps of a warm fit, steps, filters.
    pub(super) fn units(&self) -> u64 {
        let filters = if let Metrics::Filters { filters, .. } = self.metrics { 2 * filters } else { 0 };
        self.start.warm_steps() + self.steps + filters
    }

    /// Work of the first units of progress. Steps of flows are longer than those of a warm fit; a step along a path moves as many
    /// states as there are particles, and so does a filter with its own particles.
    pub(super) fn work_of(&self, units: u64) -> u64 {
        match self.metrics {
            Metrics::Filters { particles, .. } => {
                let (steps, filters) = (units.min(self.steps), units.saturating_sub(self.steps));
                (steps * self.method.budget() as u64 * 20 + filters * particles as u64) / 1000
            }
            _ => {
                let longer = if self.is_staged() { 4 } else { 1 };
                let steps = units.saturating_sub(self.start.warm_steps());
                (units - steps + longer * steps) * self.method.effort()
            }
        }
    }
}

/// Markov chains on the posterior of a logistic regression, or on an approximation of it (see [`Method::NutsCs`] and
/// [`Method::Hmcecs`]). Each chain has its own warm-up, of half as many steps as it has draws.
///
/// One row at the end: predictions of held-out labels, the largest R-hat and the smallest bulk effective sample size of a
/// coordinate, and the evaluated likelihood terms. The unit of progress and of checkpoints is a chain.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chains {
    pub target: Target,
    pub method: Method,
    pub draws: u64,
}

impl Chains {
    /// Steps of the warm-up of each chain.
    pub fn warm_up(&self) -> u64 {
        self.draws / 2
    }

    pub(crate) fn count(&self) -> u64 {
        self.method.sampling().unwrap_or(0) as u64
    }

    fn check(&self) -> Result<(), Error> {
        let (kind, target) = (self.method.kind(), self.target.kind());
        faultless([
            (!self.target.is_logistic(), format!("target {target} has no rows for method {kind}")),
            (self.draws == 0, format!("method {kind} needs a number of draws in the preset")),
            (self.count() == 0, format!("method {kind} needs at least one chain")),
        ])
    }
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

/// One stage on the target as it is, with proposals from q alone.
static PLAIN: LazyLock<Schedule> = LazyLock::new(|| Schedule {
    name: "plain".to_owned(),
    stages: vec![Stage { part: 1.0, defence: 0.0, power: 1.0 }],
});

impl Schedule {
    fn check(&self) -> Result<(), Error> {
        let place = |error: Error| error.within(format!("fits.schedule {:?}", self.name));
        let parts: f64 = self.stages.iter().map(|stage| stage.part).sum();
        if !((parts - 1.0).abs() <= 1e-9) || self.stages.iter().any(|stage| !(stage.part > 0.0)) {
            return Err(place(Error::invalid("the parts are positive and add up to 1")));
        }
        self.stages.iter().try_for_each(|stage| {
            Tempered::new(&Gaussian::standard(1), stage.power).map(drop).map_err(place)?;
            Defence::new(stage.defence, Tail::cauchy(1)).map(drop).map_err(place)
        })
    }

    /// First and last step of each stage of a fit with `steps` steps: `(0, 80), (80, 400)`.
    pub(crate) fn spans(&self, steps: u64) -> Vec<(u64, u64)> {
        let end = |number: usize| {
            let parts: f64 = self.stages[..number].iter().map(|stage| stage.part).sum();
            (parts * steps as f64).round() as u64
        };
        (0..self.stages.len()).map(|number| (end(number), end(number + 1))).collect()
    }
}

/// Steps at which a row is recorded: the first, the last, and points between.
///
/// ```
/// use mcsa_bench_suite::task::{Spacing, Trace};
/// let trace = Trace { points: 3, spacing: Spacing::Logarithmic };
/// assert_eq!(trace.steps(1000), [0, 1, 32, 1000]);
/// assert_eq!(Trace { points: 2, spacing: Spacing::Even }.steps(10), [0, 5, 10]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Trace {
    /// Number of rows after the start, at most 100,000 in a file; fewer if several would fall on one step.
    #[serde(deserialize_with = "at_most::<MOST, _>")]
    pub points: u64,
    /// Spacing of the rows.
    pub spacing: Spacing,
}

/// Spacing of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Equal differences.
    Even,
    /// Equal ratios.
    Logarithmic,
}

/// Most rows of a fit that a file may ask for.
const MOST: u64 = 100_000;

impl Trace {
    /// Recorded steps of a fit with `last` steps.
    pub fn steps(&self, last: u64) -> Vec<u64> {
        let points = self.points.max(1);
        let step = |k: u64| match self.spacing {
            Spacing::Even => (u128::from(last) * u128::from(k) / u128::from(points)) as u64,
            Spacing::Logarithmic if points == 1 => last,
            Spacing::Logarithmic => (last as f64).powf((k - 1) as f64 / (points - 1) as f64).round() as u64,
        };
        let mut steps: Vec<u64> = std::iter::once(0).chain((1..=points).map(step)).chain([last]).collect();
        steps.dedup();
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^31 rows would ask for 17 GB before the first step.
    #[test]
    fn a_file_cannot_ask_for_more_rows_than_fit_in_memory() {
        let read = |points: u64| toml::from_str::<Trace>(&format!("points = {points}\nspacing = \"even\""));
        assert_eq!(read(MOST).unwrap().points, MOST);
        let error = read(1 << 31).unwrap_err().to_string();
        assert!(error.contains("at most 100000, not 2147483648"), "{error}");
        let replicates = |count: u64| format!("replicates = {count}\nsteps = 1");
        assert!(toml::from_str::<Preset>(&replicates(10_000)).is_ok());
        let error = toml::from_str::<Preset>(&replicates(u64::MAX >> 1)).unwrap_err().to_string();
        assert!(error.contains("at most 10000, not 9223372036854775807"), "{error}");
    }

    #[test]
    fn parts_of_a_schedule_are_numbers() {
        let of = |parts: &[f64]| {
            let stages = parts.iter().map(|&part| Stage { part, defence: 0.1, power: 1.0 }).collect();
            Schedule { name: "s".into(), stages }.check().is_ok()
        };
        assert!(of(&[0.25, 0.75]) && !of(&[0.5, 0.75]) && !of(&[f64::NAN]) && !of(&[0.0, 1.0]));
    }
}
