//! Tasks of jobs as plain data, and the sections of an experiment that plan them. Their execution is in [`jobs`](crate::jobs).

mod cases;
mod fit;
mod fixed;

pub use cases::{Benchmark, Benchmarks, Judgement, Judgements, Rung, Rungs};
pub use fit::{Chains, Fit, Fits, Metrics, Schedule, Spacing, Stage, Trace};
pub use fixed::{Scatter, Scatters, Setting, Variance, Variances};

use std::collections::BTreeMap;

use mcsa_core::{Error, Seed};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use crate::catalog::{FamilyConfig, Method, Start, Target};
use crate::grid::{Placed, is_among};
use crate::look;

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
    /// Fits by `mcsa::fit`, with their verdicts.
    Judgement(Judgement),
    /// Fits of one family by running moments, from displaced moments of the target or from Laplace's approximation.
    Rung(Rung),
    /// Runs of a method of inference within growing budgets.
    Benchmark(Benchmark),
    /// Markov chains whose draws are measured.
    Chains(Chains),
}

/// The same expression of every kind of task.
macro_rules! of_each {
    ($any:expr, $task:ident => $of:expr) => {
        match $any {
            Task::Fit($task) => $of,
            Task::Variance($task) => $of,
            Task::Scatter($task) => $of,
            Task::Judgement($task) => $of,
            Task::Rung($task) => $of,
            Task::Benchmark($task) => $of,
            Task::Chains($task) => $of,
        }
    };
}
pub(crate) use of_each;

pub(crate) trait Section {
    /// An error for settings that [`labels`](Self::labels) and [`tasks`](Self::tasks) take.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Labels of its settings and of those of presets.
    fn labels(&self, presets: &[&Preset]) -> Labels;

    /// Tasks at a preset, each to be replicated.
    fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error>;
}

impl Task {
    /// Target of the task.
    pub fn target(&self) -> &Target {
        of_each!(self, task => &task.target)
    }

    /// Method of the task.
    pub fn method(&self) -> &Method {
        of_each!(self, task => &task.method)
    }

    /// True if the result depends on the code of `mcsa::fit`, or of the jobs on cases: judgements, rungs and benchmarks.
    pub(crate) fn has_call(&self) -> bool {
        matches!(self, Self::Judgement(_) | Self::Rung(_) | Self::Benchmark(_))
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
            Self::Rung(rung) => {
                let family = look::name(rung.family.kind());
                format!(", {family}, within {} evaluations", rung.evaluations)
            }
        }
    }

    /// Amount of work in units of about equal cost: for progress and estimates of time.
    pub fn work(&self) -> u64 {
        self.work_of(self.units())
    }

    /// Number of units of progress: steps, transitions, chains, whole fits.
    pub(crate) fn units(&self) -> u64 {
        match self {
            Self::Fit(fit) => fit.units(),
            Self::Scatter(Scatter { lambdas, setting, .. }) => lambdas * setting.chains,
            Self::Benchmark(benchmark) => benchmark.reached().len() as u64,
            Self::Chains(chains) => chains.count(),
            Self::Variance(_) | Self::Judgement(_) | Self::Rung(_) => self.length(),
        }
    }

    /// Work of the first units of progress.
    pub(crate) fn work_of(&self, units: u64) -> u64 {
        match self {
            Self::Fit(fit) => fit.work_of(units),
            Self::Variance(variance) => units * variance.method.effort(),
            Self::Scatter(Scatter { setting, method, .. }) => units * setting.length * method.effort(),
            Self::Judgement(Judgement { evaluations, .. }) | Self::Rung(Rung { evaluations, .. }) => {
                units * evaluations
            }
            Self::Benchmark(benchmark) => benchmark.work_of(units),
            Self::Chains(chains) => units * (chains.warm_up() + chains.draws) * chains.method.effort(),
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

    /// Length, to be changed.
    pub fn length_mut(&mut self) -> &mut u64 {
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

/// Everything that determines one result. Two equal jobs have bit-identical rows, except for seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the experiment when its jobs were named, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeded_as: Option<String>,
    /// The task.
    pub task: Task,
    /// SHA-256 of the data; `None` if there are none, or if a synthetic stand-in is used.
    pub data: Option<String>,
    /// Number of the replicate, from 0.
    pub replicate: u64,
    /// Seed of the job's randomness.
    pub seed: Seed,
}

impl Job {
    /// Name of the job: a hash of its canonical text, 32 hexadecimal digits.
    pub fn id(&self) -> String {
        // A struct of numbers and strings can always be serialised.
        let text = match &self.seeded_as {
            Some(name) => {
                serde_json::to_string(&Self { experiment: name.clone(), seeded_as: None, ..self.clone() })
            }
            None => serde_json::to_string(self),
        };
        let text = text.unwrap_or_default();
        format!("{:032x}", fnv(text.as_bytes()))
    }

    /// Description of the job: experiment, target, method, replicate.
    pub fn title(&self) -> String {
        let origin = if self.is_stand_in() { "SYNTHETIC " } else { "" };
        format!("{}, {origin}{}, replicate {}", self.experiment, self.task.title(), self.replicate)
    }

    /// Returns true if the data are a synthetic stand-in of a data set.
    pub fn is_stand_in(&self) -> bool {
        self.data.is_none() && self.task.target().data().is_some()
    }
}

/// 128-bit FNV-1a hash (Fowler, Noll & Vo): for names; not cryptographic.
fn fnv(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, &byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// Most replicates that a file may ask for: each is a job in memory before the first one runs.
const MOST: u64 = 10_000;

/// A number of replicates or rows that fit in memory.
fn at_most<'de, const MOST: u64, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let count = u64::deserialize(deserializer)?;
    let too_many = || serde::de::Error::custom(format!("at most {MOST}, not {count}"));
    if count <= MOST { Ok(count) } else { Err(too_many()) }
}

/// Amount of computation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Preset {
    /// Independent repetitions of each job, at most 10,000 in a file.
    #[serde(deserialize_with = "at_most::<MOST, _>")]
    pub replicates: u64,
    /// Steps of a fit; transitions behind a variance; parameters of a scatter.
    pub steps: u64,
    /// Draws of each chain of methods whose draws are measured without a fit, after a warm-up of half as many steps.
    #[serde(default)]
    pub draws: u64,
    /// Only targets with these labels.
    pub targets: Option<Vec<String>>,
    /// Only methods of these kinds.
    pub methods: Option<Vec<String>>,
    /// Only methods with these budgets.
    pub budgets: Option<Vec<usize>>,
    /// Fewer replicates for some kinds of methods, `hmc = 5`, or for one on one target, `"hmc on pima" = 0`, or for annealed paths with
    /// some surrogate, `posterior = 3`.
    #[serde(default)]
    pub fewer: BTreeMap<String, u64>,
    /// Further initial parameters; each gives its own fits.
    #[serde(default)]
    pub also_from: Vec<Placed<Start>>,
    /// Use only every n-th optimiser of the file, beginning with the first.
    pub stride: Option<usize>,
    /// Number of auxiliary sets of chains beside each fit, from which the variance of its direction is measured; 0 if absent.
    #[serde(default)]
    pub auxiliary: u64,
}

impl Preset {
    /// Keys of a task in `fewer`: method and target, method, and the surrogate of annealed paths; the first that is listed counts.
    pub(crate) fn keys_of(task: &Task) -> Vec<String> {
        let kind = task.method().kind();
        let mut keys = vec![format!("{kind} on {}", task.target().label()), kind.to_owned()];
        if let Task::Benchmark(benchmark) = task {
            let title = benchmark.target.title();
            keys.splice(..0, [format!("{kind} on {title}"), title]);
        }
        if let Some(FamilyConfig::Annealed(annealed)) = task.fit().map(|fit| &fit.family) {
            keys.push(<&str>::from(annealed.surrogate).to_owned());
        }
        keys
    }

    pub(crate) fn replicates_of(&self, task: &Task) -> u64 {
        let fewer = Self::keys_of(task).iter().find_map(|key| self.fewer.get(key)).copied();
        fewer.map_or(self.replicates, |fewer| fewer.min(self.replicates))
    }

    /// Returns true if the preset includes this target and this method.
    pub(crate) fn admits(&self, target: &str, method: &Method) -> bool {
        let has_budget = self.budgets.as_ref().is_none_or(|budgets| budgets.contains(&method.budget()));
        is_among(&self.targets, target) && is_among(&self.methods, method.kind()) && has_budget
    }
}

/// Labels of an experiment. They are no part of its tasks: a label changes no job, seed or result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels(Vec<(&'static str, Json, String)>);

impl Labels {
    /// Adds the labels of values of one setting, such as `method`.
    #[must_use]
    fn with<'p, T: Serialize + 'p>(
        mut self,
        setting: &'static str,
        placed: impl IntoIterator<Item = &'p Placed<T>>,
    ) -> Self {
        let labelled = placed.into_iter().filter_map(|placed| Some((placed, placed.label()?)));
        let entry = |(placed, label): (&Placed<T>, &str)| {
            (setting, serde_json::to_value(&placed.value).unwrap_or_default(), label.to_owned())
        };
        self.0.extend(labelled.map(entry));
        self
    }

    /// Two labels for one value are an error: a job would have both.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (k, (setting, value, label)) in self.0.iter().enumerate() {
            if let Some((.., other)) =
                self.0[..k].iter().find(|(s, v, l)| s == setting && v == value && l != label)
            {
                return Err(Error::invalid(format!("one {setting} has the labels {other:?} and {label:?}")));
            }
        }
        Ok(())
    }

    /// The label of a value of a setting.
    pub fn of(&self, setting: &str, value: &Json) -> Option<&str> {
        let is_it = |(known, of, _): &&(&'static str, Json, String)| *known == setting && of == value;
        self.0.iter().find(is_it).map(|(.., label)| label.as_str())
    }
}

#[cfg(test)]
mod tests {
    use mcsa_data::Catalogue;

    use super::*;
    use crate::experiment::{Experiment, PresetName};
    use crate::plan::plan;
    use crate::registry::REGISTRY;

    /// A renamed experiment keeps the names of its jobs.
    #[test]
    fn a_job_is_named_as_it_was() {
        let entry = &REGISTRY[0];
        let experiment = entry.experiment().unwrap();
        let catalogue = Catalogue::new(None);
        let plan = plan(&experiment, PresetName::Quick, &catalogue).unwrap();
        let job = &plan.jobs[0];
        assert_eq!((job.experiment.as_str(), job.seeded_as.as_deref()), ("ours/gaussian", Some("gaussian")));
        let old = Job { experiment: "gaussian".into(), seeded_as: None, ..job.clone() };
        assert_eq!((job.id(), job.seed), (old.id(), Seed::new(1).named("gaussian").child(0)));
        assert_ne!(Job { seeded_as: None, ..job.clone() }.id(), old.id());
    }

    /// Published test vectors of FNV-1a, 128 bits.
    #[test]
    fn the_hash_is_fnv() {
        assert_eq!(fnv(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn a_label_changes_no_job_and_two_labels_of_one_value_are_an_error() {
        let text = &REGISTRY[0].text;
        let plain = Experiment::parse("x.toml", text).unwrap();
        let labelled = text.replacen("kind = \"jsa\"", "kind = \"jsa\"\nlabel = \"one chain\"", 1);
        let labelled =
            labelled.replacen("{ kind = \"standard\" }", "{ kind = \"standard\", label = \"near\" }", 1);
        let found = Experiment::parse("x.toml", &labelled).unwrap();
        let preset = plain.preset(PresetName::Quick).unwrap();
        let tasks = found.tasks(preset).unwrap();
        assert_eq!(tasks, plain.tasks(preset).unwrap());
        let labels = found.labels();
        let of = |key: &str, value: serde_json::Value| labels.of(key, &value).map(str::to_owned);
        assert_eq!(of("start", serde_json::json!({ "kind": "standard" })).as_deref(), Some("near"));
        for task in &tasks {
            let label = of("method", serde_json::to_value(task.method()).unwrap());
            assert_eq!(label.is_some(), task.method().kind() == "jsa");
        }
        let twice = "\n[[fits.method]]\nkind = \"jsa\"\ntransitions = 10\nlabel = \"other\"\n";
        let error = Experiment::parse("x.toml", &(labelled + twice)).unwrap_err().to_string();
        assert!(error.contains("one chain") && error.contains("other"), "{error}");
    }
}
