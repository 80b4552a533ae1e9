//! Section of the report for one experiment.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::comparison::{Comparison, Tally, cells_of, compare};
use super::html::{details, escape, grouped, number, table};
use super::splits;
use crate::claims::{Cause, Claim, Finding, Reason, Verdict};
use crate::figures::FigureFile;
use crate::look;
use crate::provenance::Run;
use crate::published::Cell;
use crate::registry::Entry;
use crate::results::{Results, Series};
use crate::runner::span;
use crate::store::{CODE, Outcome};
use crate::tables::{Table, in_groups, or_dash, standard};
use mcsa_core::{Error, counted};
use mcsa_plot::Drawing;

/// Mark of results by other code, after a space; empty for results of this code.
pub(super) fn stale(is_stale: bool) -> &'static str {
    if is_stale { " <span class=\"pill open\">stale</span>" } else { "" }
}

fn words(reason: &Reason) -> String {
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
    pub(crate) results: Results,
    /// Text of the experiment's file.
    pub(super) text: String,
    pub(super) is_of_user: bool,
    /// Figures by file name.
    pub(super) drawings: Vec<(String, Drawing)>,
    /// Tables other than the comparison with published cells.
    pub(super) tables: Vec<Table>,
    /// Claims with their findings.
    pub findings: Vec<(Claim, Finding)>,
    pub(crate) comparisons: Vec<Comparison>,
    /// Runs that produced the results.
    pub(super) runs: Vec<Run>,
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
        let file_name = results.experiment.file_name();
        let draw = |file: FigureFile| {
            let place = |error| Error::invalid(format!("{}, figure {}: {error}", entry.file, file.name));
            Ok((format!("{file_name}-{}", file.name), file.figure.draw().map_err(place)?))
        };
        let found = |claim: Claim| {
            let finding = claim.find_by_longest(&results, longer.as_ref());
            (claim, finding)
        };
        Ok(Self {
            text: entry.text.to_string(),
            is_of_user: entry.is_of_user(),
            drawings: entry.figures(&results).into_iter().map(draw).collect::<Result<_, Error>>()?,
            tables: entry.tables(&results).into_iter().chain(splits::table(&results)).collect(),
            findings: entry.claims(&results.experiment)?.into_iter().map(found).collect(),
            comparisons: compare(&results, longer.as_ref())?,
            runs,
            results,
        })
    }

    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|(_, finding)| finding.verdict == verdict).count()
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally::of(&self.comparisons)
    }

    pub(super) fn html(&self) -> String {
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
        text.extend(self.drawings.iter().map(|drawing| self.figure(drawing)));
        // The table of single targets has hundreds of rows.
        text.extend(self.tables.iter().map(|table| match table.name.as_str() {
            "runs" => details(&escape(&table.title), &self.table(table)),
            _ => self.table(table),
        }));
        text.push_str(&self.claims());
        text.push_str(&self.comparison());
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

    fn figure(&self, (name, drawing): &(String, Drawing)) -> String {
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
    fn state(&self) -> String {
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
        absent.values().for_each(|reason| warn(format!("Left out: {}", escape(reason))));
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
            format!(
                "{count} by the code <code>{}</code>, {}{}",
                escape(code),
                escape(&days),
                stale(*code != CODE)
            )
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

    fn claims(&self) -> String {
        if self.findings.is_empty() {
            return String::new();
        }
        let stale = stale(self.results.has_stale());
        let row = |(Claim { citation, sentence, reason, .. }, finding): &(Claim, Finding)| {
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
        let rows = self.findings.iter().map(row).collect();
        format!("<h3>Claims</h3>\n{}", table("claims", "Verdict | Claim | Measured", rows))
    }

    fn table(&self, table: &Table) -> String {
        format!(
            "<h3>{}</h3>\n{}<p class=\"note\">{} <a href=\"{}-{}.csv\">CSV</a></p>\n",
            escape(&table.title),
            rows(table),
            escape(&table.note),
            escape(&self.results.experiment.file_name()),
            escape(&table.name),
        )
    }

    /// Comparison with published cells, a group for each data set and metric.
    fn comparison(&self) -> String {
        let Some(first) = self.comparisons.first() else { return self.ends() };
        let mut comparisons: Vec<&Comparison> = self.comparisons.iter().collect();
        comparisons.sort_by_key(|comparison| look::of(&comparison.cell.method).0);
        let name = |cell: &Cell| escape(&format!("{}, {}", cell.data, cell.metric));
        let mut groups = in_groups(comparisons.iter().map(|one| (name(&one.cell), cells_of(one))));
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        let mut head = vec!["Method", "Ours", "Published", "Difference", "Intervals"];
        head.extend(self.comparisons.iter().any(|one| one.corrected.is_some()).then_some("Corrected"));
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
        details("Numbers at the end", &standard(&self.results).iter().map(rows).collect::<String>())
    }

    fn costs(&self) -> String {
        let row = |series: &Series<'_>| {
            let mean = |of: &dyn Fn(&Outcome) -> f64| {
                let sum = series.outcomes.iter().map(|outcome| of(outcome)).sum::<f64>();
                sum / series.outcomes.len().max(1) as f64
            };
            let count = |name: &'static str| {
                let count = mean(&|one| one.ended.counts.get(name).copied().unwrap_or(0) as f64);
                number((count / series.task.steps() as f64 * 100.0).round() / 100.0)
            };
            let mut cells = vec![
                escape(&(series.target().title() + &series.task.variant())),
                format!("{} ({})", escape(look::name(series.method().kind())), series.method().budget()),
            ];
            cells.extend(["p_evaluations", "p_gradients", "q_evaluations", "q_draws", "q_scores"].map(count));
            cells.push(number(mean(&|one| one.ended.seconds)));
            cells.push(format!("{}{}", series.failures(), stale(series.has_stale())));
            cells
        };
        let head =
            "Target | Method | <i>p</i> | ∇<i>p</i> | <i>q</i> | draws | scores | seconds | ended early";
        table("numbers", head, self.results.series().iter().map(row).collect())
            + "<p class=\"note\">Evaluations per step, seconds per job; means over replicates. What is measured along the way is not counted.</p>\n"
    }

    /// Runs, oldest first. Processes of one preset, code and kind of machine are one row: a sweep may have thousands.
    fn provenance(&self) -> String {
        let kind = |run: &Run| {
            let start = &run.start;
            let commit: String = start.commit.as_deref().unwrap_or("–").chars().take(10).collect();
            let dirty = if start.dirty == Some(true) { " with changes" } else { "" };
            [
                start.preset.name().to_owned(),
                start.threads.to_string(),
                start.seed.to_string(),
                format!("<code>{}</code>{dirty}", escape(&commit)),
                format!("<code>{}</code>", escape(&start.code)),
                escape(&start.rustc),
                escape(&start.processor),
                escape(&start.unit),
            ]
        };
        let row = |([preset, of_machine @ ..], runs): ([String; 8], Vec<&Run>)| {
            let jobs: usize = runs.iter().map(|run| run.jobs).sum();
            let planned: usize = runs.iter().map(|run| run.start.planned).sum();
            let jobs = if jobs == planned { jobs.to_string() } else { format!("{jobs} of {planned}") };
            let seconds = runs.iter().map(|run| run.seconds).sum();
            [preset, runs.len().to_string(), jobs, span(seconds)].into_iter().chain(of_machine).collect()
        };
        let groups = in_groups(self.runs.iter().map(|run| (kind(run), run)));
        let head =
            "Preset | Processes | Jobs | Time | Threads | Seed | Commit | Code | Compiler | Processor | Unit";
        table("plain", head, groups.into_iter().map(row).collect())
    }
}

const CORRECTED: &str = " Ours is the quantity that was published, by the published formula; corrected is the same quantity by the \
                         correct formula.";

pub(super) fn rows(table: &Table) -> String {
    let cells = |row: &Vec<String>| row.iter().map(|cell| escape(cell)).collect::<Vec<_>>();
    let head = cells(&table.head);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    grouped("plain", &head, &[(String::new(), table.rows.iter().map(cells).collect())])
}

fn millimetres(svg: &str) -> f64 {
    let width = svg.split_once("width=\"").and_then(|(_, rest)| rest.split_once("mm\""));
    width.and_then(|(number, _)| number.parse().ok()).unwrap_or(170.0)
}

/// Table of the claims that do not hold, with the cause of each and the experiment that decides it; empty if there are none.
pub(super) fn disagreements(sections: &[ExperimentSection]) -> String {
    let all = sections.iter().flat_map(|section| section.findings.iter().map(move |found| (section, found)));
    let row = |(section, (claim, finding)): (&ExperimentSection, &(Claim, Finding))| {
        let Claim { citation, sentence, reason, .. } = claim;
        let (cause, why, by) = match reason {
            Some(Reason { cause, why, by }) => (cause.name(), escape(why), by.as_deref()),
            None => (Cause::Open.name(), "not examined".to_owned(), None),
        };
        vec![
            format!("<a href=\"#{0}\"><code>{0}</code></a>", escape(&section.results.experiment.id)),
            format!("{} <span class=\"cite\">{}</span>", escape(sentence), escape(citation)),
            format!("<b>{}</b> {}", number(finding.number), pill(finding.verdict)),
            cause.to_owned(),
            why,
            or_dash(by.map(escape)),
        ]
    };
    let rows: Vec<Vec<String>> =
        all.filter(|(_, (_, finding))| finding.verdict.is_at_odds()).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let open = rows.iter().filter(|row| row[3] == Cause::Open.name()).count();
    format!(
        "<section id=\"disagreements\">\n<h2>Disagreements</h2>\n<p class=\"note\">Claims that do not hold here, {} in all, {open} of \
         them with an open cause.</p>\n{}</section>\n",
        rows.len(),
        table("plain", "Experiment | Claim | Measured | Cause | Reason | Decided by", rows)
    )
}
