//! Pruning of network weights: share of means near zero, and density of the means.

use std::sync::LazyLock;

use super::Measures;
use crate::quantile::quantile;

/// Points at which the density of weights is evaluated: dense around zero, sparse beyond.
///
/// ```text
/// x_k = 2.5 sinh(4 u_k) / sinh(4),   u_k = -1, -0.975, .., 1
/// ```
pub(super) static PLACES: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let place = |k: i32| 2.5 * (4.0 * f64::from(k) / HALF).sinh() / 4.0_f64.sinh();
    (-HALF as i32..=HALF as i32).map(place).collect()
});

const HALF: f64 = 40.0;

/// Share of weights with a mean within 0.1 of zero, and standard deviation of the means.
pub(super) fn of_weights(means: &[f64]) -> Measures {
    let count = means.len() as f64;
    let near = means.iter().filter(|mean| mean.abs() < 0.1).count() as f64;
    vec![("weights_below_0.1", near / count), ("weights_deviation", deviation(means))]
}

fn deviation(means: &[f64]) -> f64 {
    let count = means.len() as f64;
    let centre = means.iter().sum::<f64>() / count;
    (means.iter().map(|mean| (mean - centre).powi(2)).sum::<f64>() / count).sqrt()
}

/// Kernel density estimate of the means at [`PLACES`], with a Gaussian kernel and Silverman's bandwidth.
///
/// ```text
/// 1/(n h) sum_i phi((x - m_i) / h),   h = 0.9 min(s, IQR / 1.34) n^(-1/5)
/// ```
/// `h` is at least 0.005, about half of the distance between points around zero: a sharper peak would fall between them.
pub(super) fn density(means: &[f64]) -> Vec<f64> {
    let mut sorted = means.to_vec();
    let range = quantile(&mut sorted, 0.75) - quantile(&mut sorted, 0.25);
    let count = means.len() as f64;
    let width = (0.9 * deviation(means).min(range / 1.34) * count.powf(-0.2)).max(0.005);
    let scale = 1.0 / (count * width * (2.0 * std::f64::consts::PI).sqrt());
    let at =
        |x: f64| scale * means.iter().map(|mean| (-0.5 * ((x - mean) / width).powi(2)).exp()).sum::<f64>();
    PLACES.iter().map(|x| at(*x)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integral of the density by the trapezoidal rule.
    fn mass(density: &[f64]) -> f64 {
        let pairs = PLACES.windows(2).zip(density.windows(2));
        pairs.map(|(x, y)| 0.5 * (x[1] - x[0]) * (y[0] + y[1])).sum()
    }

    /// Uniform on [-1, 1]: 1/2 inside, half of that at the border, 0 outside.
    #[test]
    fn an_even_spread_is_found_again() {
        let even: Vec<f64> = (0..400).map(|k| (f64::from(k) - 199.5) / 200.0).collect();
        let found = density(&even);
        // Points near 1 are 0.2 apart, as wide as the kernel, so that the trapezoidal rule is no more accurate than this.
        assert!((mass(&found) - 1.0).abs() < 1e-2, "{}", mass(&found));
        let at = |x: f64| {
            let off = |k: &usize| (PLACES[*k] - x).abs();
            let nearest = (0..PLACES.len()).min_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
            (PLACES[nearest], found[nearest])
        };
        assert!((at(0.0).1 - 0.5).abs() < 1e-4 && (at(0.3).1 - 0.5).abs() < 1e-3, "{:?}", at(0.3));
        // The bandwidth is 0.9 x 0.577 x 400^(-1/5) = 0.157, and the slope at the border is 1/2 of the kernel's height.
        let (x, value) = at(1.0);
        assert!((value - (0.25 - 0.5 * (x - 1.0) / (0.157 * 2.507))).abs() < 5e-3, "{x} {value}");
        assert!(at(2.4).1 < 1e-9);
    }

    #[test]
    fn weights_at_zero_are_a_peak() {
        let found = density(&[0.0; 50]);
        assert!((mass(&found) - 1.0).abs() < 0.05 && found.iter().all(|value| value.is_finite()));
        assert_eq!(of_weights(&[0.0, 0.05, -0.2, 1.0])[0], ("weights_below_0.1", 0.5));
    }
}
