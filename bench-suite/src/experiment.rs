//! Experiments as read from their TOML files.

use std::collections::BTreeMap;

use mcsa_core::{Error, Seed};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::figures::Drawn;
use crate::ignored::ignored;
use crate::metric::metric;
use crate::tables::Written;
pub use crate::task::Preset;
use crate::task::{Benchmarks, Fits, Judgements, Labels, Rungs, Scatters, Section, Task, Variances};

/// Sections that define jobs.
const SECTIONS: [&str; 6] = ["fits", "variances", "scatter", "judgements", "rungs", "benchmarks"];

/// Contents of a file `papers/<paper>/<figure>.toml`. Exactly one section defines the jobs: `[fits]`, `[variances]`, `[scatter]`,
/// `[judgements]`, `[rungs]` or `[benchmarks]`. A file with the section `[exhibit]` in their place has no jobs and no presets:
/// its results are computed when they are drawn.
///
/// A list as the setting of a target, method or optimiser expands to one entry for each of its values:
/// `{ kind = "pmcsa", chains = [4, 16] }` are two methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// Name: that of its file and of its folder of results, `<paper>/<figure>` or a single word.
    pub id: String,
    /// Alternative names, such as those of other figures that use the same fits.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    pub(crate) title: String,
    /// Published figures or tables, by citation key: `CW, Fig. 6`.
    #[serde(default)]
    pub(crate) reproduces: Vec<String>,
    /// Seed from which the seeds of all jobs are derived.
    pub seed: u64,
    /// Name from which seeds and names of jobs are derived, if it is not `id`: an experiment that is renamed keeps its results.
    pub(crate) seeded_as: Option<String>,
    /// Published table to compare with, if there is one.
    pub published: Option<Published>,
    /// Notes for the reader: settings that the papers leave open, known faults of the reproduced experiment.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// Metrics of the standard figures and tables; all recorded ones if absent.
    #[serde(default)]
    pub(crate) shows: Vec<String>,
    /// Claims, which are read by [`claims`](crate::claims) and change no result.
    #[serde(rename = "claim", default)]
    claims: Vec<IgnoredAny>,
    #[serde(rename = "claims", default)]
    claims_common: Option<IgnoredAny>,
    /// Figures, in place of the standard ones.
    #[serde(rename = "figure", default)]
    pub(crate) figures: Vec<Drawn>,
    /// Tables, in addition to the one of published cells.
    #[serde(rename = "table", default)]
    pub(crate) tables: Vec<Written>,
    /// Amount of computation in each preset.
    #[serde(rename = "preset", default)]
    pub presets: BTreeMap<PresetName, Preset>,
    pub(crate) fits: Option<Fits>,
    pub(crate) variances: Option<Variances>,
    pub(crate) scatter: Option<Scatters>,
    pub(crate) judgements: Option<Judgements>,
    pub(crate) rungs: Option<Rungs>,
    pub(crate) benchmarks: Option<Benchmarks>,
    pub(crate) exhibit: Option<Exhibit>,
}

/// The section `[exhibit]`, which has no settings.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exhibit {}

/// A published table, and the level of the intervals computed for comparison with it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Published {
    /// Its citation in `published/cells.csv`.
    pub table: String,
    /// Level of the intervals, such as 0.8.
    pub level: f64,
    /// Our metrics by the published formulas, where these differ from ours: `{ lpd = "lpd_as_published" }`. Cells are compared with
    /// them, and ours stand beside them as corrected.
    #[serde(default)]
    pub as_published: BTreeMap<String, String>,
}

/// The presets of every experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum PresetName {
    /// All figures in about a minute of two processors.
    Quick,
    /// All figures in roughly half an hour of two processors.
    Default,
    /// As many replicates as were published: hours.
    Paper,
}

impl PresetName {
    /// Name as typed by the user.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Paper => "paper",
        }
    }
}

impl Experiment {
    /// Parses the text of an experiment file.
    ///
    /// # Errors
    /// If it is malformed or names something unknown; the message names file and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let place = |error: Error| error.within(file);
        let experiment: Self =
            toml::from_str(text).map_err(|error| place(Error::invalid(error.to_string())))?;
        experiment.check().map_err(|error| place(at_line(error, text)))?;
        Ok(experiment)
    }

    /// The first key beside a `kind` in the sections of jobs that has no effect, if there is one in this text of the experiment.
    pub fn ignored(&self, text: &str) -> Option<String> {
        let whole: toml::Table = toml::from_str(text).ok()?;
        SECTIONS.iter().find_map(|section| {
            let is_read = |inner: toml::Value| {
                let mut whole = whole.clone();
                whole.insert((*section).to_owned(), inner);
                Self::deserialize(toml::Value::Table(whole)).is_ok()
            };
            ignored(whole.get(*section)?, &is_read).map(|key| format!("{section}.{key}"))
        })
    }

    /// Returns true if `name` is the experiment's name or one of its alternative names.
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.also.iter().any(|also| also == name)
    }

    /// Returns true if the experiment has no jobs.
    pub fn is_exhibit(&self) -> bool {
        self.exhibit.is_some()
    }

    /// The sections that define jobs.
    fn sections(&self) -> Vec<&dyn Section> {
        let all: [Option<&dyn Section>; 6] = [
            self.fits.as_ref().map(|section| section as _),
            self.variances.as_ref().map(|section| section as _),
            self.scatter.as_ref().map(|section| section as _),
            self.judgements.as_ref().map(|section| section as _),
            self.rungs.as_ref().map(|section| section as _),
            self.benchmarks.as_ref().map(|section| section as _),
        ];
        all.into_iter().flatten().collect()
    }

    /// Tasks of a preset, each to be replicated.
    pub fn tasks(&self, preset: &Preset) -> Result<Vec<Task>, Error> {
        let tasks = self.sections().into_iter().map(|section| section.tasks(preset));
        Ok(tasks.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Labels of settings.
    pub fn labels(&self) -> Labels {
        let presets: Vec<&Preset> = self.presets.values().collect();
        self.sections().first().map_or_else(Labels::default, |section| section.labels(&presets))
    }

    fn check(&self) -> Result<(), Error> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if let Some(name) = std::iter::once(&self.id).chain(&self.also).chain(&self.seeded_as).find(|name| {
            let mut parts = name.split('/');
            name.split('/').count() > 2 || parts.any(|part| part.is_empty() || !part.chars().all(is_plain))
        }) {
            let reason = "it names files: letters, digits, - and _ are expected, with at most one / between";
            return Err(Error::invalid(format!("the name {name:?}: {reason}")));
        }
        let figures = self.figures.iter().map(|figure| ("figure", &figure.name));
        let tables = self.tables.iter().map(|table| ("table", &table.name));
        let is_bad = |(_, name): &(_, &String)| name.is_empty() || !name.chars().all(is_plain);
        if let Some((kind, name)) = figures.chain(tables).find(is_bad) {
            let reason = "it names a file: letters, digits, - and _ are expected";
            return Err(Error::invalid(format!("[[{kind}]] {name:?}: {reason}")));
        }
        if let Some(name) = self.shows.iter().find(|name| metric(name).is_none()) {
            return Err(Error::invalid(format!("shows: no metric is called {name:?}")));
        }
        let sections = self.sections();
        if self.is_exhibit() {
            let is_alone = sections.is_empty() && self.presets.is_empty();
            let reason = "an [exhibit] has no jobs, hence no section of another kind and no [preset]";
            return if is_alone { Ok(()) } else { Err(Error::invalid(reason)) };
        }
        if self.presets.is_empty() {
            return Err(Error::invalid("no section [preset.default], [preset.quick] or [preset.paper]"));
        }
        for (name, preset) in &self.presets {
            if preset.replicates == 0 || preset.steps == 0 {
                let name = name.name();
                return Err(Error::invalid(format!("preset.{name}: replicates and steps are at least 1")));
            }
        }
        match sections[..] {
            [section] => section.check()?,
            _ => {
                let reason = "exactly one of [fits], [variances], [scatter], [judgements], [rungs], [benchmarks] and [exhibit] is needed";
                return Err(Error::invalid(reason));
            }
        }
        let labels = self.labels();
        labels.check()?;
        let tasks = self.presets.values().map(|preset| self.tasks(preset));
        let tasks =
            if self.figures.is_empty() { Vec::new() } else { tasks.collect::<Result<Vec<_>, _>>()?.concat() };
        self.figures.iter().try_for_each(|figure| figure.check(&labels, &tasks))?;
        self.tables.iter().try_for_each(Written::check)?;
        self.presets.iter().try_for_each(|(name, preset)| self.check_names(*name, preset))
    }

    /// Refuses a preset that names a target or method which is not in the experiment: such a preset would silently run fewer
    /// jobs.
    fn check_names(&self, name: PresetName, preset: &Preset) -> Result<(), Error> {
        let all = self.tasks(&Preset { targets: None, methods: None, budgets: None, ..preset.clone() })?;
        let named = |names: &Option<Vec<String>>, key: &str, is_it: &dyn Fn(&Task, &str) -> bool| {
            let unknown = |label: &&String| !all.iter().any(|task| is_it(task, label));
            match names.iter().flatten().find(unknown) {
                Some(label) => {
                    Err(Error::invalid(format!("preset.{}.{key}: no {label:?} is compared", name.name())))
                }
                None => Ok(()),
            }
        };
        named(&preset.targets, "targets", &|task, label| task.target().label() == label)?;
        named(&preset.methods, "methods", &|task, label| task.method().kind() == label)?;
        let budgets = preset.budgets.as_ref().map(|all| all.iter().map(usize::to_string).collect());
        named(&budgets, "budgets", &|task, label| task.method().budget().to_string() == label)?;
        let fewer = Some(preset.fewer.keys().cloned().collect());
        named(&fewer, "fewer", &|task, label| Preset::keys_of(task).iter().any(|name| name == label))
    }

    pub(crate) fn preset(&self, name: PresetName) -> Result<&Preset, Error> {
        self.presets.get(&name).ok_or_else(|| {
            Error::invalid(format!("{}: the section [preset.{}] is missing", self.id, name.name()))
        })
    }

    /// Root seed of all randomness of the experiment.
    pub fn seed(&self) -> Seed {
        Seed::new(self.seed).named(self.seeded_as.as_ref().unwrap_or(&self.id))
    }

    /// Beginning of the names of its files in the report: `cw-fig6-gaussian`.
    pub fn file_name(&self) -> String {
        self.id.replace('/', "-")
    }
}

/// Adds the line of the setting that an error names: `preset.quick.targets`, or `shows`.
fn at_line(error: Error, text: &str) -> Error {
    let reason = error.to_string();
    let header = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    let line = match reason.strip_prefix("preset.") {
        Some(rest) => {
            let section = format!("[preset.{}]", rest.split(['.', ':']).next().unwrap_or_default());
            text.lines().position(|line| header(line) == section)
        }
        None if reason.starts_with("shows: ") => text.lines().position(|line| line.starts_with("shows")),
        None => None,
    };
    line.map_or(error, |at| Error::invalid(reason).within(format!("line {}", at + 1)))
}
