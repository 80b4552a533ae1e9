//! Rows of metrics, and the end of a job.

use std::collections::BTreeMap;

use mcsa_core::Error;
use mcsa_estimators::Health;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::{Vector, metric};
use crate::task::Job;

/// A number in JSON: itself, or a word if it is not finite: `"nan"`, `"inf"` or `"-inf"`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Number(#[serde(with = "mcsa_core::bits::decimal")] pub(crate) f64);

pub(crate) fn numbers(values: &[f64]) -> Vec<Number> {
    values.iter().copied().map(Number).collect()
}

/// Metrics and vectors recorded at one step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Row {
    /// Number of steps made.
    pub step: u64,
    /// Metrics by name, each one of [`METRICS`](crate::metric::METRICS).
    #[serde(flatten, serialize_with = "write_values", deserialize_with = "read_values")]
    pub values: BTreeMap<&'static str, f64>,
    /// Vectors.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "write_vectors",
        deserialize_with = "read_vectors"
    )]
    pub vectors: BTreeMap<Vector, Vec<f64>>,
}

fn write_values<S: Serializer>(values: &BTreeMap<&'static str, f64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(values.iter().map(|(name, value)| (name, Number(*value))))
}

fn read_values<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<&'static str, f64>, D::Error> {
    let values = BTreeMap::<String, Number>::deserialize(from)?.into_iter();
    let known = values.map(|(name, Number(value))| match metric(&name) {
        Some(name) => Ok((name, value)),
        None => Err(serde::de::Error::custom(unknown(&name))),
    });
    known.collect()
}

fn write_vectors<S: Serializer>(vectors: &BTreeMap<Vector, Vec<f64>>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(vectors.iter().map(|(name, vector)| (name, numbers(vector))))
}

fn read_vectors<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Vector, Vec<f64>>, D::Error> {
    let vectors = BTreeMap::<Vector, Vec<Number>>::deserialize(from)?.into_iter();
    Ok(vectors.map(|(name, vector)| (name, vector.into_iter().map(|Number(x)| x).collect())).collect())
}

fn unknown(name: &str) -> String {
    format!("no metric is called {name:?}")
}

impl Row {
    /// A row of metrics.
    pub fn new(step: u64, values: impl IntoIterator<Item = (&'static str, f64)>) -> Self {
        Self { step, values: values.into_iter().collect(), vectors: BTreeMap::new() }
    }

    /// Refuses a row with a metric that is not in the table: it could not be read again.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.values.keys().find(|name| metric(name).is_none()) {
            Some(name) => Err(Error::invalid(unknown(name))),
            None => Ok(()),
        }
    }
}

/// End of a job, and its cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ended {
    /// Reason of an early end; such a job is a result too.
    pub failure: Option<String>,
    /// Reason for the end of a fit.
    pub outcome: Option<mcsa_estimators::Outcome>,
    /// State of a fit at its end.
    pub health: Option<Health>,
    /// Evaluations by name, without those for metrics.
    pub counts: BTreeMap<String, u64>,
    /// Seconds of one processor, without those for metrics.
    pub seconds: f64,
    /// Seconds for metrics.
    #[serde(default)]
    pub measuring: f64,
    /// Part of `measuring` for the health of the fit; 0 in results of earlier versions, which did not record it.
    #[serde(default)]
    pub judging: f64,
}

/// A job with its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The job.
    pub job: Job,
    /// Recorded rows.
    pub rows: Vec<Row>,
    /// End of the job.
    pub ended: Ended,
    /// Vector unit by which it was computed: results of one unit are bit-identical. Joined by `+` if the job moved from machine
    /// to machine.
    pub unit: String,
    /// Fingerprint of the code that computed it.
    pub code: String,
    /// Fingerprint of later code that confirmed it: another replicate of the task, run again, had the same numbers.
    pub confirmed: Option<String>,
    /// Day on which it was written, `2026-01-31`, if it is from the archive.
    pub date: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for value in
            [0.0, -0.0, 1.0 / 3.0, f64::MIN_POSITIVE / 8.0, f64::MAX, f64::INFINITY, f64::NEG_INFINITY]
        {
            let text = serde_json::to_string(&Number(value)).unwrap();
            let Number(back) = serde_json::from_str(&text).unwrap();
            assert_eq!(back.to_bits(), value.to_bits(), "{text}");
        }
        assert_eq!(serde_json::to_string(&Number(f64::NAN)).unwrap(), "\"nan\"");
        assert!(serde_json::from_str::<Number>("\"nan\"").unwrap().0.is_nan());
        assert!(serde_json::from_str::<Number>("\"NaN\"").is_err());
        assert!(serde_json::from_str::<Number>("null").is_err());
    }
}
