//! The verb `fit`: a single fit of one model by one method.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;
use mcsa::posterior::{self, FitState, Options, Stage};
use mcsa_core::{Error, Seed, counted};
use serde::de::DeserializeOwned;

use super::{CHECKPOINT, Exit, check_outputs, remove_checkpoint, report};
use crate::catalog::{FamilyConfig, Method, OptimizerConfig, Posterior, Start, Target};
use crate::ignored::ignored;
use crate::interrupt::{Interrupt, command_line, tell};
use crate::jobs::{Due, Place, Running, SINGLE};
use crate::runner;
use crate::store::{Ended, Row, Store, write_whole};
use crate::task::{Fit, Job, Metrics, Spacing, Task, Trace};
use mcsa_data::{Catalogue, DataError, did_you_mean};

/// Shape of the tail of the weights from which on paths are poor.
const POOR: f64 = 1.0;

/// Fit one model by one method and write the result as JSON.
///
/// `--list-models` and `--list-methods` show names with their settings.
///
/// In the JSON, numbers that are not finite are words: "nan", "inf" or "-inf". Numbers of `health` that the method does not
/// provide are left out. Exit codes: 0 success, 1 the fit ended early or an operation failed, 2 the arguments are invalid,
/// 3 the verdict of `--auto` is no, 130 or 143 interrupted.
#[derive(Debug, Clone, Args)]
pub struct FitModel {
    /// Name of the model.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["list_models", "list_methods"])]
    model: Option<String>,
    /// Name of the method.
    #[arg(long, value_name = "NAME", default_value = "pmcsa")]
    method: String,
    /// A setting in TOML syntax: `model.data=sonar`, `method.chains=20`, `optimizer.kind=sgd`, `optimizer.rate=0.1`,
    /// `family.kind=full-rank`, `start.kind=jittered`, `steps=2000`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File to write, in a folder that is created if it is not there; by default the standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// File for the checkpoint, written every 20 s and when the fit is interrupted: with the same arguments the fit then
    /// continues where it stopped. It is removed at the end. Without it an interrupted fit is lost.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Folder of imported data sets; by default the one that MCSA_DATA names, else `data`.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Fit the posterior without a choice of method, and judge the result: starts, climb, weighted draws, verdict. Prints a table;
    /// `--out FILE` has all of it as JSON. Exit code 3 if the verdict is no. `--set` takes `model.*` and `options.*` (`options.draws=1000`,
    /// `options.starts=50`, `options.share=0.3`).
    #[arg(long, conflicts_with = "method")]
    auto: bool,
    /// Largest number of evaluations of the model, draws and verdict included; by default a million, or ten million
    /// without a gradient.
    #[arg(long, value_name = "EVALUATIONS", requires = "auto")]
    budget: Option<u64>,
    /// Largest time in seconds, draws and verdict included.
    #[arg(long, value_name = "SECONDS", requires = "auto")]
    seconds: Option<f64>,
    /// File for the weighted draws: a column for each parameter, then log_p, log_q and log_weight.
    #[arg(long, value_name = "FILE", requires = "auto")]
    draws: Option<PathBuf>,
    /// Use the density alone.
    #[arg(long, requires = "auto")]
    no_gradient: bool,
    /// List the models with their settings.
    #[arg(long)]
    list_models: bool,
    /// List the methods with their settings.
    #[arg(long)]
    list_methods: bool,
}

impl FitModel {
    /// Runs the verb.
    ///
    /// # Errors
    /// If a name or setting is unknown or invalid (usage), or data are absent, a checkpoint cannot be used, or the result
    /// cannot be written.
    pub fn run(&self, interrupt: &Interrupt, out: &mut impl Write) -> Result<(), Exit> {
        if self.list_models || self.list_methods {
            for (name, settings, what) in if self.list_models { Target::ALL.to_vec() } else { methods() } {
                writeln!(out, "{name:22} {what}")?;
                if !settings.is_empty() {
                    writeln!(out, "{:22} {settings}", "")?;
                }
            }
            return Ok(());
        }
        if let Some(path) = self.out.as_deref().filter(|path| path.extension().is_some_and(|it| it == "zarr"))
        {
            let way = "a result is a file of JSON; in Python, `result.to_arviz().to_zarr(path)` writes a Zarr archive";
            return Err(Exit::Usage(Error::invalid(format!("--out {}: {way}", path.display()))));
        }
        if self.auto {
            return self.judge(interrupt, out);
        }
        let fit = self.fit().map_err(Exit::Usage)?;
        check_outputs(&[("--out", self.out.as_deref()), (CHECKPOINT, self.checkpoint.as_deref())])?;
        let catalogue = Catalogue::found(self.data.clone());
        let (rows, ended, lambda) = self.climb(&fit, &catalogue, interrupt)?;
        interrupt.release();
        let shape = rows.last().and_then(|row| row.values.get("k_hat").copied());
        if let (Metrics::Bound { .. }, Some(shape)) = (fit.metrics, shape.filter(|shape| !(*shape < POOR))) {
            let ways = "inputs of one scale (model.standardised=true, or other data), more steps, or a smaller family.longest";
            tell(&format!("k-hat is {shape:.2}: the paths do not carry the posterior; try {ways}"));
        }
        let posterior = fit.target.build(&catalogue, Seed::new(self.seed))?.posterior;
        let parameters = report::parameters(&fit, Seed::new(self.seed), &*posterior, &lambda);
        let text = report::of_fit(&fit, self.seed, &rows, &ended, &parameters);
        match &self.out {
            Some(path) => write_whole(path, text.as_bytes())?,
            None => out.write_all(text.as_bytes()).and_then(|()| out.flush())?,
        }
        self.checkpoint.as_deref().into_iter().for_each(remove_checkpoint);
        match ended.failure {
            Some(reason) => Err(Error::invalid(format!("the fit ended early: {reason}")).into()),
            None => Ok(()),
        }
    }

    /// Runs the fit, from its checkpoint if there is one; also returns lambda.
    fn climb(
        &self,
        fit: &Fit,
        catalogue: &Catalogue,
        interrupt: &Interrupt,
    ) -> Result<(Vec<Row>, Ended, Vec<f64>), Exit> {
        let data = digest(&fit.target, catalogue)?;
        let task = Task::Fit(fit.clone());
        let job = Job {
            experiment: SINGLE.into(),
            seeded_as: None,
            task,
            data,
            replicate: 0,
            seed: Seed::new(self.seed),
        };
        let (lambda, made) = (Mutex::new(Vec::new()), AtomicU64::new(0));
        // Nothing is written to this store: a fit without a checkpoint file has no checkpoint.
        let nowhere = Store::new(std::env::temp_dir());
        let running = Running {
            checkpoint: Due::Seconds(runner::CHECKPOINT),
            place: self.checkpoint.as_deref().map_or(Place::Nowhere, Place::File),
            progress: &|work| {
                made.fetch_add(work, Relaxed);
                interrupt.code().is_none()
            },
            last: &|params| {
                if let Ok(mut lambda) = lambda.lock() {
                    params.clone_into(&mut lambda);
                }
            },
            warn: &|warning| tell(warning),
            ..Running::new(&nowhere, catalogue)
        };
        // A failure after the first step is a result, so an error here means that the settings are invalid.
        let done = job.rows(&running).map_err(Exit::Usage)?;
        let share = made.load(Relaxed) as f64 / job.task.work().max(1) as f64;
        let steps = (share * fit.steps as f64) as u64;
        match done {
            Some((rows, ended)) => Ok((rows, ended, lambda.into_inner().unwrap_or_default())),
            // The work of a warm fit is not counted in its steps.
            None if fit.start.warm_steps() > 0 => Err(self.interrupted("before its end", interrupt)),
            None => Err(self.interrupted(&format!("at step {steps} of {}", fit.steps), interrupt)),
        }
    }

    /// The end by an interruption, and how to go on.
    fn interrupted(&self, place: &str, interrupt: &Interrupt) -> Exit {
        let more = match &self.checkpoint {
            Some(_) => format!("; to go on: {}", command_line(&[])),
            None => ": nothing is kept, which `--checkpoint FILE` would change".to_owned(),
        };
        let code = interrupt.code().unwrap_or(130);
        Exit::Interrupted { code, said: format!("interrupted {place}{more}") }
    }

    /// The default settings, changed by those of `--set`.
    fn fit(&self) -> Result<Fit, Error> {
        let name = self.model.as_deref().unwrap_or_default();
        let is_path = self.method == SL_DAIS.0;
        let of_ascents = |setting: &&String| {
            ["optimizer", "family", "start", "steps"].iter().any(|part| setting.trim().starts_with(part))
        };
        if Method::ELSEWHERE.contains(&self.method.as_str()) {
            let reason = format!("method {} is for experiments in a file, not for a single fit", self.method);
            return Err(Error::invalid(format!("{reason}; `sl-dais` has minibatches")));
        }
        if self.method == "ep"
            && let Some(setting) = self.settings.iter().find(of_ascents)
        {
            let reason =
                "expectation propagation has no steps, optimizer, family or start: it has method.sweeps";
            return Err(Error::invalid(format!("--set {setting}: {reason}")));
        }
        let (method, family, start) = match is_path {
            true => (
                toml::toml! { kind = "minibatched" samples = 1 batch = 100 },
                paths(),
                toml::toml! { kind = "placed" mean = 0.0 scale = 0.1 },
            ),
            false => (
                defaults("method", &self.method, &methods())?,
                toml::toml! { kind = "mean-field" },
                toml::toml! { kind = "standard" },
            ),
        };
        let mut parts = BTreeMap::from([
            ("model", defaults("model", name, &Target::ALL)?),
            ("method", method),
            ("optimizer", toml::toml! { kind = "adam" }),
            ("family", family),
            ("start", start),
            ("", toml::toml! { steps = 10000 }),
        ]);
        self.set(&mut parts, "steps, model.*, method.*, optimizer.*, family.* or start.*")?;
        if let Some(rule) = parts.get_mut("optimizer").filter(|table| table["kind"].as_str() != Some("dog")) {
            // At 0.01 the steps of paths end at zero on pima.
            rule.entry("rate").or_insert(toml::Value::Float(if is_path { 0.003 } else { 0.01 }));
        }
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Length {
            steps: u64,
        }
        let Length { steps } = typed("--set", &parts[""])?;
        if steps == 0 {
            return Err(Error::invalid("steps is 0, expected at least 1").within("--set"));
        }
        Ok(Fit {
            target: typed("model", &parts["model"])?,
            family: typed::<FamilyConfig>("family", &parts["family"])?,
            start: typed::<Start>("start", &parts["start"])?,
            schedule: None,
            method: typed("method", &parts["method"])?,
            optimizer: typed::<OptimizerConfig>("optimizer", &parts["optimizer"])?,
            steps,
            trace: Trace { points: if is_path { 1 } else { 50 }, spacing: Spacing::Even },
            metrics: if is_path { Metrics::Bound { draws: 1000 } } else { Metrics::Target },
            auxiliary: 0,
            averaged: 0,
        })
    }

    /// Model and options of `--auto`: the defaults, changed by those of `--set` and the arguments.
    fn posterior(&self) -> Result<(Target, Options), Error> {
        let name = self.model.as_deref().unwrap_or_default();
        let mut parts = BTreeMap::from([
            ("model", defaults("model", name, &Target::ALL)?),
            ("options", toml::Table::new()),
        ]);
        self.set(&mut parts, "model.* or options.*, with --auto")?;
        for (key, way) in [
            ("seed", "`--seed`"),
            ("checkpoint", "`--checkpoint`"),
            ("progress", "nothing: progress is shown"),
        ] {
            if parts["options"].contains_key(key) {
                return Err(Error::invalid(format!("--set options.{key}: give {way}")));
            }
        }
        for (key, is_given, way) in [
            ("evaluations", self.budget.is_some(), "--budget"),
            ("seconds", self.seconds.is_some(), "--seconds"),
        ] {
            if is_given && parts["options"].contains_key(key) {
                return Err(Error::invalid(format!("--set options.{key}: {way} is given, too")));
            }
        }
        let options: Options = typed("options", &parts["options"])?;
        let options = Options {
            seed: self.seed,
            evaluations: self.budget.or(options.evaluations),
            seconds: self.seconds.or(options.seconds),
            checkpoint: self.checkpoint.clone(),
            progress: true,
            ..options
        };
        options.check()?;
        Ok((typed("model", &parts["model"])?, options))
    }

    /// Runs `--auto`: prints the result and writes the files.
    fn judge(&self, interrupt: &Interrupt, out: &mut impl Write) -> Result<(), Exit> {
        let (model, options) = self.posterior().map_err(Exit::Usage)?;
        let catalogue = Catalogue::found(self.data.clone());
        digest(&model, &catalogue)?;
        let (file, draws, checkpoint) =
            (self.out.as_deref(), self.draws.as_deref(), self.checkpoint.as_deref());
        check_outputs(&[("--out", file), ("--draws", draws), (CHECKPOINT, checkpoint)])?;
        let problem = model.build(&catalogue, Seed::new(options.seed)).map_err(Exit::Usage)?;
        let posterior: &dyn Posterior = &*problem.posterior;
        let target = match self.no_gradient {
            true => posterior::Target::density_only(&posterior),
            false => posterior::Target::with_gradient(&posterior),
        };
        let fitting = match checkpoint {
            Some(path) => FitState::resume_or(path, &target, &options),
            None => FitState::new(&options),
        };
        let mut fitting = fitting.map_err(Exit::Usage)?;
        let mut after = |_: &FitState| match interrupt.code() {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        };
        fitting.run(&target, &mut after).map_err(|error| error.within("fit"))?;
        if fitting.stage != Stage::Done {
            return Err(self.interrupted(&format!("in {fitting}"), interrupt));
        }
        let fitted = fitting.finish(&target)?;
        interrupt.release();
        if let Some(path) = draws {
            write_whole(path, report::draws(posterior, &fitted.draws).as_bytes())?;
        }
        if let Some(path) = file {
            let text = report::of_posterior(&model, &fitting, &fitted, draws, !self.no_gradient);
            write_whole(path, text.as_bytes())?;
        }
        write!(out, "{}\n{fitted}\n", report::stages(&fitting))?;
        out.flush()?;
        checkpoint.into_iter().for_each(remove_checkpoint);
        match fitted.verdict.objections.len() {
            0 => Ok(()),
            count => Err(Exit::Objected(format!("the verdict is no: {}", counted(count, "objection")))),
        }
    }

    /// Enters the values of `--set` in their parts; `known` names the keys that there are.
    ///
    /// Another kind has none of the default settings.
    fn set(&self, parts: &mut BTreeMap<&str, toml::Table>, known: &str) -> Result<(), Error> {
        for setting in &self.settings {
            let (key, kind) = setting.split_once('=').unwrap_or_default();
            let table = key.trim().strip_suffix(".kind").and_then(|part| parts.get_mut(part));
            let is_other = |table: &&mut toml::Table| {
                let kind = kind.trim().trim_matches(['"', '\'']);
                table.get("kind").and_then(toml::Value::as_str) != Some(kind)
            };
            table.filter(is_other).into_iter().for_each(toml::Table::clear);
        }
        for setting in &self.settings {
            let unknown = |reason: &str| Error::invalid(format!("--set {setting}: {reason}"));
            let (key, value) = setting.split_once('=').ok_or_else(|| unknown("KEY=VALUE is expected"))?;
            let (part, key) = key.trim().split_once('.').unwrap_or(("", key.trim()));
            if key.is_empty() {
                return Err(unknown("a key is expected before the equals sign"));
            }
            if key == "kind" && ["model", "method"].contains(&part) {
                return Err(unknown(&format!("the kind is the name of `--{part}`")));
            }
            let is_part = part.is_empty() && parts.contains_key(key);
            let table = parts.get_mut(part).filter(|_| !is_part);
            let table = table.ok_or_else(|| unknown(&format!("a key is {known}")))?;
            // A bare word is a string.
            let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
            let value = parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
            let text = setting.split_once('=').map_or("", |(_, value)| value).trim();
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            if value.is_none() && !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit()) {
                return Err(unknown(&format!(
                    "a whole number without leading zeros is expected, at most {}",
                    i64::MAX
                )));
            }
            table.insert(key.to_owned(), value.unwrap_or_else(|| toml::Value::String(text.to_owned())));
        }
        Ok(())
    }
}

/// A part of the settings as its type; an error names the key.
fn typed<T: DeserializeOwned>(part: &str, table: &toml::Table) -> Result<T, Error> {
    let read = |table: toml::Table| T::deserialize(toml::Value::Table(table));
    let is_read = |settings: toml::Value| T::deserialize(settings).is_ok();
    if is_read(table.clone().into())
        && let Some(key) = ignored(&table.clone().into(), &is_read)
    {
        let kind = table.get("kind").and_then(toml::Value::as_str).unwrap_or_default();
        return Err(Error::invalid(format!("{kind} has no such setting")).within(format!("{part}.{key}")));
    }
    read(table.clone()).map_err(|error| {
        // The message of the error names no key: find the key for which another value would be accepted.
        let others = || [toml::Value::Integer(1), toml::Value::Float(0.5), toml::Value::String("x".into())];
        let with = |key: &str, other| {
            let mut table = table.clone();
            table.insert(key.to_owned(), other);
            read(table).is_ok()
        };
        let key = table.keys().find(|key| others().into_iter().any(|other| with(key, other)));
        let place = key.map_or_else(|| part.to_owned(), |key| format!("{part}.{key}"));
        Error::invalid(error.message()).within(place.trim_start_matches("--set."))
    })
}

/// Digest of the data of a model, if it has data; a notice is printed if they are a stand-in.
fn digest(model: &Target, catalogue: &Catalogue) -> Result<Option<String>, Exit> {
    let digest = model.digest(catalogue).map_err(|error| match error {
        DataError::Unknown(_) => Exit::Usage(error.into()),
        _ => Exit::Failed(error.into()),
    })?;
    if let (None, Some(name)) = (&digest, model.data()) {
        tell(&format!("SYNTHETIC data stand in for {name}, which is not imported"));
    }
    Ok(digest)
}

type Listed = (&'static str, &'static str, &'static str);

/// Methods of a single fit.
fn methods() -> Vec<Listed> {
    let here = |(name, ..): &&Listed| !Method::ELSEWHERE.contains(name);
    Method::ALL.iter().filter(here).chain([&SL_DAIS]).copied().collect()
}

/// Default settings of a name in a listing.
fn defaults(what: &str, name: &str, all: &[Listed]) -> Result<toml::Table, Error> {
    let unknown = || {
        let meant = did_you_mean(name, all.iter().map(|(known, ..)| *known));
        Error::invalid(format!("no {what} {name:?}; {meant}`fit --list-{what}s` shows those there are"))
    };
    let (name, settings, _) = all.iter().find(|(known, ..)| *known == name).ok_or_else(unknown)?;
    let text = format!("kind = {name:?}\n{}", settings.split(", ").collect::<Vec<_>>().join("\n"));
    toml::from_str(&text).map_err(|error| Error::invalid(error.to_string()))
}

/// Method that has a family of its own, with metrics of the bound.
const SL_DAIS: Listed = (
    "sl-dais",
    "batch = 100; family.steps = 4, family.surrogate = \"rand\", family.points = 100",
    "annealed paths on minibatches, of logistic, hierarchical-logistic and probit, on columns of one scale (SL-DAIS)",
);

/// Its family: paths that random rows with learned weights guide.
fn paths() -> toml::Table {
    toml::toml! { kind = "annealed" steps = 4 longest = 0.25 step_size = 0.05 scaled = true surrogate = "rand" points = 100 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use proptest::prelude::*;
    use proptest::sample::select;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        fit: FitModel,
    }

    const SETTINGS: [&str; 12] = [
        "model.dim=3",
        "model.bend=0.1",
        "model.data=\"sonar\"",
        "model.rows=200",
        "method.chains=9223372036854775807",
        "method.transitions=4",
        "method=0.5",
        "family.kind=\"full-rank\"",
        "family={kind=\"mean-field\"}",
        "optimizer.rate={kind=\"power\", gamma=0.03, exponent=0.5}",
        "start.kind=\"jittered\"",
        "steps=3",
    ];

    fn fit(model: &str, method: &str, setting: &str) -> Result<Fit, Error> {
        let words = ["fit", "--model", model, "--method", method, &format!("--set={setting}")];
        Program::try_parse_from(words).expect("three arguments").fit.fit()
    }

    proptest! {
        /// No setting makes the reader panic.
        #[test]
        fn no_setting_panics(
            (model, method) in (select(&Target::ALL[..]), select(&Method::ALL[..])),
            setting in select(&SETTINGS[..]),
            (start, length) in (any::<prop::sample::Index>(), 0..6_usize),
            piece in select(&["", "=", "-1", "nan", "[[", "\"", "1e308", "18446744073709551615"][..]),
        ) {
            let mut text = setting.to_owned();
            let start = start.index(text.len());
            text.replace_range(start..(start + length).min(text.len()), piece);
            let _ = fit(model.0, method.0, &text);
        }
    }
}
