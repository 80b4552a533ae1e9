//! Log importance weights of draws.

/// Appends `log p - log q`, with `-inf` (zero weight) where p or q is not a density; returns the number of such faults.
pub(crate) fn add_log_weights(log_p: &[f64], log_q: &[f64], log_w: &mut Vec<f64>) -> usize {
    let mut broken = 0;
    log_w.extend(log_p.iter().zip(log_q).map(|(&log_p, &log_q)| {
        if log_p.is_nan() || log_p == f64::INFINITY || log_q.is_nan() {
            broken += 1;
            return f64::NEG_INFINITY;
        }
        if log_p == f64::NEG_INFINITY { log_p } else { log_p - log_q }
    }));
    broken
}

/// Log weights whose exponentials sum to 1, unless all are zero.
pub(crate) fn normalised(mut log_weights: Vec<f64>) -> Vec<f64> {
    let top = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top.is_finite() {
        let log_sum = top + log_weights.iter().map(|w| (w - top).exp()).sum::<f64>().ln();
        log_weights.iter_mut().for_each(|w| *w -= log_sum);
    }
    log_weights
}
