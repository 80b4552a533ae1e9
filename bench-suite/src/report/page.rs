//! HTML page of the report: a summary, then every experiment, with their results as CSV.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mcsa_core::Error;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::comparison::Tally;
use super::html::{document, escape, table};
use super::scoreboard;
use super::section::{ExperimentSection, disagreements, pill, stale};
use crate::claims::Verdict;
use crate::results::Results;
use crate::store::{CODE, write_whole};
use mcsa_diagnostics::quantile;

const STYLE: &str = include_str!("page.css");

/// Writes the page, with each figure as SVG and PNG and each experiment's results as CSV in the same folder. Returns the path
/// of the page.
///
/// # Errors
/// If a file cannot be written or a figure cannot be rasterised.
pub fn write(folder: &Path, sections: &[ExperimentSection]) -> Result<PathBuf, Error> {
    let mut written = BTreeMap::<String, &str>::new();
    for section in sections {
        let id = &section.results.experiment.id;
        let mut beside = |name: &str, bytes: &[u8]| {
            if Path::new(name).file_name() != Some(OsStr::new(name)) {
                return Err(Error::invalid(format!("{id}: {name:?} is no name of a file in the report")));
            }
            if let Some(other) = written.insert(name.to_owned(), id).filter(|other| other != id) {
                let reason = format!("{other} and {id} both have a file {name} in the report: rename one");
                return Err(Error::invalid(reason));
            }
            write_whole(&folder.join(name), bytes)
        };
        let file = section.results.experiment.file_name();
        if !section.results.experiment.is_exhibit() {
            beside(&format!("{file}.csv"), csv(&section.results).as_bytes())?;
            beside(&format!("{file}-tasks.csv"), tasks(&section.results).as_bytes())?;
        }
        for table in &section.tables {
            beside(&format!("{file}-{}.csv", table.name), table.csv().as_bytes())?;
        }
        for (name, drawing) in &section.drawings {
            beside(&format!("{name}.svg"), drawing.svg.as_bytes())?;
            let png = drawing.png(300.0).map_err(|error| Error::invalid(format!("{name}: {error}")))?;
            beside(&format!("{name}.png"), &png)?;
        }
    }
    if let Some(body) = scoreboard::body(sections) {
        write_whole(&folder.join("scoreboard.html"), shell("mcsa: scoreboard", &body).as_bytes())?;
    }
    let page = folder.join("index.html");
    write_whole(&page, text(sections).as_bytes())?;
    Ok(page)
}

fn text(sections: &[ExperimentSection]) -> String {
    let all: String = sections.iter().map(ExperimentSection::html).collect();
    let body = format!("{}{all}{}", summary(sections), disagreements(sections));
    shell("mcsa: figures, tables and claims", &body)
}

/// A whole page with its style and fonts.
fn shell(title: &str, body: &str) -> String {
    let font = |(style, bytes): (&str, &[u8])| {
        format!(
            "@font-face{{font-family:\"DejaVu Sans\";font-style:{style};src:local(\"DejaVu Sans\"),\
             url(data:font/ttf;base64,{})}}\n",
            STANDARD.encode(bytes)
        )
    };
    let fonts: String =
        [("normal", dejavu::sans::regular()), ("italic", dejavu::sans::oblique())].map(font).concat();
    document(title, STYLE, body, &format!("<style>\n{fonts}</style>\n"))
}

fn summary(sections: &[ExperimentSection]) -> String {
    let count = |verdict| sections.iter().map(|section| section.count(verdict)).sum::<usize>();
    let total = |verdict: &Verdict| format!("<li><b>{}</b> {}</li>\n", count(*verdict), pill(*verdict));
    let totals: String = Verdict::ALL.iter().map(total).collect();
    let cells = Tally::of(sections.iter().flat_map(|section| &section.comparisons));
    let presets: BTreeSet<&str> = sections.iter().map(|section| section.results.preset.name()).collect();
    let presets = presets.into_iter().collect::<Vec<_>>().join(", ");
    let optional = |is_there: bool, words: &'static str| if is_there { words } else { "" };
    let is_stale = sections.iter().any(|section| section.results.has_stale());
    let stale = optional(is_stale, "; results of other code are marked as stale");
    let at_odds = count(Verdict::Disagree) + count(Verdict::Reverses) > 0;
    let disagreements = optional(at_odds, " <a href=\"#disagreements\">Disagreements</a> with their causes.");
    let scoreboard = optional(
        scoreboard::with_runs(sections).next().is_some(),
        " <a href=\"scoreboard.html\">Scoreboard</a> of methods of inference.",
    );
    let head = "Experiment | agree | reverses | disagree | not enough evidence | not reproducible | cells | measured | overlap | replicates";
    format!(
        "<header>\n<p class=\"over\">Markov chain score ascent</p>\n<h1>Figures, tables and claims</h1>\n\
         <p class=\"lead\">Figures and tables of the code of fingerprint <code>{CODE}</code>, preset \
         <em>{presets}</em>{stale}. Beside each stand the published numbers, and what our results say of the claims made for it.</p>\n\
         <ul class=\"totals\">\n{totals}</ul>\n<p class=\"note\">Claims, by verdict. Cells of tables: {cells}. A cell is measured \
         if enough replicates give it an interval.{scoreboard}{disagreements}</p>\n{}</header>\n",
        table("summary", head, sections.iter().map(row).collect())
    )
}

fn row(section: &ExperimentSection) -> Vec<String> {
    let experiment = &section.results.experiment;
    let mut cells = vec![format!(
        "<a href=\"#{}\">{}</a> <span class=\"cite\">{}</span>",
        escape(&experiment.id),
        escape(&experiment.title),
        match section.is_of_user {
            true => "user experiment".to_owned(),
            false => escape(&experiment.reproduces.join("; ")),
        }
    )];
    let counted = |count: usize| if count == 0 { "·".to_owned() } else { count.to_string() };
    cells.extend(Verdict::ALL.iter().map(|verdict| counted(section.count(*verdict))));
    let tally = section.tally();
    cells.extend(match tally.all {
        0 => ["·"; 3].map(str::to_owned),
        _ => [tally.all, tally.measured, tally.overlap].map(|count| count.to_string()),
    });
    let stale = stale(section.results.is_stale || section.results.has_stale());
    cells.push(match experiment.is_exhibit() {
        true => "·".to_owned(),
        false => format!("{}{stale}", section.results.replicates()),
    });
    cells
}

fn tasks(results: &Results) -> String {
    let mut text = String::from("task,settings\n");
    for (number, series) in results.series().iter().enumerate() {
        let settings = serde_json::to_string(series.task).unwrap_or_default().replace('"', "\"\"");
        let _ = writeln!(text, "{number},\"{settings}\"");
    }
    text
}

/// One line per task, step and metric: tenth, fiftieth and ninetieth percentile over replicates. Entries of vectors, which
/// belong to the last row, are called `means[3]`.
fn csv(results: &Results) -> String {
    let mut text =
        String::from("task,target,method,budget,optimizer,step,metric,replicates,q10,median,q90\n");
    for (number, series) in results.series().iter().enumerate() {
        let (target, method) = (series.target().label(), series.method());
        let rule = series.fit().map_or("", |fit| fit.optimizer.kind());
        let task = format!("{number},{target},{},{},{rule}", method.kind(), method.budget());
        for step in series.steps() {
            let mut columns = BTreeMap::<String, Vec<f64>>::new();
            let mut add = |name: String, value| columns.entry(name).or_default().push(value);
            let rows = series.outcomes.iter().flat_map(|outcome| &outcome.rows);
            for row in rows.filter(|row| row.step == step) {
                row.values.iter().for_each(|(name, value)| add((*name).to_owned(), *value));
                for (vector, entries) in &row.vectors {
                    let named = |k: usize| format!("{}[{k}]", vector.name());
                    entries.iter().enumerate().for_each(|(k, value)| add(named(k), *value));
                }
            }
            for (name, mut values) in columns {
                let [low, median, high] = [0.1, 0.5, 0.9].map(|level| quantile(&mut values, level));
                let _ = writeln!(text, "{task},{step},{name},{},{low},{median},{high}", values.len());
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;
    use crate::claims::{Basis, Cause, Claim, Finding, Reason};
    use crate::experiment::PresetName;
    use crate::provenance::{Provenance, Run};
    use crate::registry::Entry;
    use crate::{figures, tables};

    const EXAMPLE: &str = include_str!("../../examples/my_experiment.toml");

    /// The example with a text in every place that takes one.
    fn entry(text: &str) -> Entry {
        let mut table: toml::Table = EXAMPLE.parse().unwrap();
        let words = toml::Value::String(text.to_owned());
        table.insert("title".into(), words.clone());
        table.insert("notes".into(), vec![words.clone()].into());
        table.insert("reproduces".into(), vec![words.clone()].into());
        table["claims"].as_table_mut().unwrap().insert("citation".into(), words.clone());
        for claim in table["claim"].as_array_mut().unwrap() {
            claim.as_table_mut().unwrap().insert("sentence".into(), words.clone());
        }
        let target = toml::toml! {
            kind = "synthetic-logistic"
            rows = 30
            held_out = 5
            dim = 3
            rate = 0.3
            correlation = 0.2
            prior_scale = 1.0
            seed = 1
        };
        let named = toml::Value::String(format!("synthetic{text}"));
        let target = target.into_iter().chain([("name".to_owned(), named)]).collect::<toml::Table>();
        table["fits"]["target"].as_array_mut().unwrap().push(target.into());
        Entry {
            file: Cow::Owned(text.to_owned()),
            text: Cow::Owned(toml::to_string(&table).unwrap()),
            figures: figures::standard,
            tables: tables::standard,
        }
    }

    /// A section whose results and manifests have a text in every place that takes one.
    fn section(text: &str) -> ExperimentSection {
        let (entry, preset, words) = (entry(text), PresetName::Quick, || text.to_owned());
        let experiment = entry.experiment().unwrap();
        let start = Provenance {
            code: words(),
            commit: Some(words()),
            rustc: words(),
            processor: words(),
            unit: words(),
            writer: words(),
            ..Provenance::of(&experiment, preset, 1, 1)
        };
        let run = Run { start, jobs: 1, errors: vec![words()], seconds: 1.0 };
        let rows = |_: &_, replicate: u64, step: u64| vec![("kl", (replicate + step) as f64)];
        let mut results = Results::synthetic(experiment, preset, rows);
        for outcome in &mut results.outcomes {
            (outcome.code, outcome.unit) = (words(), Some(words()));
        }
        results.outcomes[0].ended.failure = Some(words());
        results.outcomes[1].unit = None;
        (results.bad, results.absent) = (vec![words()], [(words(), words())].into());
        (results.missing, results.stale) = (1, 1);
        results.outcomes[1].date = Some(words());
        let mut section = ExperimentSection::new(&entry, results, None, vec![run]).unwrap();
        let reason = Some(Reason { cause: Cause::Open, why: words(), by: Some(words()) });
        let basis = Basis::NotReproducible(words());
        let claim = Claim { citation: words(), sentence: words(), basis, reason };
        section.findings.push((claim, Finding::at_least(0.0, 1.0, text)));
        section
    }

    /// Elements that no page of ours has, and an attribute outside the drawings.
    fn foreign(page: &str) -> Option<String> {
        let page = page.to_lowercase();
        let mut outside: Vec<&str> = page.split("<svg").collect();
        for part in &mut outside[1..] {
            *part = part.split_once("</svg>").map_or("", |(_, rest)| rest);
        }
        let is_in =
            |text: &str| page.contains(text) || outside.iter().any(|part| part.contains("\" onload="));
        ["<script", "<img", "<!--"].into_iter().find(|text| is_in(text)).map(str::to_owned)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
        #[test]
        fn no_text_is_markup(pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "<script>alert(1)</script>", "\" onload=\"x", "'", "\"", "<img src=x>", "<!--", "&lt;", "</p>", "é", "\\", "{", "*", "_", "^", "]]>",
            ]),
            1..6,
        )) {
            let text = format!("<script>{}", pieces.concat());
            let page = super::text(&[section(&text)]);
            prop_assert_eq!(foreign(&page), None);
            prop_assert!(page.contains("&lt;script&gt;"), "the text is there");
        }
    }

    #[test]
    fn markup_and_attributes_are_seen() {
        let page = super::text(&[section("plain")]);
        assert_eq!(foreign(&page), None);
        for text in ["<SCRIPT>", "<p class=\"\" onload=x>", "<img>"] {
            assert!(foreign(&page.replacen("<h3>", &format!("{text}<h3>"), 1)).is_some(), "{text}");
        }
    }

    #[test]
    fn figures_have_names_of_known_metrics() {
        for name in ["<script>", "x/../../victim", "", "no_metric"] {
            let text = EXAMPLE.replace("[\"kl\"]", &format!("[\"kl\", {name:?}]"));
            let error = crate::experiment::Experiment::parse("x.toml", &text).unwrap_err().to_string();
            assert_eq!(error, format!("x.toml: line 6: shows: no metric is called {name:?}"));
            if name != "no_metric" {
                let text = format!("{EXAMPLE}\n[[table]]\nname = {name:?}\ntitle = \"\"\ncolumns = []\n");
                let error = crate::experiment::Experiment::parse("x.toml", &text).unwrap_err().to_string();
                assert!(error.contains(&format!("[[table]] {name:?}: it names a file")), "{error}");
            }
        }
    }

    #[test]
    fn nothing_is_written_outside_the_folder_or_over_another_figure() {
        let folder = std::env::temp_dir().join(format!("mcsa-report-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let out = folder.join("report");
        let mut outside = section("plain");
        outside.drawings[0].0 = "x/../../victim".to_owned();
        let error = write(&out, &[outside]).unwrap_err().to_string();
        assert!(error.contains("is no name of a file"), "{error}");
        assert!(!folder.join("victim.svg").exists());
        let (one, mut other) = (section("plain"), section("plain"));
        other.results.experiment.id = "other".to_owned();
        let error = write(&out, &[one, other]).unwrap_err().to_string();
        assert!(error.contains("both have a file my-experiment-kl.svg"), "{error}");
        assert!(write(&out, &[section("plain")]).is_ok());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
