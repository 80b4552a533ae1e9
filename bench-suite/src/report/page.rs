//! Files of the report: figures, tables and results of each experiment, then all pages.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mcsa_core::Error;
use mcsa_diagnostics::quantile;

use super::part::Part;
use super::section::ExperimentSection;
use super::{pages, scoreboard};
use crate::results::Results;
use crate::store::write_whole;

/// Writes each figure as SVG and PNG and each experiment's results as CSV, and all pages in the same folder. Experiments that were there
/// before stay. Returns the path of the first page.
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
    sections.iter().try_for_each(|section| Part::of(section).write(folder))?;
    scoreboard::keep(folder, sections)?;
    pages::assemble(folder)?;
    Ok(folder.join("index.html"))
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
            (outcome.code, outcome.unit) = (words(), words());
        }
        results.outcomes[0].ended.failure = Some(words());
        results.outcomes[1].unit = "avx2".to_owned();
        (results.bad, results.absent) = (vec![words()], [(words(), words())].into());
        (results.missing, results.stale) = (1, 1);
        results.outcomes[1].date = Some(words());
        let mut section = ExperimentSection::new(&entry, results, None, vec![run]).unwrap();
        let reason = Some(Reason { cause: Cause::Open, why: words(), by: Some(words()) });
        let basis = Basis::NotReproducible(words());
        let claim = Claim { citation: words(), sentence: words(), basis, reason, headline: None };
        section.findings.push((claim, Finding::at_least(0.0, 1.0, text)));
        section
    }

    /// All pages of a report with one section.
    fn shown(section: &ExperimentSection) -> String {
        let parts = [Part::of(section)];
        let all = pages::pages(Path::new("/nowhere"), &parts).into_iter();
        all.map(|(_, page)| page).collect()
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
            let page = shown(&section(&text));
            prop_assert_eq!(foreign(&page), None);
            prop_assert!(page.contains("&lt;script&gt;"), "the text is there");
        }
    }

    #[test]
    fn markup_and_attributes_are_seen() {
        let page = shown(&section("plain"));
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
