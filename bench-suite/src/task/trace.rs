//! Recorded steps of a fit.

use serde::{Deserialize, Deserializer, Serialize};

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
    #[serde(deserialize_with = "bounded")]
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

/// A number of rows that fits in memory.
fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let points = u64::deserialize(deserializer)?;
    let refuse = || serde::de::Error::custom(format!("points: at most {MOST}, not {points}"));
    if points <= MOST { Ok(points) } else { Err(refuse()) }
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
        assert!(toml::from_str::<super::super::Preset>(&replicates(10_000)).is_ok());
        let error =
            toml::from_str::<super::super::Preset>(&replicates(u64::MAX >> 1)).unwrap_err().to_string();
        assert!(error.contains("at most 10000, not 9223372036854775807"), "{error}");
    }
}
