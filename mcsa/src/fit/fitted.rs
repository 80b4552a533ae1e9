//! Result of a fit.

use std::fmt;

use mcsa_estimators::Draws;

use super::summary::{Evidence, Parameter};
use super::target::Evaluations;
use super::{Chains, Shape, Verdict};

/// Result of a fit: weighted draws, moments, evidence, and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The family of q.
    pub shape: Shape,
    /// The parameters of q.
    pub params: Vec<f64>,
    /// Weighted draws of q.
    pub draws: Draws,
    /// Every parameter on its constrained scale: moments and quantiles of the weighted draws.
    pub parameters: Vec<Parameter>,
    /// Log evidence.
    pub evidence: Evidence,
    /// The verdict.
    pub verdict: Verdict,
    /// Witness chains: their last positions are starts for another sampler.
    pub chains: Chains,
    /// Evaluations of the target, those of the verdict and the draws included.
    pub evaluations: Evaluations,
}

impl fmt::Display for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>16} {:>12} {:>10} {:>12} {:>12} {:>12} {:>12}",
            "", "mean", "error", "sd", "5 %", "50 %", "95 %"
        )?;
        for Parameter { name, mean, error, sd, quantiles: [low, middle, high] } in &self.parameters {
            writeln!(
                f,
                "{name:>16} {mean:>12.4} {error:>10.4} {sd:>12.4} {low:>12.4} {middle:>12.4} {high:>12.4}"
            )?;
        }
        let Evidence { log, error, lower, upper } = self.evidence;
        writeln!(f, "log evidence {log:.3} +- {error:.3}, bounds {lower:.3} and {upper:.3}")?;
        writeln!(
            f,
            "{} draws of {} are worth {:.0}, k-hat {:.2}; {} evaluations",
            self.draws.len(),
            self.shape,
            self.draws.sample_size,
            self.draws.shape,
            self.evaluations.total()
        )?;
        write!(f, "May the draws be used? {}", self.verdict)
    }
}
