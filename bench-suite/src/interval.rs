//! Bootstrap intervals of means over replicates, exact intervals of rates.

use mcsa_core::Seed;
use mcsa_core::numeric::scalar::ln_gamma;

use mcsa_diagnostics::quantile;

/// A mean with an interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
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

/// Exact interval of a rate of which `count` in `of` were seen, at a level such as 0.9 (Clopper & Pearson 1934).
///
/// ```text
/// low:  P(X >= count | low) = (1 - level) / 2,      high:  P(X <= count | high) = (1 - level) / 2,      X binomial
/// ```
///
/// ```
/// use mcsa_bench_suite::interval::binomial;
/// let [low, high] = binomial(0, 300, 0.9);
/// assert!(low == 0.0 && (high - (1.0 - 0.05_f64.powf(1.0 / 300.0))).abs() < 1e-9);
/// ```
pub fn binomial(count: usize, of: usize, level: f64) -> [f64; 2] {
    let tail = 0.5 * (1.0 - level);
    // P(X <= count) at a rate, which falls with the rate.
    let below = |count: usize, rate: f64| -> f64 {
        let log = |k: usize| {
            let [n, k] = [of as f64, k as f64];
            let choose = ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
            choose + k * rate.ln() + (n - k) * (-rate).ln_1p()
        };
        (0..=count).map(|k| log(k).exp()).sum()
    };
    let solve = |is_above: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if is_above(middle) { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    };
    let low = if count == 0 { 0.0 } else { solve(&|rate| 1.0 - below(count - 1, rate) > tail) };
    let high = if count >= of { 1.0 } else { solve(&|rate| below(count, rate) < tail) };
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two of ten: the tabulated 95 % interval is 2.52 % to 55.61 %.
    #[test]
    fn intervals_of_rates_are_the_tabulated_ones() {
        let [low, high] = binomial(2, 10, 0.95);
        assert!((low - 0.0252).abs() < 1e-4 && (high - 0.5561).abs() < 1e-4, "{low} {high}");
        assert_eq!(binomial(10, 10, 0.95)[1], 1.0);
    }
}
