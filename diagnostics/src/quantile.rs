//! Empirical quantiles.

/// Empirical quantile at `level`, interpolated between order statistics as in Hyndman & Fan (1996), type 7; NaN if there are
/// no values.
pub fn quantile(values: &mut [f64], level: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let place = level.clamp(0.0, 1.0) * last as f64;
    let (low, share) = (place.floor() as usize, place.fract());
    let (below, above) = (values[low], values[(low + 1).min(last)]);
    // The difference of equal infinities would be NaN.
    if below == above { below } else { below + share * (above - below) }
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn between_order_statistics_it_is_linear() {
        let mut values = [3.0, 1.0, 2.0, 5.0];
        assert_eq!(quantile(&mut values, 0.0), 1.0);
        assert_eq!(quantile(&mut values, 0.5), 2.5);
        assert_eq!(quantile(&mut values, 1.0), 5.0);
        assert_eq!(quantile(&mut [7.0], 0.3), 7.0);
        assert_eq!(quantile(&mut [1.0, f64::INFINITY, f64::INFINITY], 0.75), f64::INFINITY);
        assert!(quantile(&mut [], 0.5).is_nan());
    }
}
