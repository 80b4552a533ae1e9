//! Claims: sentences of papers, each with what our results say of it.
//!
//! A claim is a function from [`Evidence`] to a [`Finding`]: a number, the threshold it is held against, a verdict. It abstains
//! where rows are missing, replicates too few, or the claim cannot be reproduced. Every file tests its claims on rows
//! made up so that they hold, fail and abstain.

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

/// What is said to be so, and by whom.
pub struct Claim {
    /// Where: `CW, Fig. 6`.
    pub citation: &'static str,
    /// What, in our words.
    pub sentence: &'static str,
    /// What results say of it.
    pub judge: fn(&Evidence) -> Finding,
}

/// What results say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The number is on the claimed side of the threshold.
    Agree,
    /// It is on the other side.
    Disagree,
    /// Results are missing or too few.
    TooLittle,
    /// It cannot be reproduced as published; the finding says why.
    NotReproducible,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What results say.
    pub verdict: Verdict,
    /// What was measured.
    pub number: f64,
    /// What it is held against.
    pub threshold: f64,
    /// What the number is, and which side of the threshold is claimed.
    pub reason: String,
}

/// The fewest replicates a claim about medians or means rests on.
pub(crate) const ENOUGH: usize = 3;

/// The least of some numbers; NaN if one is, or if there is none: a number that is missing must not be passed over.
pub(crate) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    let smaller = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) };
    values.into_iter().reduce(smaller).unwrap_or(f64::NAN)
}

/// The greatest, in the same way.
pub(crate) fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    -least(values.into_iter().map(|value| -value))
}

impl Finding {
    /// Claimed: the number is at least the threshold.
    pub fn at_least(number: f64, threshold: f64, what: impl Into<String>) -> Self {
        Self::held(number >= threshold, number, threshold, "≥", what)
    }

    /// Claimed: the number is at most the threshold.
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

    /// No judgement: `what` is missing.
    pub fn too_little(what: impl Into<String>) -> Self {
        Self { verdict: Verdict::TooLittle, number: f64::NAN, threshold: f64::NAN, reason: what.into() }
    }

    /// No judgement: it cannot be reproduced, and why.
    pub fn not_reproducible(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotReproducible, ..Self::too_little(why) }
    }
}

impl Claim {
    /// What the evidence says, unless it is of other code or has too few replicates. An exhibit needs none: nothing in it is luck.
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
    /// All of them, in the order of the report.
    pub const ALL: [Self; 4] = [Self::Agree, Self::Disagree, Self::TooLittle, Self::NotReproducible];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Disagree => "disagree",
            Self::TooLittle => "not enough evidence",
            Self::NotReproducible => "not reproducible",
        }
    }
}
