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
