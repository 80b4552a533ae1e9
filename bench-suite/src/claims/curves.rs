//! Traces of several series, as columns that can be resampled.

use super::resampling::Columns;
use crate::results::Series;

/// A metric along the fits of several series: the steps that all series recorded, and one column of replicates for each step
/// of each series in turn.
pub(crate) struct Curves {
    pub(crate) steps: Vec<u64>,
    pub(crate) columns: Columns,
}

impl Curves {
    /// `None` if there is no series, or they were recorded at different steps.
    pub(crate) fn of(all: &[Series<'_>], name: &str) -> Option<Self> {
        let steps = all.first()?.steps();
        let is_same = !steps.is_empty() && all.iter().all(|series| series.steps() == steps);
        let columns = all.iter().flat_map(|series| steps.iter().map(|step| series.at(*step, name))).collect();
        is_same.then_some(Self { steps, columns })
    }

    /// The curve of each series, computed by `middle` from resampled columns.
    pub(crate) fn each(&self, columns: &[Vec<f64>], middle: fn(&[f64]) -> f64) -> Vec<Vec<f64>> {
        let curve = |columns: &[Vec<f64>]| columns.iter().map(|column| middle(column)).collect();
        columns.chunks(self.steps.len()).map(curve).collect()
    }

    /// First step at which `is_there` is true for a curve; infinite if there is none, NaN if the first value is NaN or
    /// absent.
    pub(crate) fn first(&self, curve: &[f64], is_there: impl Fn(f64) -> bool) -> f64 {
        let found = self.steps.iter().zip(curve).find(|(_, value)| is_there(**value));
        if curve.first().is_none_or(|value| value.is_nan()) {
            return f64::NAN;
        }
        found.map_or(f64::INFINITY, |(step, _)| *step as f64)
    }
}
