//! Logarithms of gamma function ratios, `ln Gamma(x + n/2) - ln Gamma(x)`, without cancellation at large `x`.

/// `ln Gamma(x + n/2) - ln Gamma(x) - (n/2) ln x`, which vanishes as `x` grows.
///
/// ```text
/// sum_{k < m} ln(1 + k/x),                                  n = 2 m
/// the sum above + ln(1 + m/x) / 2 + h(x + m),               n = 2 m + 1
/// h(x) = ln Gamma(x + 1/2) - ln Gamma(x) - ln(x) / 2
/// ```
/// Numerics: a difference of two log gammas loses all its digits at large `x` (a Student t near a Gaussian);
/// in this sum no large numbers cancel. Absolute error about `n` units of 1e-16.
pub(crate) fn excess(x: f64, n: usize) -> f64 {
    let m = n / 2;
    let even = sum_ln_1p((0..m).map(|k| k as f64 / x));
    if n.is_multiple_of(2) { even } else { even + 0.5 * (m as f64 / x).ln_1p() + half(x + m as f64) }
}

/// `sum_k ln(1 + t_k)` as the logarithm of a product, of which the excess over one is carried: nothing cancels if the terms have one sign.
fn sum_ln_1p(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut excess) = (0.0, 0.0);
    for term in terms {
        excess += (1.0 + excess) * term;
        if excess > 1e150 {
            sum += f64::ln_1p(std::mem::take(&mut excess));
        }
    }
    sum + excess.ln_1p()
}

/// Derivative `d/dx` of [`excess`].
pub(crate) fn excess_slope(x: f64, n: usize) -> f64 {
    let m = n / 2;
    let slope = |k: usize| -(k as f64 / x) / (x + k as f64);
    let even: f64 = (0..m).map(slope).sum();
    if n.is_multiple_of(2) { even } else { even + 0.5 * slope(m) + half_slope(x + m as f64) }
}

/// Second derivative of [`excess`].
pub(crate) fn excess_curvature(x: f64, n: usize) -> f64 {
    let m = n / 2;
    let curvature = |k: usize| {
        let (k, y) = (k as f64, x + k as f64);
        (k / x / y) * ((x + y) / x / y)
    };
    let even: f64 = (0..m).map(curvature).sum();
    if n.is_multiple_of(2) { even } else { even + 0.5 * curvature(m) + half_curvature(x + m as f64) }
}

/// Least `x` at which the series of [`half`] is used: there it is exact to 3e-16.
const FAR: f64 = 16.0;

/// `B_2k (2 - 2^(1-2k)) / (2k (2k-1))`, negated, `k = 1..6`: Stirling's series at `x + 1/2` less that at `x`.
const SERIES: [f64; 6] =
    [-1.0 / 8.0, 1.0 / 192.0, -1.0 / 640.0, 17.0 / 14336.0, -31.0 / 18432.0, 691.0 / 180224.0];

/// `h(x)`, by the recurrence `h(x) = h(x + 1) + ln(x (x + 1) / (x + 1/2)^2) / 2` until the series applies.
fn half(mut x: f64) -> f64 {
    let mut sum = 0.0;
    if x < 0.5 {
        // Near x = 0 the difference in the factor 1 - 1 / (2 x + 1)^2 would cancel.
        sum = 0.5 * (x * (x + 1.0) / ((x + 0.5) * (x + 0.5))).ln();
        x += 1.0;
    }
    let steps = (FAR - x).ceil().max(0.0);
    // The least terms first, whose sums round least.
    sum += 0.5 * sum_ln_1p((0..steps as usize).rev().map(|k| -0.25 / (x + k as f64 + 0.5).powi(2)));
    let y = 1.0 / (x + steps);
    sum + y * SERIES.iter().rev().fold(0.0, |series, &c| series * y * y + c)
}

/// `h'(x)`, by the recurrence `h'(x) = h'(x + 1) + 1 / (4 x (x + 1/2) (x + 1))`.
fn half_slope(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < FAR {
        sum += 0.25 / (x * (x + 0.5) * (x + 1.0));
        x += 1.0;
    }
    let y = 1.0 / x;
    let terms = SERIES.iter().enumerate().rev();
    sum - y * y * terms.fold(0.0, |series, (k, &c)| series * y * y + (2 * k + 1) as f64 * c)
}

/// `h''(x)`, by the derivative of the recurrence of [`half_slope`].
fn half_curvature(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < FAR {
        let (middle, next) = (x + 0.5, x + 1.0);
        sum -= 0.25 / (x * middle * next) * (1.0 / x + 1.0 / middle + 1.0 / next);
        x += 1.0;
    }
    let y = 1.0 / x;
    let terms = SERIES.iter().enumerate().rev();
    let coefficient = |k: usize| ((2 * k + 1) * (2 * k + 2)) as f64;
    sum + y * y * y * terms.fold(0.0, |series, (k, &c)| series * y * y + coefficient(k) * c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::function::gamma::{digamma, ln_gamma};

    proptest! {
        #[test]
        fn the_excess_is_the_difference_of_log_gammas(log_x in -3.0..4.0_f64, n in 0..12_usize) {
            let (x, half) = (log_x.exp(), n as f64 / 2.0);
            let expected = ln_gamma(x + half) - ln_gamma(x) - half * x.ln();
            prop_assert!((excess(x, n) - expected).abs() < 1e-12, "{} {expected}", excess(x, n));
            let slope = digamma(x + half) - digamma(x) - half / x;
            prop_assert!((excess_slope(x, n) - slope).abs() < 1e-11 * (1.0 + 1.0 / x), "{} {slope}", excess_slope(x, n));
        }

        /// Central differences of the slope: their error is of the second order in the relative step.
        #[test]
        fn the_curvature_is_the_derivative_of_the_slope(log_x in -2.0..6.0_f64, n in 0..12_usize) {
            let (x, step) = (log_x.exp(), 1e-4 * log_x.exp());
            let difference = (excess_slope(x + step, n) - excess_slope(x - step, n)) / (2.0 * step);
            let scale = n as f64 * (1.0 + n as f64) / (x * x);
            let found = excess_curvature(x, n);
            prop_assert!((found - difference).abs() <= 1e-7 * scale, "{found} {difference}");
        }

        #[test]
        fn two_halves_make_a_whole(log_x in -2.0..40.0_f64, n in 0..40_usize, m in 0..5_usize) {
            // Gamma(x+n/2+m/2)/Gamma(x) = [Gamma(y+m/2)/Gamma(y)] [Gamma(y)/Gamma(x)], y = x + n/2.
            let (x, y) = (log_x.exp(), log_x.exp() + n as f64 / 2.0);
            let parts = excess(x, n) + excess(y, m) + 0.5 * m as f64 * (n as f64 / (2.0 * x)).ln_1p();
            prop_assert!((excess(x, n + m) - parts).abs() < 1e-13 * (1.0 + parts.abs()));
        }
    }

    #[test]
    fn known_values() {
        let ln_pi = std::f64::consts::PI.ln();
        // Gamma(1) / Gamma(1/2), Gamma(3/2) / Gamma(1).
        assert!((excess(0.5, 1) - (0.5 * 2.0_f64.ln() - 0.5 * ln_pi)).abs() < 2e-16);
        assert!((excess(1.0, 1) - (0.5 * ln_pi - 2.0_f64.ln())).abs() < 2e-16);
        assert_eq!(excess(3.0, 0), 0.0);
        for n in 0..7 {
            assert!(excess(1e300, n).abs() < 1e-290 && excess_slope(1e300, n).abs() < 1e-290);
        }
        // At large x the first term of the series dominates: -1/(8x).
        assert!((excess(1e8, 1) + 1.25e-9).abs() < 1e-24);
    }
}
