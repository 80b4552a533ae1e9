//! Intervals that hold together.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How many standard errors, each from `freedom` degrees of freedom, make intervals of `count` means hold all at once.
///
/// ```text
/// t quantile at 1 - (1 - confidence) / (2 count)     (Bonferroni)
/// ```
/// NaN unless `0 < confidence < 1`, there is a mean and a degree of freedom.
///
/// ```
/// use mcsa_theory::diagnostics::simultaneous_quantile;
/// assert!((simultaneous_quantile(0.95, 1, 1e9) - 1.960).abs() < 1e-3);
/// assert!(simultaneous_quantile(0.95, 20, 15.0) > 3.0);
/// ```
pub fn simultaneous_quantile(confidence: f64, count: usize, freedom: f64) -> f64 {
    let sound = 0.0 < confidence && confidence < 1.0 && count > 0 && freedom > 0.0;
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if sound => student.inverse_cdf(1.0 - (1.0 - confidence) / (2.0 * count as f64)),
        _ => f64::NAN,
    }
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
        // The twin: one interval alone is narrower.
        assert!(simultaneous_quantile(0.95, 1, 15.0) < 2.2);
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
