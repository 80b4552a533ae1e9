//! Regressions of `posteriordb` with their reference moments, from a folder that the user has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use faer::Mat;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::catalogue::open;
use super::table::hex;
use super::{DataError, Entry, Table};

/// Folder of linear regressions from `posteriordb`, with moments and quantiles of its reference draws.
///
/// ```text
/// reference.json   per posterior: rows, columns, priors, parameters, and mean, sd, mean_error, quantiles of the reference draws
/// <name>.csv       y, x0, x1, ...: response and design, as the posterior's model transforms them
/// ```
#[derive(Debug, Clone)]
pub struct Posteriordb {
    folder: PathBuf,
    posteriors: BTreeMap<String, Described>,
}

/// Linear regression `y_i ~ N(x_i' b, sigma^2)` of `posteriordb`, with moments of `(b, sigma)` from its reference draws.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceRegression {
    /// Design, a row per datum.
    pub x: Mat<f64>,
    /// Responses.
    pub y: Vec<f64>,
    /// Mean and standard deviation of the normal prior of each weight; `None` if it is flat.
    pub weights: Vec<Option<(f64, f64)>>,
    /// Scale of the half-Cauchy prior of `sigma`; `None` if it is flat.
    pub half_cauchy: Option<f64>,
    /// Means of the reference draws.
    pub means: Vec<f64>,
    /// Their standard deviations.
    pub sds: Vec<f64>,
    /// Monte Carlo errors of the means.
    pub mean_errors: Vec<f64>,
    /// Quantiles at 5, 50 and 95 %.
    pub quantiles: [Vec<f64>; 3],
}

#[derive(Debug, Clone, Deserialize)]
struct Described {
    rows: usize,
    columns: usize,
    beta_prior: Priors,
    sigma_prior: String,
    parameters: Vec<String>,
    mean: Vec<f64>,
    sd: Vec<f64>,
    mean_error: Vec<f64>,
    quantiles: BTreeMap<String, Vec<f64>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Priors {
    Common(String),
    Each(Vec<(String, f64, f64)>),
}

const REFERENCE: &str = "reference.json";
/// Variable of the environment that names the folder.
const VARIABLE: &str = "MCSA_POSTERIORDB";
const NAME: &str = "posteriordb";

impl Posteriordb {
    /// Opens the folder: the one that `MCSA_POSTERIORDB` names, else `posteriordb` in the folder of imported data.
    pub(super) fn found(data: Option<&Path>) -> Result<Self, DataError> {
        let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        match named.or_else(|| data.map(|data| data.join(NAME))) {
            Some(folder) => Self::open(folder),
            None => Err(absent(None)),
        }
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// If it has no `reference.json`, or this file is malformed.
    pub fn open(folder: PathBuf) -> Result<Self, DataError> {
        let path = folder.join(REFERENCE);
        if !path.is_file() {
            return Err(absent(Some(folder)));
        }
        let file = path.display().to_string();
        let text = read(&path)?;
        let posteriors = serde_json::from_str(&text).map_err(|error| {
            DataError::line(&file, error.line(), format!("column {}: {error}", error.column()))
        })?;
        Ok(Self { folder, posteriors })
    }

    /// Names of the posteriors, in alphabetic order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.posteriors.keys().map(String::as_str)
    }

    /// Reads one posterior.
    ///
    /// # Errors
    /// If there is none of this name, or its description or its file is malformed; the message names the place.
    pub fn load(&self, name: &str) -> Result<ReferenceRegression, DataError> {
        let file = self.folder.join(REFERENCE).display().to_string();
        let Some(known) = self.posteriors.get(name) else {
            return Err(DataError::of(&file, format!("no posterior {name:?}")));
        };
        let refuse = |problem: String| DataError::of(&file, format!("{name}: {problem}"));
        let dim = known.columns + 1;
        let levels = ["0.05", "0.5", "0.95"].map(|level| known.quantiles.get(level).cloned());
        let [Some(low), Some(middle), Some(high)] = levels else {
            return Err(refuse("quantiles: expected 0.05, 0.5 and 0.95".into()));
        };
        let quantiles = [low, middle, high];
        let lists = [&known.mean, &known.sd, &known.mean_error].into_iter().chain(&quantiles);
        if known.parameters.len() != dim || !lists.clone().all(|list| list.len() == dim) {
            return Err(refuse(format!(
                "expected {dim} parameters, means, sds, errors and quantiles: {} weights and sigma",
                known.columns
            )));
        }
        if !lists.flatten().all(|value| value.is_finite()) || !known.sd.iter().all(|sd| *sd > 0.0) {
            return Err(refuse("a moment is not finite, or an sd is not positive".into()));
        }
        let (x, y) = self.table(name, known)?;
        Ok(ReferenceRegression {
            x,
            y,
            weights: known.weights().map_err(refuse)?,
            half_cauchy: known.half_cauchy().map_err(refuse)?,
            means: known.mean.clone(),
            sds: known.sd.clone(),
            mean_errors: known.mean_error.clone(),
            quantiles,
        })
    }

    /// SHA-256 of the description and the file of one posterior.
    pub fn digest(&self, name: &str) -> Result<String, DataError> {
        self.load(name)?;
        let mut sum = Sha256::new();
        sum.update(format!("{:?}", self.posteriors[name]));
        sum.update(read(&self.folder.join(format!("{name}.csv")))?);
        Ok(hex(sum))
    }

    fn table(&self, name: &str, known: &Described) -> Result<(Mat<f64>, Vec<f64>), DataError> {
        let path = self.folder.join(format!("{name}.csv"));
        let columns = std::iter::once("y".to_owned()).chain((0..known.columns).map(|k| format!("x{k}")));
        let entry = Entry { rows: known.rows, columns: columns.collect(), ..Entry::default() };
        let table = Table::read_plain(&entry, &path.display().to_string(), open(&path)?)?;
        let design = Mat::from_fn(known.rows, known.columns, |i, k| table.numbers(k + 1)[i]);
        Ok((design, table.numbers(0).to_vec()))
    }
}

impl Described {
    fn weights(&self) -> Result<Vec<Option<(f64, f64)>>, String> {
        match &self.beta_prior {
            Priors::Common(prior) if prior == "flat" => Ok(vec![None; self.columns]),
            Priors::Common(other) => Err(format!("beta_prior is {other:?}, expected flat or a list")),
            Priors::Each(priors) if priors.len() == self.columns => priors
                .iter()
                .enumerate()
                .map(|(k, (kind, mean, sd))| match kind.as_str() {
                    "normal" if *sd > 0.0 => Ok(Some((*mean, *sd))),
                    _ => Err(format!("beta_prior[{k}]: expected normal with a positive sd")),
                })
                .collect(),
            Priors::Each(priors) => {
                Err(format!("beta_prior has {} entries, expected {}", priors.len(), self.columns))
            }
        }
    }

    fn half_cauchy(&self) -> Result<Option<f64>, String> {
        if self.sigma_prior == "flat" {
            return Ok(None);
        }
        let scale = self.sigma_prior.strip_prefix("half-cauchy ").and_then(|scale| scale.parse().ok());
        match scale.filter(|scale: &f64| *scale > 0.0) {
            Some(scale) => Ok(Some(scale)),
            None => Err(format!("sigma_prior is {:?}, expected flat or half-cauchy SCALE", self.sigma_prior)),
        }
    }
}

fn absent(folder: Option<PathBuf>) -> DataError {
    let place = folder.map_or_else(String::new, |folder| format!(" (no {}/{REFERENCE})", folder.display()));
    let reason = format!(
        "the folder of posteriordb is absent{place}. Get it: make a folder with {REFERENCE} and a CSV for each posterior, as \
         docs/posteriordb.md describes, from a checkout of https://github.com/stan-dev/posteriordb, and name it in {VARIABLE}."
    );
    DataError::Absent { reason, stand_in: false }
}

fn read(path: &Path) -> Result<String, DataError> {
    std::fs::read_to_string(path)
        .map_err(|error| DataError::of(&path.display().to_string(), format!("cannot be read: {error}")))
}
