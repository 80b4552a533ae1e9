//! What replicates say of a mean.

use mcsa::Seed;

use crate::quantile::quantile;

/// A mean with an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// From how many replicates.
    pub replicates: usize,
}

/// The percentile bootstrap interval of the mean at a level such as 0.8, from 1024 resamples; `None` of nothing. One replicate
/// has no width: judge by [`Interval::replicates`].
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
