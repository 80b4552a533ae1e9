//! Claims with their findings, and the disagreements among them.

use super::card::ExperimentSection;
use super::html::{escape, number, table};
use crate::claims::{Cause, Finding, Reason, Verdict};

/// A claim with its finding.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedClaim {
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

/// Table of the claims that do not hold, with the cause of each and the experiment that decides it; empty if there are none.
pub(super) fn disagreements(cards: &[ExperimentSection]) -> String {
    let mut rows = Vec::new();
    for card in cards {
        let id = &card.results.experiment.id;
        for JudgedClaim { citation, sentence, finding, reason } in &card.findings {
            if !finding.verdict.is_at_odds() {
                continue;
            }
            let (cause, why, by) = match reason {
                Some(Reason { cause, why, by }) => (cause.name(), escape(why), by.as_deref()),
                None => (Cause::Open.name(), "not examined".to_owned(), None),
            };
            rows.push(vec![
                format!("<a href=\"#{0}\"><code>{0}</code></a>", escape(id)),
                format!("{} <span class=\"cite\">{}</span>", escape(sentence), escape(citation)),
                format!("<b>{}</b> {}", number(finding.number), pill(finding.verdict)),
                cause.to_owned(),
                why,
                by.map_or_else(|| "–".to_owned(), escape),
            ]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let head = ["Experiment", "Claim", "Measured", "Cause", "Reason", "Decided by"];
    let open = rows.iter().filter(|row| row[3] == Cause::Open.name()).count();
    format!(
        "<section id=\"disagreements\">\n<h2>Disagreements</h2>\n<p class=\"note\">Claims that do not hold here, {} in all, {open} of \
         them with an open cause.</p>\n{}</section>\n",
        rows.len(),
        table("plain", &head, &rows)
    )
}
