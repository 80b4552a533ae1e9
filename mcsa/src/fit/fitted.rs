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
            let [mean, low, middle, high] = [mean, low, middle, high].map(|x| places(*x, *sd));
            let (error, sd) = (places(*error, *sd), places(*sd, *sd));
            writeln!(f, "{name:>16} {mean:>12} {error:>10} {sd:>12} {low:>12} {middle:>12} {high:>12}")?;
        }
        let Evidence { log, error, lower, upper } = self.evidence;
        writeln!(f, "log evidence {log:.3} +- {error:.3}, bounds {lower:.3} and {upper:.3}")?;
        writeln!(
            f,
            "{} draws of {}: effective sample size {:.0}, k-hat {:.2}; {} evaluations",
            self.draws.len(),
            self.shape,
            self.draws.sample_size,
            self.draws.shape,
            self.evaluations.total()
        )?;
        write!(f, "Reliable: {}", self.verdict)
    }
}

/// A number with the decimal places that a standard deviation asks for, or with a power of ten.
fn places(x: f64, sd: f64) -> String {
    match sd {
        _ if !(x.abs() < 1e7) => format!("{x:.4e}"),
        0.01.. => format!("{x:.4}"),
        1e-5.. => format!("{x:.7}"),
        _ => format!("{x:.4e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn small_and_large_numbers_keep_their_digits() {
        assert_eq!(places(1.25, 0.5), "1.2500");
        assert_eq!(places(0.001_25, 0.000_5), "0.0012500");
        assert_eq!(places(1.25e-8, 1e-8), "1.2500e-8");
        assert_eq!(places(-1.25e40, 1e40), "-1.2500e40");
        assert_eq!(places(f64::NAN, f64::NAN), "NaN");
    }
}
