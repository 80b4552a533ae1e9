//! Verdicts on claims, with their numbers and thresholds.

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The number is on the claimed side of the threshold.
    Agree,
    /// The claim holds by the published formula, and the opposite by the correct one.
    Reverses,
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

    /// This finding by a published formula beside the one by the correct formula: the verdict is that on the published quantity,
    /// unless it agrees and the corrected one disagrees.
    pub(super) fn beside(self, corrected: Self) -> Self {
        if self.number.is_nan() {
            return self;
        }
        let reverses = (self.verdict, corrected.verdict) == (Verdict::Agree, Verdict::Disagree);
        let verdict = if reverses { Verdict::Reverses } else { self.verdict };
        let beside =
            format!("corrected: {}, {:.3}: {}", corrected.verdict.name(), corrected.number, corrected.reason);
        Self { verdict, reason: format!("{}; {beside}", self.reason), ..self }
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

impl Verdict {
    /// All verdicts, in the order of the report.
    pub const ALL: [Self; 5] =
        [Self::Agree, Self::Reverses, Self::Disagree, Self::TooLittle, Self::NotReproducible];

    /// Returns true if the claim does not hold by the correct formula.
    pub fn is_at_odds(self) -> bool {
        matches!(self, Self::Disagree | Self::Reverses)
    }

    /// Name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Reverses => "holds as published, reverses when corrected",
            Self::Disagree => "disagree",
            Self::TooLittle => "not enough evidence",
            Self::NotReproducible => "not reproducible",
        }
    }
}
