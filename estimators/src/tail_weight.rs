//! Verdict on the tail of importance weights.

use std::fmt;

use mcsa_diagnostics::Pareto;
use serde::{Deserialize, Serialize};

/// Verdict on the tail of importance weights, from k-hat, its standard error and its growth with the number of draws.
///
/// ```text
/// Heavy    k-hat - 1.645 error              > threshold
/// Light    k-hat + 1.645 error + 2 growth   < threshold
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TailWeight {
    /// Averages over weighted draws of q are reliable.
    Light,
    /// Averages over weighted draws of q are not reliable: q misses mass of p.
    Heavy,
    /// k-hat is too near its threshold, grows with the number of draws, or is NaN.
    NotKnown,
}

impl TailWeight {
    /// `growth` is that of the last quadrupling of the draws; two further quadruplings with the same growth are allowed for.
    pub(crate) fn of(shape: f64, error: f64, growth: f64, threshold: f64) -> Self {
        let reach = 1.645 * error;
        // Written so that NaN gives `NotKnown`.
        let growth = if growth > 0.0 { growth } else { growth * 0.0 };
        if shape - reach > threshold {
            Self::Heavy
        } else if shape + reach + 2.0 * growth < threshold {
            Self::Light
        } else {
            Self::NotKnown
        }
    }
}

impl fmt::Display for TailWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Light => "light enough",
            Self::Heavy => "too heavy, q misses mass of p",
            Self::NotKnown => "inconclusive",
        })
    }
}

/// k-hat of log weights, with its standard error, growth, tail size and threshold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailShape {
    pub(crate) shape: f64,
    pub(crate) error: f64,
    pub(crate) growth: f64,
    pub(crate) weights: usize,
    pub(crate) threshold: f64,
}

impl TailShape {
    pub(crate) const NONE: Self =
        Self { shape: f64::NAN, error: f64::NAN, growth: f64::NAN, weights: 0, threshold: f64::NAN };

    pub(crate) fn of(log_weights: &[f64]) -> Self {
        Self::smoothed(log_weights).0
    }

    /// The shape, and the smoothed log weights.
    pub(crate) fn smoothed(log_weights: &[f64]) -> (Self, Vec<f64>) {
        let pareto = Pareto::of(log_weights);
        let quarter = Pareto::of(&log_weights[..log_weights.len() / 4]).shape;
        let shape = Self {
            shape: pareto.shape,
            error: pareto.standard_error,
            growth: pareto.shape - quarter,
            weights: pareto.tail,
            threshold: pareto.threshold,
        };
        (shape, pareto.log_weights)
    }

    /// The verdict on these weights.
    pub(crate) fn verdict(&self) -> TailWeight {
        TailWeight::of(self.shape, self.error, self.growth, self.threshold)
    }

    /// True if more draws are unnecessary: the tail is heavy, or so light that the weights have a variance.
    pub(crate) fn is_clear(&self) -> bool {
        let at = |threshold| TailWeight::of(self.shape, self.error, self.growth, threshold);
        at(self.threshold) == TailWeight::Heavy || at(self.threshold.min(0.5)) == TailWeight::Light
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    #[test]
    fn verdicts_by_hand() {
        assert_eq!(TailWeight::of(0.4, 0.1, 0.05, 0.7), TailWeight::Light);
        assert_eq!(TailWeight::of(0.4, 0.1, -0.5, 0.7), TailWeight::Light);
        // Too near the threshold, growing, NaN.
        assert_eq!(TailWeight::of(0.6, 0.1, 0.0, 0.7), TailWeight::NotKnown);
        assert_eq!(TailWeight::of(0.4, 0.1, 0.2, 0.7), TailWeight::NotKnown);
        assert_eq!(TailWeight::of(f64::NAN, f64::NAN, f64::NAN, 0.7), TailWeight::NotKnown);
        assert_eq!(TailWeight::of(0.4, 0.1, f64::NAN, 0.7), TailWeight::NotKnown);
        assert_eq!(TailWeight::of(0.9, 0.1, 0.0, 0.7), TailWeight::Heavy);
    }

    /// A shape between both thresholds leaves it open whether more draws would change the verdict.
    #[test]
    fn more_draws_are_needed_between_light_and_heavy() {
        let clear =
            |shape, error| TailShape { shape, error, growth: 0.0, weights: 100, threshold: 0.7 }.is_clear();
        assert!(clear(0.9, 0.1) && clear(0.2, 0.1));
        assert!(!clear(0.7, 0.1) && !clear(0.45, 0.1) && !clear(0.6, 0.01) && !clear(f64::NAN, 0.1));
    }

    /// Log weights of a Gaussian q: against a Gaussian of `1 / (1 - k)` times its variance, whose tail index is k; or
    /// against a t of its variance, whose tail index is 1 or more but is visible only far out.
    fn log_weights(seed: u64, draws: usize, k: Option<f64>) -> Vec<f64> {
        let mut stream = Seed::new(seed).stream(0, 0);
        let log_w = |square: f64| match k {
            Some(k) => 0.5 * k * square,
            None => 0.5 * square - 4.0 * (square / 3.0).ln_1p(),
        };
        let dim = if k.is_some() { 2 } else { 3 };
        (0..draws).map(|_| log_w((0..dim).map(|_| stream.normal().powi(2)).sum())).collect()
    }

    /// The verdict from the draws of a report.
    fn verdict(seed: u64, k: Option<f64>) -> TailWeight {
        let log_w = log_weights(seed, 16_000, k);
        let tail = Some(TailShape::of(&log_w[..4_000])).filter(TailShape::is_clear);
        let tail = tail.unwrap_or_else(|| TailShape::of(&log_w));
        TailWeight::of(tail.shape, tail.error, tail.growth, tail.threshold)
    }

    /// No set of 20 with k = 0.9 is called light, all with k = 0.1 are. The twin: k-hat of 1000 draws against a
    /// t is always below its threshold, though it is 1 or more farther out; this rule calls about three of them light.
    #[test]
    fn known_tails_get_their_verdict() {
        let light = |k| (0..20).filter(|seed| verdict(*seed, k) == TailWeight::Light).count();
        assert_eq!((light(Some(0.9)), light(Some(0.1))), (0, 20));
        let alone = |seed: &u64| Pareto::of(&log_weights(*seed, 1_000, None)).is_reliable();
        assert_eq!((0..20).filter(alone).count(), 20);
        assert!(light(None) <= 8, "{}", light(None));
    }
}
