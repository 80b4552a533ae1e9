//! Scales: map from values to positions on an axis.

/// A map from values to fractions of an axis, 0 at its low end and 1 at its high end.
///
/// ```text
/// linear  (v - low) / (high - low)         logarithmic  (log v - log low) / (log high - log low)
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// Low end, as logarithm to base ten if `is_log`.
    pub(super) low: f64,
    /// High end, as logarithm to base ten if `is_log`.
    pub(super) high: f64,
    pub(super) is_log: bool,
    /// True if the first value is at the high end.
    pub(super) is_reversed: bool,
}

impl Scale {
    /// Positions are clamped to this many axis lengths, because conversion of `f64` to pixels would overflow.
    const FAR: f64 = 1e6;

    /// A linear scale; an empty or extremely small range is widened.
    pub(super) fn linear(low: f64, high: f64) -> Self {
        let magnitude = low.abs().max(high.abs());
        let least = (magnitude * 1e-12).max(1e-290);
        let (mut low, mut high) = (low, high);
        if high - low < least {
            let middle = low / 2.0 + high / 2.0;
            let half = if magnitude < 1e-290 { 1.0 } else { magnitude * 0.1 };
            (low, high) = (middle - half, middle + half);
        }
        let (low, high) = (low.max(-f64::MAX), high.min(f64::MAX));
        Self { low, high, is_log: false, is_reversed: false }
    }

    /// A logarithmic scale between positive ends; an empty range becomes one decade.
    pub(super) fn log(low: f64, high: f64) -> Self {
        let (mut low, mut high) = (low.log10(), high.log10());
        if high - low < 1e-9 {
            (low, high) = (low - 0.5, high + 0.5);
        }
        Self { low, high, is_log: true, is_reversed: false }
    }

    /// Position of a value as fraction of the axis. Finite for every value that the scale accepts.
    pub(super) fn fraction(&self, value: f64) -> f64 {
        let place = if self.is_log { value.log10() } else { value };
        let fraction = (place / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        let fraction = if self.is_reversed { 1.0 - fraction } else { fraction };
        fraction.clamp(-Self::FAR, Self::FAR)
    }

    /// Length of the range, in decades if logarithmic.
    pub(super) fn span(&self) -> f64 {
        self.high - self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_scale_spaces_ratios() {
        let scale = Scale::log(1e-2, 1e2);
        for (value, fraction) in [(1e-2, 0.0), (1e-1, 0.25), (1.0, 0.5), (1e1, 0.75), (1e2, 1.0), (1e4, 1.5)]
        {
            assert!((scale.fraction(value) - fraction).abs() < 1e-15, "{value}");
        }
        // Counterexample: linear spacing over the same range puts 1 elsewhere.
        assert!((Scale::linear(1e-2, 1e2).fraction(1.0) - 0.5).abs() > 0.4);
    }

    #[test]
    fn fractions_are_finite_at_the_ends_of_f64() {
        for scale in [
            Scale::linear(-1e308, 1e308),
            Scale::linear(-f64::MAX, f64::MAX),
            Scale::linear(0.0, 0.0),
            Scale::linear(1e-320, 2e-320),
            Scale::linear(1.0, 1.0 + f64::EPSILON),
            Scale::log(1e-320, 1e300),
            Scale::log(5.0, 5.0),
        ] {
            for value in [5e-324, 1e-300, 1.0, 1e300, f64::MAX] {
                assert!(scale.fraction(value).is_finite(), "{scale:?} {value}");
            }
            assert!(scale.span() > 0.0);
        }
    }

    #[test]
    fn a_reversed_scale_begins_on_top() {
        let scale = Scale { is_reversed: true, ..Scale::linear(0.0, 4.0) };
        assert_eq!((scale.fraction(0.0), scale.fraction(3.0)), (1.0, 0.25));
    }
}
