//! Simultaneous confidence intervals.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Multiple of the standard error for `count` simultaneous confidence intervals, each with `freedom` degrees of freedom.
///
/// ```text
/// t quantile at 1 - (1 - confidence) / (2 count)     (Bonferroni)
/// ```
/// NaN unless `0 < confidence < 1`, `count > 0` and `freedom > 0`.
///
/// ```
/// use mcsa_diagnostics::simultaneous_quantile;
/// assert!((simultaneous_quantile(0.95, 1, 1e9) - 1.960).abs() < 1e-3);
/// assert!(simultaneous_quantile(0.95, 20, 15.0) > 3.0);
/// ```
pub fn simultaneous_quantile(confidence: f64, count: usize, freedom: f64) -> f64 {
    let sound = 0.0 < confidence && confidence < 1.0 && count > 0 && freedom > 0.0;
    if !sound {
        return f64::NAN;
    }
    let tail = (1.0 - confidence) / (2.0 * count as f64);
    if freedom < 1e5 {
        return StudentsT::new(0.0, 1.0, freedom)
            .map_or(f64::NAN, |student| upper_point(tail, |t| student.cdf(-t)));
    }
    // Expansion of Cornish and Fisher (1938); the remainder is of order freedom^-3.
    let z = upper_point(tail, |z| Normal::standard().cdf(-z));
    let z3 = z.powi(3);
    z + (z3 + z) / (4.0 * freedom) + (5.0 * z3 * z * z + 16.0 * z3 + 3.0 * z) / (96.0 * freedom * freedom)
}

/// Point at which a function that decreases from 0 on equals `tail`: bisection, so that it ends for every function.
pub(crate) fn upper_point(tail: f64, falling: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while falling(high) > tail && high < f64::MAX / 2.0 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if falling(middle) > tail { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tabulated: t(0.975; 10) = 2.228, t(0.975; 1) = 12.706, t(0.9975; 15) = 3.286.
    #[test]
    fn tabulated_quantiles() {
        for (count, freedom, expected) in [(1, 10.0, 2.228), (1, 1.0, 12.706), (10, 15.0, 3.286)] {
            let found = simultaneous_quantile(0.95, count, freedom);
            assert!((found - expected).abs() < 1e-3, "{count} {freedom}: {found}");
        }
        // Counter-check: a single interval is narrower.
        assert!(simultaneous_quantile(0.95, 1, 15.0) < 2.2);
    }

    /// The search ends for every count and freedom, and more degrees of freedom never widen an interval.
    #[test]
    fn quantiles_fall_with_the_degrees_of_freedom() {
        for count in [1, 20, 5_000] {
            let mut last = f64::INFINITY;
            for power in -2..=30 {
                let found = simultaneous_quantile(0.95, count, 10.0_f64.powf(0.5 * f64::from(power)));
                assert!(found <= last * (1.0 + 1e-9) && found > 1.9, "{count}, {power}: {found}");
                last = found;
            }
        }
    }

    #[test]
    fn what_says_nothing_is_nan() {
        for (confidence, count, freedom) in
            [(1.0, 1, 5.0), (f64::NAN, 1, 5.0), (0.9, 0, 5.0), (0.9, 1, 0.0), (0.9, 1, f64::NAN)]
        {
            assert!(simultaneous_quantile(confidence, count, freedom).is_nan());
        }
    }
}
