//! Disagreements of all experiments with their causes.

use super::card::Card;
use super::found::{Found, pill};
use super::html::{escape, number, table};
use crate::claims::{Cause, Reason};

/// Table of the claims that do not hold, with the cause of each and the experiment that decides it; empty if there are none.
pub(super) fn section(cards: &[Card]) -> String {
    let mut rows = Vec::new();
    for card in cards {
        let id = &card.results.experiment.id;
        for Found { citation, sentence, finding, reason } in &card.findings {
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
