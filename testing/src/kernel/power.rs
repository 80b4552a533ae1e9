//! Power of the invariance tests, by formula.
//!
//! Each function returns the smallest error for which a [`Sequential`] test of `tests` p-values, one of which depends on the error,
//! raises an alarm with probability [`PROBABILITY`]. If the error affects other p-values too, an alarm is more probable.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use crate::Sequential;

/// Probability with which a stated error is detected.
pub(crate) const PROBABILITY: f64 = 0.9;

/// The smallest error for which an alarm has probability [`PROBABILITY`], by bisection: `chance(size, growth, x)` is the
/// probability that the corrected p-value is at most `x`.
fn smallest(sequential: Sequential, chance: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let seen = |size: f64| sequential.alarm(|growth, x| chance(size, growth, x)) >= PROBABILITY;
    let (mut low, mut high) = (0.0, 1e-6);
    while !seen(high) && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if seen(middle) { high = middle } else { low = middle }
    }
    high
}

/// Upper quantile of the standard normal.
fn upper(probability: f64) -> f64 {
    -Normal::standard().inverse_cdf(probability.min(0.5))
}

/// Student's two-sided test of a mean: error in standard errors of the first stage. The quantile of Student's distribution is that
/// of the normal with the first term of its expansion in `1 / freedom`.
pub(crate) fn of_mean(sequential: Sequential, tests: usize, freedom: f64) -> f64 {
    let normal = Normal::standard();
    smallest(sequential, |size, growth, x| {
        let z = upper(0.5 * x / tests as f64);
        let quantile = z + (z * z * z + z) / (4.0 * freedom * growth);
        let shift = size * growth.sqrt();
        normal.cdf(shift - quantile) + normal.cdf(-shift - quantile)
    })
}

/// Two-sample test: error in the distance of two distribution functions, each estimated from `draws`. At the point of the largest
/// difference the difference of the two samples is normal with a variance of at most `1 / (2 draws)`.
pub(crate) fn of_distance(sequential: Sequential, tests: usize, draws: f64) -> f64 {
    let normal = Normal::standard();
    smallest(sequential, |size, growth, x| {
        let draws = draws * growth;
        let threshold = ((2.0 * tests as f64 / x).ln() / draws).sqrt();
        normal.cdf((size - threshold) * (2.0 * draws).sqrt())
    })
}

/// Chi-square test of uniform counts: root mean square of the relative errors of the cells. The non-central distribution is
/// approximated by Patnaik's multiple of a chi-square distribution, the quantile by that of Wilson and Hilferty.
pub(crate) fn of_counts(sequential: Sequential, tests: usize, cells: usize, draws: f64) -> f64 {
    let freedom = (cells - 1) as f64;
    smallest(sequential, |size, growth, x| {
        let spread = 2.0 / (9.0 * freedom);
        let quantile = freedom * (1.0 - spread + upper(x / tests as f64) * spread.sqrt()).powi(3);
        let shift = draws * growth * size * size;
        let factor = (freedom + 2.0 * shift) / (freedom + shift);
        let law = ChiSquared::new((freedom + shift).powi(2) / (freedom + 2.0 * shift));
        law.expect("a positive number of degrees of freedom").sf(quantile / factor)
    })
}

/// Test of the mean product of two scores: error in the correlation of a pair.
pub(crate) fn of_correlation(sequential: Sequential, tests: usize, pairs: f64) -> f64 {
    of_mean(sequential, tests, pairs) / pairs.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One stage and one test: the textbook value, `z_alpha/2 + z_power` standard errors.
    #[test]
    fn one_stage_is_the_textbook() {
        let once = Sequential { level: 0.05, stages: 1, growth: 4 };
        assert!((of_mean(once, 1, 1e9) - (1.959_964 + 1.281_552)).abs() < 1e-3);
        let distance = of_distance(once, 1, 10_000.0);
        assert!((distance - (40.0_f64.ln() / 1e4).sqrt() - 1.281_552 / 2e4_f64.sqrt()).abs() < 1e-6);
    }

    /// Against the exact non-central chi-square distribution, a Poisson mixture: the approximations err by less than three percent.
    #[test]
    fn patnaik_is_close() {
        for (level, freedom) in [(0.05, 8.0), (1e-6, 8.0), (1e-3, 3.0)] {
            let central = |j: u32| ChiSquared::new(freedom + 2.0 * f64::from(j)).unwrap();
            let mut cut = freedom;
            while central(0).sf(cut) > level {
                cut += 1e-3;
            }
            let power = |shift: f64| -> f64 {
                let mut weight = (-0.5 * shift).exp();
                let mut total = 0.0;
                for j in 0..300 {
                    total += weight * central(j).sf(cut);
                    weight *= 0.5 * shift / f64::from(j + 1);
                }
                total
            };
            let once = Sequential { level, stages: 1, growth: 4 };
            let error = of_counts(once, 1, freedom as usize + 1, 1_000.0);
            assert!(power(1_000.0 * (0.97 * error).powi(2)) < PROBABILITY, "{level} {freedom}");
            assert!(power(1_000.0 * (1.03 * error).powi(2)) > PROBABILITY, "{level} {freedom}");
        }
    }

    /// More tests need a larger error, more stages a smaller one.
    #[test]
    fn stages_lower_the_error_that_is_seen() {
        let seven = Sequential::at(2.5e-5);
        let three = Sequential { stages: 3, growth: 2, ..seven };
        let once = Sequential { stages: 1, ..seven };
        assert!(of_mean(seven, 28, 1e3) < of_mean(once, 28, 1e3) - 1.0);
        assert!(of_mean(seven, 28, 1e3) > of_mean(seven, 1, 1e3));
        assert!((of_mean(three, 28, 1e9) - 4.66).abs() < 0.01);
    }
}
