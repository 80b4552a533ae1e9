//! Section of the report for one experiment.

use std::collections::BTreeMap;

use super::comparison::{Comparison, Tally, cells_of, compare};
use super::html::{Row, details, escape, grouped, number, table};
use super::part::Judged;
use super::splits;
use crate::claims::{Claim, Finding, Verdict};
use crate::figures::FigureFile;
use crate::look;
use crate::provenance::Run;
use crate::published::Cell;
use crate::registry::Entry;
use crate::results::{Results, Series};
use crate::runner::span;
use crate::store::Outcome;
use crate::tables::{Table, in_groups, standard};
use mcsa_core::{Error, counted};
use mcsa_plot::Drawing;

/// A verdict as a coloured word.
pub(super) fn pill(verdict: Verdict) -> String {
    format!("<span class=\"pill {}\">{}</span>", verdict.class(), verdict.name())
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
        // Without results there is nothing to look at.
        let is_shown = results.experiment.is_exhibit() || !results.outcomes.is_empty();
        let figures = entry.figures(&results).into_iter().filter(|file| is_shown && !file.figure.is_empty());
        let tables = entry.tables(&results).into_iter().chain(splits::table(&results));
        let tables = tables.filter(|table| is_shown && !table.rows.is_empty());
        Ok(Self {
            text: entry.text.to_string(),
            is_of_user: entry.is_of_user(),
            drawings: figures.map(draw).collect::<Result<_, Error>>()?,
            tables: tables.collect(),
            findings: entry.claims(&results.experiment)?.into_iter().map(found).collect(),
            comparisons: compare(&results, longer.as_ref())?,
            runs,
            results,
        })
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally::of(&self.comparisons)
    }

    /// What it reproduces, or whose experiment it is.
    pub(super) fn source(&self) -> String {
        match self.results.experiment.reproduces.as_slice() {
            [] if self.is_of_user => "user experiment".into(),
            [] => "ours".into(),
            all => escape(&all.join("; ")),
        }
    }

    pub(super) fn judged(&self) -> Vec<Judged> {
        let id = &self.results.experiment.id;
        self.findings.iter().enumerate().map(|(place, found)| Judged::of(id, place, found)).collect()
    }

    /// Claims and the first figure, then what is unfolded on demand.
    pub(super) fn html(&self) -> String {
        let experiment = &self.results.experiment;
        let mut text = format!(
            "<section id=\"{id}\">\n<h2><a href=\"#{id}\">{title}</a></h2>\n<p class=\"cite\">{source} <code>{id}</code> \
             <a href=\"#top\">top</a></p>\n",
            id = escape(&experiment.id),
            title = escape(&experiment.title),
            source = self.source(),
        );
        text.push_str(&self.state());
        text.push_str(&self.claims());
        let mut figures = self.drawings.iter().map(|drawing| self.figure(drawing));
        text.extend(figures.next());
        text.push_str(&self.comparison());
        let further: Vec<String> = figures.collect();
        if !further.is_empty() {
            text.push_str(&details(&counted(further.len(), "further figure"), &further.concat()));
        }
        text.extend(self.tables.iter().enumerate().map(|(place, table)| match table.rows.len() {
            0..=SHORT => self.table(table),
            0..=LONG if self.drawings.is_empty() && place == 0 => self.table(table),
            _ => details(&escape(&table.title), &self.table(table)),
        }));
        if !experiment.notes.is_empty() {
            let notes: String =
                experiment.notes.iter().map(|note| format!("<li>{}</li>\n", marked(note))).collect();
            text.push_str(&details("Notes", &format!("<ul class=\"notes\">{notes}</ul>\n")));
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
        let (width, name) = (1.4 * millimetres(svg), escape(name));
        let title =
            format!("{}: {}", escape(&experiment.title), name.trim_start_matches(&experiment.file_name()));
        let (head, rest) = svg.split_once('>').unwrap_or((svg, ""));
        format!(
            "<figure><div class=\"plate\"><div style=\"max-width:{width:.0}mm;margin:auto\">{head} role=\"img\">\
             <title>{title}</title>{rest}</div></div><figcaption>{name} <span class=\"links\"><a href=\"{name}.svg\">SVG</a> \
             <a href=\"{name}.png\">PNG</a>{numbers}</span></figcaption></figure>\n",
        )
    }

    /// Warnings about results that are missing, of an older version or unusable.
    fn state(&self) -> String {
        let Results { missing, bad, stale, is_stale, absent, outcomes, .. } = &self.results;
        let mut text = String::new();
        let mut warn = |words: String| text.push_str(&format!("<p class=\"warning\">{words}</p>\n"));
        if *is_stale {
            warn("Every result here is of an older version. Run the experiment again.".into());
        } else if *stale > 0 {
            warn(format!("Left out, because of an older version: {}.", counted(*stale, "result")));
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
        for (reason, names) in in_groups(absent.iter().map(|(name, reason)| (reason, name.as_str()))) {
            warn(format!("Left out, {}: {}", escape(&names.join(", ")), escape(reason)));
        }
        text
    }

    /// Note on the origin of archived results; `None` if they are not archived.
    fn origins(&self) -> Option<String> {
        let mut codes = BTreeMap::<(&str, bool, bool), (usize, &str, &str)>::new();
        for outcome in &self.results.outcomes {
            let Some(date) = outcome.date.as_deref() else { continue };
            let key = (&*outcome.code, outcome.is_stale(), outcome.confirmed.is_some());
            let known = codes.entry(key).or_insert((0, date, date));
            *known = (known.0 + 1, known.1.min(date), known.2.max(date));
        }
        let words = codes.iter().map(|((code, is_stale, is_confirmed), (count, first, last))| {
            let days = if first == last { (*first).to_owned() } else { format!("{first} to {last}") };
            let of = if *is_stale || *is_confirmed { "of the older version" } else { "of this version" };
            let confirmed = match is_stale {
                false if *is_confirmed => {
                    ", confirmed by a replicate of each task that was run again by this version"
                }
                _ => "",
            };
            format!("{count} {of} <code>{}</code>, {}{confirmed}", escape(code), escape(&days))
        });
        let words = words.collect::<Vec<_>>().join("; ");
        let all = counted(self.results.outcomes.len(), "result");
        (!codes.is_empty()).then(|| format!("From the archive, {all}: {words}."))
    }

    /// Note on vector units, if results come from several: those of one are bit-identical, those of two differ by rounding.
    fn units(&self) -> Option<String> {
        let mut counts = BTreeMap::<&str, usize>::new();
        for outcome in &self.results.outcomes {
            *counts.entry(&outcome.unit).or_default() += 1;
        }
        let words =
            counts.iter().map(|(unit, count)| format!("{count} of {unit}")).collect::<Vec<_>>().join(", ");
        (counts.len() > 1)
            .then(|| format!("Results of several vector units, which differ by rounding: {words}."))
    }

    /// Claims of the papers; then explorations.
    fn claims(&self) -> String {
        let row = |claim: &Judged| {
            let why = claim
                .cause
                .as_ref()
                .map(|[cause, why, by]| format!("<br><span class=\"ci\">Cause: {cause}. {why} {by}</span>"));
            let attributes = format!(" id=\"{}\" class=\"claim {}\"", claim.anchor, claim.verdict.class());
            let evidence = if claim.evidence.is_empty() { "" } else { "; " };
            let measured =
                format!("{}{evidence}{}{}", claim.measured, claim.evidence, why.unwrap_or_default());
            let words = format!("{} <span class=\"cite\">{}</span>", claim.sentence, claim.citation);
            Row { attributes, cells: vec![pill(claim.verdict), words, measured] }
        };
        let (papers, ours): (Vec<Judged>, Vec<Judged>) =
            self.judged().into_iter().partition(|claim| claim.is_of_paper);
        let titled = |title: &str, claims: &[Judged]| match claims {
            [] => String::new(),
            all => {
                let rows: Vec<Row> = all.iter().map(row).collect();
                format!("<h3>{title}</h3>\n{}", table("claims", "Verdict | Claim | Measured", rows))
            }
        };
        titled("Claims", &papers) + &titled("Explorations", &ours)
    }

    fn table(&self, table: &Table) -> String {
        format!(
            "<h3>{}</h3>\n{}<p class=\"note\">{} <a href=\"{}-{}.csv\">CSV</a></p>\n",
            escape(&table.title),
            rows(table),
            marked(&table.note),
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
             bootstrap intervals of the same level.{}</p>",
            escape(&first.cell.citation),
            first.cell.interval.replicates,
            escape(&first.cell.kind),
            if head.len() == 6 { CORRECTED } else { "" },
        );
        let cells = details("All cells", &(grouped("numbers", &head, &groups) + &caption));
        format!("<h3>Beside the published table</h3>\n<p>{}</p>\n{cells}", self.tally())
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
            cells.push(series.failures().to_string());
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
            [preset, runs.len().to_string(), jobs, span(seconds)]
                .into_iter()
                .chain(of_machine)
                .collect::<Vec<String>>()
        };
        let groups = in_groups(self.runs.iter().map(|run| (kind(run), run)));
        let head =
            "Preset | Processes | Jobs | Time | Threads | Seed | Commit | Code | Compiler | Processor | Unit";
        table("plain", head, groups.into_iter().map(row).collect())
    }
}

/// Most rows of a table that is not folded, and of one that stands in place of a figure.
const SHORT: usize = 6;
const LONG: usize = 24;

/// A text in which what stands between backticks is code.
pub(super) fn marked(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(k, part)| match k % 2 {
        1 => format!("<code>{}</code>", escape(part)),
        _ => escape(part),
    });
    parts.collect()
}

const CORRECTED: &str = " Ours is the quantity that was published, by the published formula; corrected is the quantity that the \
                         paper describes, by the correct formula.";

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
