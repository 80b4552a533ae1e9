//! p-values of a two-sample test, a test of a mean and a chi-square test.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// Two-sample test that two samples of equal size `n` have one distribution: `P(D > x) <= 2 exp(-n x^2)` for the largest difference
/// `D` of their distribution functions, a bound that is proved for `n >= 458` (Wei and Dudley 2012). With ties it
/// is conservative.
pub(crate) fn two_sample(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let distance = largest_gap(&sorted(a), &sorted(b));
    (2.0 * (-n * distance * distance).exp()).min(1.0)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j, mut gap) = (0, 0, 0.0_f64);
    while i < a.len() && j < b.len() {
        let x = if a[i].total_cmp(&b[j]).is_le() { a[i] } else { b[j] };
        let rest = |values: &[f64], from: usize| {
            values[from..].iter().take_while(|v| v.total_cmp(&x).is_le()).count()
        };
        i += rest(a, i);
        j += rest(b, j);
        gap = gap.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    gap
}

/// Two-sided test that the mean of independent values is zero, by the normal approximation. Values that are all
/// zero give 1.
pub(crate) fn zero_mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    if variance == 0.0 {
        return if mean == 0.0 { 1.0 } else { 0.0 };
    }
    2.0 * Normal::standard().sf(mean.abs() / (variance / n).sqrt())
}

/// Test that counts are uniform over their cells, by Pearson's chi-square approximation.
pub(crate) fn uniform_counts(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let statistic: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    ChiSquared::new(freedom).expect("at least two cells").sf(statistic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_count_ties_once() {
        let (a, b) = ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(largest_gap(&a, &b), 0.25);
        assert_eq!(largest_gap(&a, &a), 0.0);
        assert_eq!(largest_gap(&[0.0, 1.0], &[2.0, 3.0]), 1.0);
    }

    #[test]
    fn known_p_values() {
        // 10 against 20 of 30: chi-square 10/3 with one degree of freedom.
        assert!((uniform_counts(&[10, 20]) - 0.067_889).abs() < 1e-5);
        assert_eq!(zero_mean(&[0.0; 5]), 1.0);
        assert_eq!(zero_mean(&[1.0; 5]), 0.0);
        assert!(two_sample(&[0.0; 500], &[1.0; 500]) < 1e-100);
        assert_eq!(two_sample(&[1.0; 500], &[1.0; 500]), 1.0);
    }
}
