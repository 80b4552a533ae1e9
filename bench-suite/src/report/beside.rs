//! A published cell beside ours, as a row of a table.

use super::comparison::{Agreement, Comparison};
use super::found::{STALE, pill};
use super::html::{escape, number};
use crate::claims::Verdict;
use crate::interval::Interval;
use crate::look;

/// A comparison as cells of a table.
pub(super) fn cells_of(comparison: &Comparison) -> Vec<String> {
    let Comparison { cell, ours, corrected, agreement, shorter, reverses, is_stale } = comparison;
    let (word, class) = match agreement {
        Agreement::Overlap => ("meet", "agree"),
        Agreement::Apart => ("apart", "disagree"),
        Agreement::TooFew if ours.is_none() => ("not run", "open"),
        Agreement::TooFew => ("too few", "open"),
    };
    let mut marks = format!("<span class=\"pill {class}\">{word}</span>");
    if *reverses {
        let word = Verdict::Reverses;
        marks.push_str(&format!(" {}", pill(word)));
    }
    if *is_stale {
        marks.push_str(&format!(" {STALE}"));
    }
    // Fewer replicates than an interval needs are no measurement, and neither are fewer steps than were published.
    if let Some((ours, published)) = shorter {
        marks.push_str(&format!(" <span class=\"ci\">after {ours} of {published} steps</span>"));
    }
    let Interval { value, low, high, .. } = cell.interval;
    // As many decimals as were printed.
    let places = if ((100.0 * value).round() - 100.0 * value).abs() < 1e-9 { 2 } else { 3 };
    let printed = |value: f64| format!("{value:.places$}").replace('-', "−");
    vec![
        escape(look::name(&cell.method)),
        ours.as_ref().map_or_else(
            || "–".to_owned(),
            |ours| format!("{} <span class=\"ci\">of {}</span>", interval(ours), ours.replicates),
        ),
        format!("{} <span class=\"ci\">[{}, {}]</span>", printed(value), printed(low), printed(high)),
        ours.map_or_else(|| "–".to_owned(), |ours| format!("{:+.3}", ours.value - value).replace('-', "−")),
        marks,
        corrected.as_ref().map_or_else(|| "–".to_owned(), interval),
    ]
}

fn interval(interval: &Interval) -> String {
    let Interval { value, low, high, .. } = *interval;
    format!("{} <span class=\"ci\">[{}, {}]</span>", number(value), number(low), number(high))
}
