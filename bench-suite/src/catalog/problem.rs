//! Targets that are built, with the evaluators of their fits.

use std::sync::Arc;

use mcsa_core::{Error, Gradient, Stream};
use mcsa_estimators::Draws;
use mcsa_families::GaussianFamily;

use super::{Evaluator, Measures};

/// Requirements on a target: gradients, for the methods that need them. Used behind a
/// pointer, with a virtual call per batch.
pub trait Posterior: Gradient {}

impl<P: Gradient> Posterior for P {}

/// A target with the evaluator of its fits.
pub struct Problem {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Evaluator of fits.
    pub evaluator: Box<dyn Evaluator>,
}

pub(super) fn evaluated(posterior: impl Posterior + 'static, evaluator: impl Evaluator + 'static) -> Problem {
    Problem { posterior: Arc::new(posterior), evaluator: Box::new(evaluator) }
}

pub(super) fn by_evidence(posterior: impl Posterior + 'static) -> Problem {
    let posterior: Arc<dyn Posterior> = Arc::new(posterior);
    Problem { evaluator: Box::new(LogEvidence { target: posterior.clone() }), posterior }
}

/// Estimate of the log marginal likelihood by importance sampling from `q`.
///
/// ```text
/// log 1/S sum_s p(z_s) / q(z_s),   z_s ~ q,   S = 4096
/// ```
/// Markov's inequality bounds how far it can exceed the truth: by `t` nats with probability at most `exp(-t)`.
struct LogEvidence {
    target: Arc<dyn Posterior>,
}

const DRAWS: usize = 4096;

impl Evaluator for LogEvidence {
    fn measure(
        &self,
        family: &dyn GaussianFamily,
        params: &[f64],
        stream: Stream,
    ) -> Result<Measures, Error> {
        Ok(vec![("log_z", Draws::of(&*self.target, family, params, stream, DRAWS)?.log_evidence())])
    }
}
