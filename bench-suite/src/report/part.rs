//! What the pages of a report show of an experiment. A part is kept as a file beside them, so that a run of some experiments leaves
//! the others in the report.

use std::fs;
use std::path::{Path, PathBuf};

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::comparison::Tally;
use super::html::{escape, number};
use super::section::{ExperimentSection, marked};
use crate::claims::{Cause, Claim, Finding, Reason, Verdict};
use crate::outline::{Page, outline};
use crate::registry::REGISTRY;
use crate::store::write_whole;

/// Folder of the parts in that of the report.
const FOLDER: &str = "parts";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) title: String,
    /// What it reproduces, or whose experiment it is.
    pub(super) source: String,
    pub(super) preset: String,
    /// Absent if the experiment has no jobs.
    pub(super) replicates: Option<usize>,
    /// True if results are of an older version.
    pub(super) is_old: bool,
    is_of_user: bool,
    pub(super) claims: Vec<Judged>,
    pub(super) tally: Tally,
    /// Its section, as HTML.
    pub(super) html: String,
}

/// A claim with its verdict; texts are HTML.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Judged {
    /// Id of its row in the section.
    pub(super) anchor: String,
    pub(super) citation: String,
    pub(super) sentence: String,
    pub(super) verdict: Verdict,
    /// The number with its definition and border.
    pub(super) measured: String,
    pub(super) evidence: String,
    /// Cause, reason, and a sentence on what decides it, of a claim that does not hold.
    pub(super) cause: Option<[String; 3]>,
    pub(super) headline: Option<usize>,
    /// False for explorations.
    pub(super) is_of_paper: bool,
}

impl Judged {
    pub(super) fn of(experiment: &str, place: usize, (claim, finding): &(Claim, Finding)) -> Self {
        let unknown = || [Cause::Open.name(), "Not examined.", ""].map(str::to_owned);
        let known = |Reason { cause, why, by }: &Reason| {
            let by = by.as_deref().map_or_else(String::new, |by| format!("Decided by: {}.", marked(by)));
            [cause.name().to_owned(), marked(why), by]
        };
        let cause = || claim.reason.as_ref().map_or_else(unknown, known);
        Self {
            anchor: escape(&format!("{experiment}.{}", place + 1)),
            citation: escape(&claim.citation),
            sentence: marked(&claim.sentence),
            verdict: finding.verdict,
            measured: format!("<b>{}</b> {}", number(finding.number), escape(&finding.reason)),
            evidence: escape(&finding.evidence),
            cause: finding.verdict.is_at_odds().then(cause),
            headline: claim.headline,
            is_of_paper: claim.is_of_paper(),
        }
    }
}

impl Part {
    pub(super) fn of(section: &ExperimentSection) -> Self {
        let experiment = &section.results.experiment;
        Self {
            id: experiment.id.clone(),
            title: escape(&experiment.title),
            source: section.source(),
            preset: section.results.preset.name().to_owned(),
            replicates: (!experiment.is_exhibit()).then(|| section.results.replicates()),
            is_old: section.results.is_stale || section.results.has_stale(),
            is_of_user: section.is_of_user,
            claims: section.judged(),
            tally: section.tally(),
            html: section.html(),
        }
    }

    /// A part with claims and nothing else.
    #[cfg(test)]
    pub(super) fn made_up(id: &str, claims: Vec<Judged>) -> Self {
        let (tally, html) = (Tally::default(), String::new());
        let [title, source, preset] = ["title", "source", "quick"].map(str::to_owned);
        let (replicates, is_old, is_of_user) = (Some(5), false, false);
        Self { id: id.to_owned(), title, source, preset, replicates, is_old, is_of_user, claims, tally, html }
    }

    /// Place of the experiment among those of the repository; none if it is not there any more.
    fn place(&self) -> Option<usize> {
        let file = format!("papers/{}.toml", self.id);
        let place = REGISTRY.iter().position(|entry| entry.file == file);
        place.or_else(|| self.is_of_user.then_some(REGISTRY.len()))
    }

    /// The page that shows it.
    pub(super) fn page(&self) -> &'static Page {
        outline().page_of(&self.id)
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(FOLDER).join(format!("{}.json", self.id.replace('/', "-")))
    }

    /// Writes the part in the folder of a report.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Error> {
        let text = serde_json::to_string(self);
        let text = text.map_err(|error| Error::invalid(format!("{}: {error}", self.id)))?;
        write_whole(&self.path(folder), text.as_bytes())
    }

    /// All parts in the folder of a report, in the order of the experiments. Those that cannot be read, or whose experiment is not there
    /// any more, are left out.
    pub(super) fn all(folder: &Path) -> Vec<Self> {
        let files = fs::read_dir(folder.join(FOLDER)).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        let mut parts: Vec<(usize, Self)> = texts
            .filter_map(|text| serde_json::from_str::<Self>(&text).ok())
            .filter_map(|part| Some((part.place()?, part)))
            .collect();
        parts.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
        parts.into_iter().map(|(_, part)| part).collect()
    }
}
