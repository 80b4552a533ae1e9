//! The verb `fit`: one model, one method, one file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use mcsa::{Error, Record, Seed, batch_mut};
use mcsa_estimators::Health;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Exit;
use crate::catalog::{Approximation, Beginning, Method, Rule, Target};
use crate::data::Catalogue;
use crate::kinds::{Due, Fit, Running, Spacing, Task, Trace};
use crate::plan::Job;
use crate::store::{Ended, Kept, Row, Store, write_whole};

/// Fit one model by one method and write what was found as JSON.
///
/// `--list-models` and `--list-methods` show names with their settings.
#[derive(Debug, Clone, Args)]
pub struct FitModel {
    /// The model.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["list_models", "list_methods"])]
    model: Option<String>,
    /// The method.
    #[arg(long, value_name = "NAME", default_value = "pmcsa")]
    method: String,
    /// A setting, in words of TOML: `model.data=heart`, `method.chains=20`, `optimizer.kind=sgd`, `optimizer.rate=0.1`,
    /// `family.kind=full-rank`, `start.kind=jittered`, `steps=2000`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write; to the standard output by default.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where imported data sets are; else MCSA_DATA names it, else `data`.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// List the models with their settings.
    #[arg(long)]
    list_models: bool,
    /// List the methods with their settings.
    #[arg(long)]
    list_methods: bool,
}

/// What is written.
#[derive(Debug, Serialize)]
struct Report<'a> {
    outcome: Option<&'a mcsa_estimators::Outcome>,
    failure: Option<&'a str>,
    /// Whether it is to be believed: numbers that are known.
    health: BTreeMap<&'static str, f64>,
    fit: &'a Fit,
    seed: u64,
    /// Each parameter on its own scale, under q.
    parameters: Vec<Parameter>,
    /// What was measured at the end: on held-out data, where there are any.
    measures: &'a BTreeMap<String, f64>,
    counts: &'a BTreeMap<String, u64>,
    seconds: f64,
    trace: &'a [Row],
}

#[derive(Debug, Serialize)]
struct Parameter {
    name: String,
    mean: f64,
    sd: f64,
}

/// Draws from q behind the moments of constrained parameters.
const DRAWS: usize = 4096;

impl FitModel {
    /// Does it.
    ///
    /// # Errors
    /// If a name or setting is unknown (usage), data are absent, or the fit cannot be started or written.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        if self.list_models || self.list_methods {
            let rows = if self.list_models { Target::ALL.as_slice() } else { Method::ALL.as_slice() };
            for (name, settings, what) in rows {
                writeln!(out, "{name:22} {what}")?;
                if !settings.is_empty() {
                    writeln!(out, "{:22} {settings}", "")?;
                }
            }
            return Ok(());
        }
        let fit = self.fit().map_err(Exit::Usage)?;
        let catalogue = Catalogue::found(self.data.clone());
        let (outcome, lambda) = run(&fit, self.seed, &catalogue)?;
        let Kept::Fresh(outcome) = outcome else {
            return Err(Error::invalid("the fit left no result").into());
        };
        let Ended { failure, outcome: why, health, counts, seconds, .. } = &outcome.ended;
        let nothing = BTreeMap::new();
        let report = Report {
            outcome: why.as_ref(),
            failure: failure.as_deref(),
            health: health.as_ref().map(numbers).unwrap_or_default(),
            fit: &fit,
            seed: self.seed,
            parameters: parameters(&fit, Seed::new(self.seed), &catalogue, &lambda)?,
            measures: outcome.rows.last().map_or(&nothing, |row| &row.values),
            counts,
            seconds: *seconds,
            trace: &outcome.rows,
        };
        let text = serde_json::to_string_pretty(&report);
        let text =
            text.map_err(|error| Error::invalid(format!("cannot be written as JSON: {error}")))? + "\n";
        match &self.out {
            Some(path) => write_whole(path, text.as_bytes())?,
            None => out.write_all(text.as_bytes())?,
        }
        match failure {
            Some(reason) => Err(Error::invalid(format!("the fit ended early: {reason}")).into()),
            None => Ok(()),
        }
    }

    /// The defaults, changed by the settings.
    fn fit(&self) -> Result<Fit, Error> {
        let name = self.model.as_deref().unwrap_or_default();
        let mut parts = BTreeMap::from([
            ("model", defaults("model", name, &Target::ALL)?),
            ("method", defaults("method", &self.method, &Method::ALL)?),
            ("optimizer", toml::toml! { kind = "adam" }),
            ("family", toml::toml! { kind = "mean-field" }),
            ("start", toml::toml! { kind = "standard" }),
            ("", toml::toml! { steps = 10000 }),
        ]);
        for setting in &self.settings {
            let unknown = |reason: &str| Error::invalid(format!("--set {setting}: {reason}"));
            let (key, value) = setting.split_once('=').ok_or_else(|| unknown("KEY=VALUE is expected"))?;
            let (part, key) = key.trim().split_once('.').unwrap_or(("", key.trim()));
            let table = parts.get_mut(part).ok_or_else(|| {
                unknown("a key is steps, model.*, method.*, optimizer.*, family.* or start.*")
            })?;
            // A bare word is a text.
            let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
            let value = parsed.and_then(|mut table| table.remove("value"));
            let text = setting.split_once('=').map_or("", |(_, value)| value).trim();
            table.insert(key.to_owned(), value.unwrap_or_else(|| toml::Value::String(text.to_owned())));
        }
        if let Some(rule) = parts.get_mut("optimizer").filter(|table| table["kind"].as_str() != Some("dog")) {
            rule.entry("rate").or_insert(toml::Value::Float(0.01));
        }
        fn typed<T: DeserializeOwned>(part: &str, table: &toml::Table) -> Result<T, Error> {
            let read = T::deserialize(toml::Value::Table(table.clone()));
            read.map_err(|error| Error::invalid(error.message()).within(part))
        }
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Length {
            steps: u64,
        }
        Ok(Fit {
            target: typed("model", &parts["model"])?,
            family: typed::<Approximation>("family", &parts["family"])?,
            start: typed::<Beginning>("start", &parts["start"])?,
            method: typed("method", &parts["method"])?,
            optimizer: typed::<Rule>("optimizer", &parts["optimizer"])?,
            steps: typed::<Length>("--set", &parts[""])?.steps,
            trace: Trace { points: 50, spacing: Spacing::Even },
            auxiliary: 0,
            averaged: 0,
        })
    }
}

fn numbers(health: &Health) -> BTreeMap<&'static str, f64> {
    let mut numbers = BTreeMap::new();
    health.record(&mut |metric, value| {
        numbers.insert(metric.name, value);
    });
    numbers
}

type Listed = (&'static str, &'static str, &'static str);

/// The settings a listing gives a name.
fn defaults(what: &str, name: &str, all: &[Listed]) -> Result<toml::Table, Error> {
    let unknown =
        || Error::invalid(format!("no {what} {name:?}; `fit --list-{what}s` shows those there are"));
    let (name, settings, _) = all.iter().find(|(known, ..)| *known == name).ok_or_else(unknown)?;
    let text = format!("kind = {name:?}\n{}", settings.split(", ").collect::<Vec<_>>().join("\n"));
    toml::from_str(&text).map_err(|error| Error::invalid(error.to_string()))
}

/// Runs the fit as a job in a folder that is removed afterwards, and returns lambda besides.
fn run(fit: &Fit, seed: u64, catalogue: &Catalogue) -> Result<(Kept, Vec<f64>), Error> {
    let lambda = std::sync::Mutex::new(Vec::new());
    let data = fit.target.data().map(|name| catalogue.digest(name)).transpose()?;
    let task = Task::Fit(fit.clone());
    let job = Job { experiment: "fit".into(), task, data, replicate: 0, seed: Seed::new(seed) };
    let folder = std::env::temp_dir().join(format!("mcsa-fit-{}-{}", std::process::id(), job.id()));
    let store = Store::new(&folder);
    let keep = |params: &[f64]| {
        if let Ok(mut lambda) = lambda.lock() {
            params.clone_into(&mut lambda);
        }
    };
    let running = Running {
        store: &store,
        catalogue,
        checkpoint: Due::Seconds(f64::INFINITY),
        progress: &|_| true,
        last: &keep,
    };
    let kept = job.run(&running).and_then(|()| store.kept(&job));
    let _ = std::fs::remove_dir_all(&folder);
    Ok((kept?, lambda.into_inner().unwrap_or_default()))
}

/// Mean and standard deviation of every constrained parameter under q.
fn parameters(fit: &Fit, seed: Seed, catalogue: &Catalogue, lambda: &[f64]) -> Result<Vec<Parameter>, Error> {
    let posterior = fit.target.build(catalogue, seed)?.posterior;
    let family = fit.family.build(posterior.dim());
    let dim = posterior.dim();
    let (mut z, mut log_q, mut work) = (vec![0.0; dim], [0.0], vec![0.0; family.work_len(1)]);
    let mut lane = [seed.named("parameters").stream(0, 0)];
    let (mut all, mut named): (Vec<Parameter>, _) = (Vec::new(), Vec::new());
    for draw in 1..=DRAWS {
        family.sample_into(lambda, &mut lane, batch_mut(&mut z, dim, 1), &mut log_q, &mut work);
        named.clear();
        posterior.constrain(&z, &mut named);
        if all.is_empty() {
            all = named
                .iter()
                .map(|(name, _)| Parameter { name: name.to_string(), mean: 0.0, sd: 0.0 })
                .collect();
        }
        for (parameter, (_, value)) in all.iter_mut().zip(&named) {
            let off = value - parameter.mean;
            parameter.mean += off / draw as f64;
            parameter.sd += off * (value - parameter.mean);
        }
    }
    all.iter_mut().for_each(|parameter| parameter.sd = (parameter.sd / (DRAWS - 1) as f64).sqrt());
    Ok(all)
}
