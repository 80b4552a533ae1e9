//! Recorded steps of a fit.

use serde::{Deserialize, Serialize};

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
    /// Number of rows after the start; fewer if several would fall on one step.
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
