//! A claim with its finding, and its words in the report.

use super::html::escape;
use crate::claims::{Finding, Reason, Verdict};

/// A claim with its finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Citation.
    pub citation: String,
    /// The claim.
    pub sentence: String,
    /// Verdict with its number.
    pub finding: Finding,
    /// Reason of a disagreement, if it is known or stated as open.
    pub reason: Option<Reason>,
}

/// Mark of results by other code.
pub(super) const STALE: &str = "<span class=\"pill open\">stale</span>";

/// A reason in words.
pub(super) fn words(reason: &Reason) -> String {
    let by = reason.by.as_ref().map_or_else(String::new, |by| format!(" Decided by {}.", escape(by)));
    format!("<span class=\"ci\">Cause: {}. {}{by}</span>", reason.cause.name(), escape(&reason.why))
}

/// A verdict as a coloured word.
pub(super) fn pill(verdict: Verdict) -> String {
    let class = match verdict {
        Verdict::Agree => "agree",
        Verdict::Disagree => "disagree",
        Verdict::Reverses => "reverses",
        Verdict::TooLittle => "open",
        Verdict::NotReproducible => "void",
    };
    format!("<span class=\"pill {class}\">{}</span>", verdict.name())
}
