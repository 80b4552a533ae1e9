//! Section of the report for one experiment.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::comparison::{Comparison, Tally, cells_of, compare};
use super::html::{Group, details, escape, grouped, number, table};
use super::splits;
use crate::claims::{Cause, Claim, Finding, Reason, Verdict};
use crate::look;
use crate::provenance::Run;
use crate::registry::Entry;
use crate::results::Results;
use crate::runner::span;
use crate::store::CODE;
use crate::tables::{Sheet, standard};
use mcsa_core::{Error, counted};
use mcsa_plot::Drawing;

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

/// An experiment with its figures, tables and findings, ready to be shown.
pub struct ExperimentSection {
    /// Results.
    pub results: Results,
    /// Text of the experiment's file.
    pub text: String,
    /// True if the experiment is in a file of the user.
    pub is_of_user: bool,
    /// Figures by file name.
    pub drawings: Vec<(String, Drawing)>,
    /// Tables other than the comparison with published cells.
    pub sheets: Vec<Sheet>,
    /// Claims with their findings.
    pub findings: Vec<JudgedClaim>,
    /// Comparison with cells of the published table.
    pub comparisons: Vec<Comparison>,
    /// Runs that produced the results.
    pub runs: Vec<Run>,
}

impl ExperimentSection {
    /// Draws the figures and checks the claims. Cells of published tables are compared with `longer` results, those of the preset paper,
    /// where their fits are longer, and claims are checked by them where they suffice.
    ///
    /// # Errors
    /// If a figure cannot be drawn or the published numbers cannot be read.
    pub fn new(
        entry: &Entry,
        results: Results,
        longer: Option<Results>,
        runs: Vec<Run>,
    ) -> Result<Self, Error> {
        let mut drawings = Vec::new();
        for plate in entry.plates(&results) {
            let drawing = plate.figure.draw();
            let place = |error| Error::invalid(format!("{}, figure {}: {error}", entry.file, plate.name));
            drawings.push((
                format!("{}-{}", results.experiment.file_name(), plate.name),
                drawing.map_err(place)?,
            ));
        }
        let found = |claim: Claim| {
            let finding = claim.find_by_longest(&results, longer.as_ref());
            JudgedClaim { citation: claim.citation, sentence: claim.sentence, finding, reason: claim.reason }
        };
        let findings = entry.claims(&results.experiment)?.into_iter().map(found).collect();
        let comparisons = compare(&results, longer.as_ref())?;
        let mut sheets = entry.sheets(&results);
        sheets.extend(splits::sheet(&results));
        Ok(Self {
            text: entry.text.to_string(),
            is_of_user: entry.is_of_user(),
            drawings,
            sheets,
            findings,
            comparisons,
            runs,
            results,
        })
    }

    /// Number of claims with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|found| found.finding.verdict == verdict).count()
    }

    /// Number of cells that were published, measured, and agree.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.comparisons)
    }

    /// The tally in words; `None` if there are no published cells.
    pub fn cells_in_words(&self) -> Option<String> {
        (!self.comparisons.is_empty()).then(|| self.tally().to_string())
    }

    /// HTML of the section.
    pub(super) fn section(&self) -> String {
        let experiment = &self.results.experiment;
        let mut text = format!(
            "<section id=\"{id}\">\n<h2>{title}</h2>\n<p class=\"cite\">{cite} <code>{id}</code></p>\n",
            id = escape(&experiment.id),
            title = escape(&experiment.title),
            cite = match experiment.reproduces.as_slice() {
                [] if self.is_of_user => "User experiment.".into(),
                [] => "Ours.".into(),
                all => escape(&(all.join("; ") + ".")),
            },
        );
        text.push_str(&self.state());
        self.drawings.iter().for_each(|drawing| text.push_str(&self.plate(drawing)));
        self.sheets.iter().for_each(|sheet| text.push_str(&self.sheet(sheet)));
        text.push_str(&self.claims());
        text.push_str(&self.table());
        if !experiment.notes.is_empty() {
            let notes: String =
                experiment.notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
            let _ = writeln!(text, "<h3>Notes</h3>\n<ul class=\"notes\">{notes}</ul>");
        }
        if !experiment.is_exhibit() {
            text.push_str(&details("Cost of each method", &self.costs()));
            text.push_str(&details("Settings", &format!("<pre>{}</pre>\n", escape(&self.text))));
            text.push_str(&details("Runs", &self.provenance()));
        }
        text + "</section>\n"
    }

    /// A figure with links to its files.
    pub(super) fn plate(&self, (name, drawing): &(String, Drawing)) -> String {
        let svg = drawing.svg.find("<svg").map_or(drawing.svg.as_str(), |at| &drawing.svg[at..]);
        let experiment = &self.results.experiment;
        // The numbers of an exhibit are formulas: there is no CSV.
        let numbers = match experiment.is_exhibit() {
            true => String::new(),
            false => format!(" <a href=\"{}.csv\">CSV</a>", escape(&experiment.file_name())),
        };
        let name = escape(name);
        format!(
            "<figure><div class=\"plate\"><div style=\"max-width:{width:.0}mm;margin:auto\">{svg}</div></div><p class=\"links\"><a href=\"{name}.svg\">SVG</a> \
             <a href=\"{name}.png\">PNG</a>{numbers}</p></figure>\n",
            width = 1.4 * millimetres(svg),
        )
    }

    /// Warnings about missing, stale and unusable results.
    pub(super) fn state(&self) -> String {
        let Results { missing, bad, stale, is_stale, absent, outcomes, .. } = &self.results;
        let mut text = String::new();
        let mut warn = |words: String| text.push_str(&format!("<p class=\"warning\">{words}</p>\n"));
        if *is_stale {
            warn("Stale: every result here was made by other code. Run the experiment again.".into());
        } else if *stale > 0 {
            warn(format!("Left out, because made by other code: {}.", counted(*stale, "result")));
        }
        if let Some(words) = self.origins() {
            warn(words);
        }
        if *missing > 0 {
            let fresh = if *is_stale { 0 } else { outcomes.len() };
            warn(format!("{missing} of {} have not been run.", counted(missing + stale + fresh, "job")));
        }
        if !bad.is_empty() {
            let shown: String = bad.iter().take(10).map(|reason| format!("<br>{}", escape(reason))).collect();
            let more = if bad.len() > 10 { "<br>…" } else { "" };
            let files = "files or lines cannot be used and are left out; jobs without a result are run by the next run";
            warn(format!("{} {files}:{shown}{more}", bad.len()));
        }
        if let Some(units) = self.units() {
            warn(escape(&units));
        }
        absent.iter().for_each(|(_, reason)| warn(format!("Left out: {}", escape(reason))));
        text
    }

    /// Note on the origin of archived results; `None` if they are not archived.
    fn origins(&self) -> Option<String> {
        let mut codes = BTreeMap::<&str, (usize, &str, &str)>::new();
        for outcome in &self.results.outcomes {
            let Some(date) = outcome.date.as_deref() else { continue };
            let known = codes.entry(&outcome.code).or_insert((0, date, date));
            *known = (known.0 + 1, known.1.min(date), known.2.max(date));
        }
        let words = codes.iter().map(|(code, (count, first, last))| {
            let days = if first == last { (*first).to_owned() } else { format!("{first} to {last}") };
            let stale = if *code == CODE { String::new() } else { format!(" {STALE}") };
            format!("{count} by the code <code>{}</code>, {}{stale}", escape(code), escape(&days))
        });
        let words = words.collect::<Vec<_>>().join("; ");
        let all = counted(self.results.outcomes.len(), "result");
        (!codes.is_empty()).then(|| format!("From the archive, {all}: {words}."))
    }

    /// Note on vector units, if results come from several: those of one are bit-identical, those of two differ by rounding.
    fn units(&self) -> Option<String> {
        let mut counts = BTreeMap::<&str, usize>::new();
        for unit in self.results.outcomes.iter().filter_map(|outcome| outcome.unit.as_deref()) {
            *counts.entry(unit).or_default() += 1;
        }
        let words =
            counts.iter().map(|(unit, count)| format!("{count} of {unit}")).collect::<Vec<_>>().join(", ");
        (counts.len() > 1)
            .then(|| format!("Results of several vector units, which differ by rounding: {words}."))
    }

    pub(super) fn claims(&self) -> String {
        if self.findings.is_empty() {
            return String::new();
        }
        let stale = if self.results.has_stale() { format!(" {STALE}") } else { String::new() };
        let row = |JudgedClaim { citation, sentence, finding, reason }: &JudgedClaim| {
            let why = reason.as_ref().filter(|_| finding.verdict.is_at_odds()).map(words);
            vec![
                match finding.verdict {
                    Verdict::TooLittle => pill(finding.verdict),
                    verdict => format!("{}{stale}", pill(verdict)),
                },
                format!("{} <span class=\"cite\">{}</span>", escape(sentence), escape(citation)),
                format!(
                    "<b>{}</b> {}{}",
                    number(finding.number),
                    escape(&finding.reason),
                    why.map_or_else(String::new, |why| format!("<br>{why}"))
                ),
            ]
        };
        let rows: Vec<Vec<String>> = self.findings.iter().map(row).collect();
        format!("<h3>Claims</h3>\n{}", table("claims", &["Verdict", "Claim", "Measured"], &rows))
    }

    /// A table with its title and note.
    pub(super) fn sheet(&self, sheet: &Sheet) -> String {
        format!(
            "<h3>{}</h3>\n{}<p class=\"note\">{} <a href=\"{}-{}.csv\">CSV</a></p>\n",
            escape(&sheet.title),
            rows(sheet),
            escape(&sheet.note),
            escape(&self.results.experiment.file_name()),
            escape(&sheet.name),
        )
    }

    /// Comparison with published cells, a group for each data set and metric.
    fn table(&self) -> String {
        let Some(first) = self.comparisons.first() else { return self.ends() };
        let mut groups: Vec<Group> = Vec::new();
        let mut comparisons: Vec<&Comparison> = self.comparisons.iter().collect();
        comparisons.sort_by_key(|comparison| look::rank(&comparison.cell.method));
        for comparison in comparisons {
            let name = escape(&format!("{}, {}", comparison.cell.data, comparison.cell.metric));
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => rows.push(cells_of(comparison)),
                None => groups.push((name, vec![cells_of(comparison)])),
            }
        }
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        let head = ["Method", "Ours", "Published", "Difference", "Intervals"];
        let head: Vec<&str> = match self.comparisons.iter().any(|c| c.corrected.is_some()) {
            true => head.into_iter().chain(["Corrected"]).collect(),
            false => head.to_vec(),
        };
        groups.iter_mut().flat_map(|(_, rows)| rows).for_each(|row| row.truncate(head.len()));
        let ours =
            self.comparisons.iter().filter_map(|c| c.ours.map(|ours| ours.replicates)).max().unwrap_or(0);
        let caption = format!(
            "<p class=\"note\">{}, of {} replicates; intervals: {}. Ours: means of {ours} replicates with percentile \
             bootstrap intervals of the same level. Together: {}.{}</p>",
            escape(&first.cell.citation),
            first.cell.interval.replicates,
            escape(&first.cell.kind),
            self.tally(),
            if head.len() == 6 { CORRECTED } else { "" },
        );
        format!("<h3>Beside the published table</h3>\n{}{caption}\n", grouped("numbers", &head, &groups))
    }

    /// Final metrics, if there is neither a published nor a standard table.
    fn ends(&self) -> String {
        if self.is_of_user || self.results.series().iter().all(|series| series.fit().is_none()) {
            return String::new();
        }
        let body = standard(&self.results).iter().map(rows).collect::<String>();
        details("Numbers at the end", &body)
    }

    fn costs(&self) -> String {
        let row = |series: &crate::results::Series<'_>| {
            let replicates = series.outcomes.len().max(1) as f64;
            let mean = |of: &dyn Fn(&crate::store::Ended) -> f64| {
                series.outcomes.iter().map(|outcome| of(&outcome.ended)).sum::<f64>() / replicates
            };
            let steps = series.task.steps();
            let count = |name: &'static str| {
                let per_step = mean(&|e| e.counts.get(name).copied().unwrap_or(0) as f64) / steps as f64;
                number((per_step * 100.0).round() / 100.0)
            };
            let mut cells = vec![
                escape(&(series.target().title() + &series.task.variant())),
                format!("{} ({})", escape(look::name(series.method().kind())), series.method().budget()),
            ];
            cells.extend(["p_evaluations", "p_gradients", "q_evaluations", "q_draws", "q_scores"].map(count));
            cells.push(number(mean(&|e| e.seconds)));
            let stale = if series.has_stale() { format!(" {STALE}") } else { String::new() };
            cells.push(format!("{}{stale}", series.failures()));
            cells
        };
        let rows: Vec<Vec<String>> = self.results.series().iter().map(row).collect();
        let head = [
            "Target",
            "Method",
            "<i>p</i>",
            "∇<i>p</i>",
            "<i>q</i>",
            "draws",
            "scores",
            "seconds",
            "ended early",
        ];
        table("numbers", &head, &rows)
            + "<p class=\"note\">Evaluations per step, seconds per job; means over replicates. What is measured along the way is not counted.</p>\n"
    }

    /// Runs, oldest first. Processes of one preset, code and kind of machine are one row: a sweep may have thousands.
    fn provenance(&self) -> String {
        let mut groups: Vec<(Vec<String>, Vec<&Run>)> = Vec::new();
        for run in &self.runs {
            let start = &run.start;
            let commit: String = start.commit.as_deref().unwrap_or("–").chars().take(10).collect();
            let dirty = if start.dirty == Some(true) { " with changes" } else { "" };
            let kind = vec![
                start.preset.name().to_owned(),
                start.threads.to_string(),
                start.seed.to_string(),
                format!("<code>{}</code>{dirty}", escape(&commit)),
                format!("<code>{}</code>", escape(&start.code)),
                escape(&start.rustc),
                escape(&start.processor),
                escape(&start.unit),
            ];
            match groups.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, runs)) => runs.push(run),
                None => groups.push((kind, vec![run])),
            }
        }
        let row = |(kind, runs): &(Vec<String>, Vec<&Run>)| {
            let jobs: usize = runs.iter().map(|run| run.jobs).sum();
            let planned: usize = runs.iter().map(|run| run.start.planned).sum();
            let jobs = if jobs == planned { jobs.to_string() } else { format!("{jobs} of {planned}") };
            let seconds = runs.iter().map(|run| run.seconds).sum();
            let mut cells = kind.clone();
            cells.splice(1..1, [runs.len().to_string(), jobs, span(seconds)]);
            cells
        };
        let rows: Vec<Vec<String>> = groups.iter().map(row).collect();
        let head = [
            "Preset",
            "Processes",
            "Jobs",
            "Time",
            "Threads",
            "Seed",
            "Commit",
            "Code",
            "Compiler",
            "Processor",
            "Unit",
        ];
        table("plain", &head, &rows)
    }
}

const CORRECTED: &str = " Ours is the quantity that was published, by the published formula; corrected is the same quantity by the \
                         correct formula.";

/// Head and rows of a table.
pub(super) fn rows(sheet: &Sheet) -> String {
    let head: Vec<String> = sheet.head.iter().map(|name| escape(name)).collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let row = |row: &Vec<String>| row.iter().map(|cell| escape(cell)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = sheet.rows.iter().map(row).collect();
    table("plain", &head, &rows)
}

/// Width in millimetres stated in an SVG.
fn millimetres(svg: &str) -> f64 {
    let width = svg.split_once("width=\"").and_then(|(_, rest)| rest.split_once("mm\""));
    width.and_then(|(number, _)| number.parse().ok()).unwrap_or(170.0)
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
