//! The page: summary first, then every experiment.

use std::path::{Path, PathBuf};

use mcsa::Error;

use super::base64::encode;
use super::card::{Card, pill};
use super::comparison::Agreement;
use super::html::{escape, table};
use super::records::{csv, tasks};
use crate::claims::Verdict;
use crate::store::{CODE, write_whole};

const STYLE: &str = include_str!("page.css");
const VERDICTS: [Verdict; 4] =
    [Verdict::Agree, Verdict::Disagree, Verdict::TooLittle, Verdict::NotReproducible];

/// Writes the page and, beside it, each figure as SVG and PNG and each experiment's numbers as CSV. Returns the page's path.
///
/// # Errors
/// If the disk refuses or a figure cannot be rasterised.
pub fn write(folder: &Path, cards: &[Card]) -> Result<PathBuf, Error> {
    for card in cards {
        let beside = |name: &str, bytes: &[u8]| write_whole(&folder.join(name), bytes);
        let id = &card.evidence.experiment.id;
        if !card.evidence.experiment.is_exhibit() {
            beside(&format!("{id}.csv"), csv(&card.evidence).as_bytes())?;
            beside(&format!("{id}-tasks.csv"), tasks(&card.evidence).as_bytes())?;
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
    let page = folder.join("index.html");
    write_whole(&page, text(cards).as_bytes())?;
    Ok(page)
}

fn text(cards: &[Card]) -> String {
    let sections: String = cards.iter().map(Card::section).collect();
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
         <title>mcsa: figures, tables and claims</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         {}{sections}</main>\n<style>\n{fonts}</style>\n</body>\n</html>\n",
        summary(cards),
    )
}

fn summary(cards: &[Card]) -> String {
    let count = |verdict| cards.iter().map(|card| card.count(verdict)).sum::<usize>();
    let totals: String = VERDICTS
        .iter()
        .map(|verdict| format!("<li><b>{}</b> {}</li>\n", count(*verdict), pill(*verdict)))
        .collect();
    let cells = |agreement| cards.iter().map(|card| card.cells(agreement)).sum::<usize>();
    let (meet, apart, few) = (cells(Agreement::Overlap), cells(Agreement::Apart), cells(Agreement::TooFew));
    let presets: std::collections::BTreeSet<&str> =
        cards.iter().map(|card| card.evidence.preset.name()).collect();
    let presets = presets.into_iter().collect::<Vec<_>>().join(", ");
    let rows: Vec<Vec<String>> = cards.iter().map(row).collect();
    let head = [
        "Experiment",
        "Reproduces",
        "agree",
        "disagree",
        "too little",
        "not rep.",
        "cells that meet",
        "replicates",
    ];
    format!(
        "<header>\n<p class=\"over\">Markov chain score ascent</p>\n<h1>Figures, tables and claims</h1>\n\
         <p class=\"lead\">Every figure and table here was computed by the code of fingerprint <code>{CODE}</code>, preset \
         <em>{presets}</em>. Beside each stand the published numbers, and what our results say of the claims made for it.</p>\n\
         <ul class=\"totals\">\n{totals}</ul>\n<p class=\"note\">Claims, by verdict. Of {all} published cells, the intervals of {meet} meet \
         ours, those of {apart} do not, and for {few} we have no interval yet.</p>\n{table}</header>\n",
        all = meet + apart + few,
        table = table("summary", &head, &rows),
    )
}

fn row(card: &Card) -> Vec<String> {
    let experiment = &card.evidence.experiment;
    let mut cells = vec![
        format!("<a href=\"#{}\">{}</a>", escape(&experiment.id), escape(&experiment.title)),
        escape(&experiment.reproduces.join("; ")),
    ];
    cells.extend(VERDICTS.iter().map(|verdict| match card.count(*verdict) {
        0 => "·".to_owned(),
        count => count.to_string(),
    }));
    let (meet, all) = (card.cells(Agreement::Overlap), card.comparisons.len());
    cells.push(if all == 0 { "·".into() } else { format!("{meet} of {all}") });
    let state = if card.evidence.is_stale { " <span class=\"pill open\">stale</span>" } else { "" };
    cells.push(match experiment.is_exhibit() {
        true => "·".to_owned(),
        false => format!("{}{state}", card.evidence.replicates()),
    });
    cells
}
