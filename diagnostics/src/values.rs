//! Checks, moments and quantiles of plain values.

/// The largest log weight, if the weights are valid: none is NaN or `+inf`, and not all are `-inf`.
pub(crate) fn largest(log_weights: &[f64]) -> Option<f64> {
    let sound = log_weights.iter().all(|w| !w.is_nan() && *w != f64::INFINITY);
    let top = log_weights.iter().fold(f64::NEG_INFINITY, |top, &w| top.max(w));
    (sound && top > f64::NEG_INFINITY).then_some(top)
}

/// Mean and variance (denominator `n - 1`), in two passes.
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, square / (n - 1.0))
}

/// True if all values are equal. Tested on the values, because rounding gives equal values a small variance.
pub(crate) fn is_constant(values: &[f64]) -> bool {
    values.iter().all(|x| *x == values[0])
}

/// The length of the chains, if it is one, at least 4, and all values are finite.
pub(crate) fn length<C: AsRef<[f64]>>(chains: &[C]) -> Option<usize> {
    let n = chains.first()?.as_ref().len();
    let sound = |c: &C| c.as_ref().len() == n && c.as_ref().iter().all(|x| x.is_finite());
    (n >= 4 && chains.iter().all(sound)).then_some(n)
}

/// Empirical quantile at `level`, interpolated between order statistics as in Hyndman & Fan (1996), type 7; NaN if there are
/// no values, or one is NaN.
pub fn quantile(values: &mut [f64], level: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    // NaN of either sign are at the ends.
    if values[0].is_nan() || values[last].is_nan() {
        return f64::NAN;
    }
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
        assert!(
            quantile(&mut [1.0, -f64::NAN, 2.0], 0.5).is_nan()
                && quantile(&mut [f64::NAN, 1.0, 2.0], 0.2).is_nan()
        );
    }
}
