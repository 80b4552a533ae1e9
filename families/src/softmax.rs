//! Log softmax: log probabilities from logits.

/// Log softmax of finite logits.
///
/// Numerics: the largest logit is subtracted before the logarithm of the sum, so that logits of any size
/// give probabilities.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Softmax {
    top: f64,
    log_total: f64,
}

impl Softmax {
    pub(crate) fn of(logits: &[f64]) -> Self {
        let top = logits.iter().fold(f64::NEG_INFINITY, |top, &x| top.max(x));
        Self { top, log_total: logits.iter().map(|x| (x - top).exp()).sum::<f64>().ln() }
    }

    /// Log probability of an outcome with this logit.
    pub(crate) fn log(self, logit: f64) -> f64 {
        (logit - self.top) - self.log_total
    }
}
