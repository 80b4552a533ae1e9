//! JSON report of the verb `fit`.

use std::collections::BTreeMap;

use mcsa_core::{Error, Named, Record, Seed, batch_mut};
use mcsa_estimators::{Health, Outcome};
use serde::Serialize;

use crate::catalog::Posterior;
use crate::metric::Vector;
use crate::number::Number;
use crate::store::{Ended, Row};
use crate::task::Fit;

#[derive(Debug, Serialize)]
struct Report<'a> {
    outcome: Option<Outgoing<'a>>,
    failure: Option<&'a str>,
    /// Diagnostics of the fit, as far as they are known.
    health: BTreeMap<&'static str, Number>,
    fit: &'a Fit,
    seed: u64,
    /// Moments of each parameter on its own scale, under q.
    parameters: &'a [Parameter],
    /// Metrics at the end: on held-out data, if there are any.
    measures: BTreeMap<&'a str, Number>,
    /// Vectors at the end, such as means and log scales of an average.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vectors: BTreeMap<Vector, Vec<Number>>,
    counts: &'a BTreeMap<String, u64>,
    seconds: f64,
    trace: &'a [Row],
}

/// Outcome of a fit in readable form. An [`Outcome`] itself stores its numbers bit for bit.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outgoing<'a> {
    NonFinite { kind: &'static str, step: u64, parameter: usize, value: Number },
    Other(&'a Outcome),
}

impl<'a> Outgoing<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        match *outcome {
            Outcome::NonFinite { step, parameter, value } => {
                Self::NonFinite { kind: "non-finite", step, parameter, value: Number(value) }
            }
            _ => Self::Other(outcome),
        }
    }
}

/// A parameter on its own scale: mean and standard deviation under q.
#[derive(Debug, Serialize)]
pub(super) struct Parameter {
    name: String,
    mean: Number,
    sd: Number,
}

/// Number of draws from q for moments of constrained parameters.
const DRAWS: usize = 4096;

/// Text of the report.
pub(super) fn report(
    fit: &Fit,
    seed: u64,
    rows: &[Row],
    ended: &Ended,
    parameters: &[Parameter],
) -> Result<String, Error> {
    let Ended { failure, outcome, health, counts, seconds, .. } = ended;
    let (measures, vectors) = rows.last().map(|row| (&row.values, &row.vectors)).unzip();
    let numbers_of = |vector: &Vec<f64>| vector.iter().copied().map(Number).collect();
    let report = Report {
        outcome: outcome.as_ref().map(Outgoing::of),
        failure: failure.as_deref(),
        health: health.as_ref().map(numbers).unwrap_or_default(),
        fit,
        seed,
        parameters,
        measures: measures.into_iter().flatten().map(|(name, value)| (*name, Number(*value))).collect(),
        vectors: vectors.into_iter().flatten().map(|(name, vector)| (*name, numbers_of(vector))).collect(),
        counts,
        seconds: *seconds,
        trace: rows,
    };
    let text = serde_json::to_string_pretty(&report);
    let text = text.map_err(|error| Error::invalid(format!("cannot be written as JSON: {error}")))?;
    Ok(text + "\n")
}

fn numbers(health: &Health) -> BTreeMap<&'static str, Number> {
    let mut numbers = BTreeMap::new();
    health.record(&mut |metric, value| {
        numbers.insert(metric.name, Number(value));
    });
    numbers
}

/// Mean and standard deviation of every constrained parameter under q.
pub(super) fn parameters(fit: &Fit, seed: Seed, posterior: &dyn Posterior, lambda: &[f64]) -> Vec<Parameter> {
    let dim = posterior.dim();
    let Some(family) = fit.family.gaussian(dim) else { return Vec::new() };
    let (mut z, mut log_q, mut work) = (vec![0.0; dim], [0.0], vec![0.0; family.work_len(1)]);
    let mut lane = [seed.named("parameters").stream(0, 0)];
    let mut all: Vec<Parameter> = Vec::new();
    for draw in 1..=DRAWS {
        family.sample_into(lambda, &mut lane, batch_mut(&mut z, dim, 1), &mut log_q, &mut work);
        let mut named = Named::default();
        posterior.constrain(&z, &mut named);
        if all.is_empty() {
            let zero = |name: &str| Parameter { name: name.to_owned(), mean: Number(0.0), sd: Number(0.0) };
            all = named.iter().map(|(name, _)| zero(name)).collect();
        }
        for (Parameter { mean, sd, .. }, value) in all.iter_mut().zip(named.row()) {
            let off = value - mean.0;
            mean.0 += off / draw as f64;
            sd.0 += off * (value - mean.0);
        }
    }
    all.iter_mut().for_each(|parameter| parameter.sd.0 = (parameter.sd.0 / (DRAWS - 1) as f64).sqrt());
    all
}
