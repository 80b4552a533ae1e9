//! Claims of papers, each with a check against our results.
//!
//! A claim is a function from [`Evidence`] to a [`Finding`]: a number, a threshold, and a verdict. It abstains if rows are
//! missing, replicates are too few, or the claim cannot be reproduced. Every file tests its claims on synthetic rows for
//! which they hold, fail and abstain.

pub(crate) mod ancestor_weight;
pub(crate) mod bias_bound;
mod conditional_variance;
mod convergence;
mod cost;
mod curves;
mod directions;
pub(crate) mod exchange_rates;
mod gaussian;
mod gradient_variance;
mod logistic;
mod logistic_speed;
mod marginal_likelihood;
mod neural_regression;
mod papers;
pub(crate) mod probit;
mod processes;
mod resampling;
mod responses;
mod robust_process;
pub(crate) mod robustness;
mod shapes;
pub(crate) mod skew_normal;
pub(crate) mod step_size;
pub(crate) mod subset_average;
mod taxonomy;
pub(crate) mod variance_divergence;

pub use ancestor_weight::ancestor_weight;
pub use bias_bound::bias_bound;
pub use conditional_variance::conditional_variance;
pub use convergence::convergence;
pub use cost::cost;
pub use directions::directions;
pub use exchange_rates::exchange_rates;
pub use gaussian::gaussian;
pub use gradient_variance::gradient_variance;
pub use logistic::logistic;
pub use logistic_speed::logistic_speed;
pub(crate) use marginal_likelihood::RADON;
pub use marginal_likelihood::{radon, stock};
pub use neural_regression::neural_regression;
pub(crate) use papers::judged;
pub use papers::{bounds, papers};
pub use probit::probit;
pub use processes::processes;
pub use robust_process::robust_process;
pub use robustness::robustness;
pub use shapes::shapes;
pub use skew_normal::{chi_square, skew_normal};
pub use step_size::step_size;
pub use subset_average::subset_average;
pub use taxonomy::taxonomy;
pub use variance_divergence::variance_divergence;

use crate::evidence::Evidence;

/// A claim, with its source and its check.
pub struct Claim {
    /// Citation: `CW, Fig. 6`.
    pub citation: &'static str,
    /// The claim in our words.
    pub sentence: &'static str,
    /// Check against results.
    pub judge: fn(&Evidence) -> Finding,
}

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The number is on the claimed side of the threshold.
    Agree,
    /// The number is on the other side.
    Disagree,
    /// Results are missing or too few.
    TooLittle,
    /// The claim cannot be reproduced as published; the finding says why.
    NotReproducible,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Verdict.
    pub verdict: Verdict,
    /// Measured number.
    pub number: f64,
    /// Threshold of the number.
    pub threshold: f64,
    /// Definition of the number, and the claimed side of the threshold.
    pub reason: String,
}

/// Smallest number of replicates for a claim about medians or means.
pub(crate) const ENOUGH: usize = 3;

/// Minimum; NaN if a value is NaN or there is none, so that a missing number is not ignored.
pub(crate) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    let smaller = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) };
    values.into_iter().reduce(smaller).unwrap_or(f64::NAN)
}

/// Maximum; NaN if a value is NaN or there is none.
pub(crate) fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    -least(values.into_iter().map(|value| -value))
}

impl Finding {
    /// Finding for the claim that the number is at least the threshold.
    pub fn at_least(number: f64, threshold: f64, what: impl Into<String>) -> Self {
        Self::held(number >= threshold, number, threshold, "≥", what)
    }

    /// Finding for the claim that the number is at most the threshold.
    pub fn at_most(number: f64, threshold: f64, what: impl Into<String>) -> Self {
        Self::held(number <= threshold, number, threshold, "≤", what)
    }

    fn held(holds: bool, number: f64, threshold: f64, sign: &str, what: impl Into<String>) -> Self {
        let reason = format!("{} (claimed: {sign} {threshold})", what.into());
        if number.is_nan() {
            return Self::too_little(reason);
        }
        let verdict = if holds { Verdict::Agree } else { Verdict::Disagree };
        Self { verdict, number, threshold, reason }
    }

    /// Abstention because `what` is missing.
    pub fn too_little(what: impl Into<String>) -> Self {
        Self { verdict: Verdict::TooLittle, number: f64::NAN, threshold: f64::NAN, reason: what.into() }
    }

    /// Abstention because the claim cannot be reproduced, for the reason `why`.
    pub fn not_reproducible(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotReproducible, ..Self::too_little(why) }
    }
}

impl Claim {
    /// Checks the claim. Abstains if results are of other code or have too few replicates. An exhibit needs no replicates,
    /// because it has no randomness.
    pub fn find(&self, evidence: &Evidence) -> Finding {
        let finding = (self.judge)(evidence);
        if finding.verdict == Verdict::NotReproducible {
            return finding;
        }
        if evidence.is_stale {
            return Finding::too_little("all results are of other code; run the experiment again");
        }
        match evidence.replicates() {
            _ if evidence.experiment.is_exhibit() => finding,
            few if few < ENOUGH => Finding::too_little(format!("{few} replicates; {ENOUGH} are needed")),
            _ => finding,
        }
    }
}

impl Verdict {
    /// All verdicts, in the order of the report.
    pub const ALL: [Self; 4] = [Self::Agree, Self::Disagree, Self::TooLittle, Self::NotReproducible];

    /// Name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Disagree => "disagree",
            Self::TooLittle => "not enough evidence",
            Self::NotReproducible => "not reproducible",
        }
    }
}
