//! Bootstrap intervals of means over replicates.

use mcsa_core::Seed;

use crate::quantile::quantile;

/// A mean with an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Mean.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of replicates.
    pub replicates: usize,
}

/// Percentile bootstrap interval of the mean at a level such as 0.8, from 1024 resamples; `None` if there are no values. The
/// interval of one replicate has width 0: check [`Interval::replicates`].
///
/// ```
/// use mcsa_bench_suite::interval::bootstrap;
/// let interval = bootstrap(&[1.0, 2.0, 3.0], 0.8).unwrap();
/// assert_eq!(interval.value, 2.0);
/// assert!(interval.low < 2.0 && interval.high > 2.0 && interval.low >= 1.0);
/// ```
pub fn bootstrap(values: &[f64], level: f64) -> Option<Interval> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let mean = |sum: f64| sum / count as f64;
    let mut stream = Seed::new(0).named("bootstrap").stream(0, 0);
    let mut means: Vec<f64> = (0..1024)
        .map(|_| {
            let pick = |_| values[((stream.uniform() * count as f64) as usize).min(count - 1)];
            mean((0..count).map(pick).sum())
        })
        .collect();
    let tail = 0.5 * (1.0 - level);
    let (low, high) = (quantile(&mut means, tail), quantile(&mut means, 1.0 - tail));
    Some(Interval { value: mean(values.iter().sum()), low, high, replicates: count })
}
