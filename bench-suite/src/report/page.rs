//! HTML page of the report: a summary, then every experiment.

use std::path::{Path, PathBuf};

use mcsa_core::Error;

use super::base64::encode;
use super::board;
use super::card::Card;
use super::comparison::Tally;
use super::disagreements;
use super::found::pill;
use super::html::{escape, table};
use super::records::{csv, tasks};
use crate::claims::Verdict;
use crate::store::{CODE, write_whole};

const STYLE: &str = include_str!("page.css");

/// Writes the page, with each figure as SVG and PNG and each experiment's results as CSV in the same folder. Returns the path
/// of the page.
///
/// # Errors
/// If a file cannot be written or a figure cannot be rasterised.
pub fn write(folder: &Path, cards: &[Card]) -> Result<PathBuf, Error> {
    for card in cards {
        let beside = |name: &str, bytes: &[u8]| write_whole(&folder.join(name), bytes);
        let id = &card.results.experiment.id;
        if !card.results.experiment.is_exhibit() {
            beside(&format!("{id}.csv"), csv(&card.results).as_bytes())?;
            beside(&format!("{id}-tasks.csv"), tasks(&card.results).as_bytes())?;
        }
        for sheet in &card.sheets {
            beside(&format!("{id}-{}.csv", sheet.name), sheet.csv().as_bytes())?;
        }
        for (name, drawing) in &card.drawings {
            beside(&format!("{name}.svg"), drawing.svg.as_bytes())?;
            let png = drawing.png(300.0).map_err(|error| Error::invalid(format!("{name}: {error}")))?;
            beside(&format!("{name}.png"), &png)?;
        }
    }
    if let Some(body) = board::body(cards) {
        write_whole(&folder.join("scoreboard.html"), shell("mcsa: scoreboard", &body).as_bytes())?;
    }
    let page = folder.join("index.html");
    write_whole(&page, text(cards).as_bytes())?;
    Ok(page)
}

fn text(cards: &[Card]) -> String {
    let sections: String = cards.iter().map(Card::section).collect();
    shell(
        "mcsa: figures, tables and claims",
        &format!("{}{sections}{}", summary(cards), disagreements::section(cards)),
    )
}

/// A whole page with its style and fonts.
fn shell(title: &str, body: &str) -> String {
    let fonts: String = [("normal", dejavu::sans::regular()), ("italic", dejavu::sans::oblique())]
        .iter()
        .map(|(style, bytes)| {
            format!(
                "@font-face{{font-family:\"DejaVu Sans\";font-style:{style};src:local(\"DejaVu Sans\"),\
             url(data:font/ttf;base64,{})}}\n",
                encode(bytes)
            )
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         {body}</main>\n<style>\n{fonts}</style>\n</body>\n</html>\n"
    )
}

fn summary(cards: &[Card]) -> String {
    let count = |verdict| cards.iter().map(|card| card.count(verdict)).sum::<usize>();
    let totals: String = Verdict::ALL
        .iter()
        .map(|verdict| format!("<li><b>{}</b> {}</li>\n", count(*verdict), pill(*verdict)))
        .collect();
    let cells = Tally::of(cards.iter().flat_map(|card| &card.comparisons));
    let presets: std::collections::BTreeSet<&str> =
        cards.iter().map(|card| card.results.preset.name()).collect();
    let presets = presets.into_iter().collect::<Vec<_>>().join(", ");
    let stale = if cards.iter().any(|card| card.results.has_stale()) {
        "; results of other code are marked as stale"
    } else {
        ""
    };
    let rows: Vec<Vec<String>> = cards.iter().map(row).collect();
    let head = [
        "Experiment",
        "agree",
        "reverses",
        "disagree",
        "not enough evidence",
        "not reproducible",
        "cells",
        "measured",
        "overlap",
        "replicates",
    ];
    format!(
        "<header>\n<p class=\"over\">Markov chain score ascent</p>\n<h1>Figures, tables and claims</h1>\n\
         <p class=\"lead\">Figures and tables of the code of fingerprint <code>{CODE}</code>, preset \
         <em>{presets}</em>{stale}. Beside each stand the published numbers, and what our results say of the claims made for it.</p>\n\
         <ul class=\"totals\">\n{totals}</ul>\n<p class=\"note\">Claims, by verdict. Cells of tables: {cells}. A cell is measured \
         if enough replicates give it an interval.{board}{disagreements}</p>\n{table}</header>\n",
        table = table("summary", &head, &rows),
        disagreements = if count(Verdict::Disagree) + count(Verdict::Reverses) > 0 {
            " <a href=\"#disagreements\">Disagreements</a> with their causes."
        } else {
            ""
        },
        board = if board::has_runs(cards) {
            " <a href=\"scoreboard.html\">Scoreboard</a> of methods of inference."
        } else {
            ""
        },
    )
}

fn row(card: &Card) -> Vec<String> {
    let experiment = &card.results.experiment;
    let mut cells = vec![format!(
        "<a href=\"#{}\">{}</a> <span class=\"cite\">{}</span>",
        escape(&experiment.id),
        escape(&experiment.title),
        match card.is_of_user {
            true => "user experiment".to_owned(),
            false => escape(&experiment.reproduces.join("; ")),
        }
    )];
    let counted = |count: usize| if count == 0 { "·".to_owned() } else { count.to_string() };
    cells.extend(Verdict::ALL.iter().map(|verdict| counted(card.count(*verdict))));
    let tally = card.tally();
    cells.extend(match tally.all {
        0 => ["·"; 3].map(str::to_owned),
        _ => [tally.all, tally.measured, tally.overlap].map(|count| count.to_string()),
    });
    let state = if card.results.is_stale || card.results.has_stale() {
        " <span class=\"pill open\">stale</span>"
    } else {
        ""
    };
    cells.push(match experiment.is_exhibit() {
        true => "·".to_owned(),
        false => format!("{}{state}", card.results.replicates()),
    });
    cells
}
