//! Contrasts: differences or ratios of metrics between methods, paired over replicates.

use std::collections::{BTreeMap, BTreeSet};

use mcsa_core::Error;
use serde::Deserialize;

use super::resampling::{Columns, mean, median};
use super::selector::{Selector, Settings};
use super::{ENOUGH, Finding, greatest, least};
use crate::experiment::Experiment;
use crate::kinds::Task;
use crate::results::{Results, Series};
use crate::store::Outcome;

/// Comparison of a metric between methods, as written in a table `[[claim]]`.
///
/// ```text
/// terms T_ij = S(of_i) - S(against_j),   or S(of_i) / S(against_j),   or S(of_i);     S the mean or the median over replicates
/// number = min T_ij of a claim that T is at least t, max T_ij of one that it is at most t; the other end with `any`
/// ```
/// Replicates are paired: replicate `r` has one seed and one split of the data under every method. They are resampled jointly,
/// and the verdict is open if the 90 % interval of the number contains t.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    pub(super) sides: Vec<Side>,
    /// Compared sides, by their places in `sides`.
    pub(super) terms: Vec<(usize, Option<Other>)>,
    pub(super) relation: Relation,
    pub(super) summary: Summary,
    pub(super) is_ratio: bool,
    /// The distance from this number is compared in place of the summary itself.
    pub(super) distance_from: Option<f64>,
    /// One term suffices.
    pub(super) any: bool,
    pub(super) is_resampled: bool,
    /// Only replicates that all sides have are compared.
    pub(super) common: bool,
    /// Smallest length of a fit.
    pub(super) steps: u64,
}

/// A metric of the fits with some settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Side {
    pub(super) selector: Selector,
    pub(super) metric: String,
    pub(super) at: When,
}

/// The second operand of a term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Other {
    Side(usize),
    Number(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum When {
    End,
    Step(u64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Relation {
    AtLeast(f64),
    AtMost(f64),
}

/// Summary of a metric over replicates.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Summary {
    Mean,
    Median,
    /// Every replicate is a term of its own.
    Each,
}

impl Side {
    /// Checks that the fits exist and that the step is recorded.
    pub(super) fn check(
        &self,
        experiment: &Experiment,
        planned: &[Vec<(Settings, Task)>],
    ) -> Result<(), Error> {
        self.selector.check(experiment, planned)?;
        let When::Step(step) = self.at else { return Ok(()) };
        let selected = planned.iter().flatten().filter(|(settings, _)| self.selector.selects(settings));
        let steps: BTreeSet<u64> = selected.flat_map(|(_, task)| task.recorded()).collect();
        match steps.iter().min_by_key(|known| known.abs_diff(step)) {
            Some(nearest) if *nearest != step => {
                Err(Error::invalid(format!("step {step} is not recorded; the nearest is {nearest}")))
            }
            _ => Ok(()),
        }
    }

    /// Metric and step in words.
    fn measured(&self) -> String {
        match self.at {
            When::End => format!("{} at the end", self.metric),
            When::Step(step) => format!("{} at step {step}", self.metric),
        }
    }
}

impl Contrast {
    /// Place of a side, which is added if it is new.
    pub(super) fn place_of(&mut self, side: Side) -> usize {
        self.sides.iter().position(|known| *known == side).unwrap_or_else(|| {
            self.sides.push(side);
            self.sides.len() - 1
        })
    }

    /// Verdict of results.
    pub fn find(&self, results: &Results) -> Finding {
        let columns = match self.columns(results) {
            Ok(columns) => columns,
            Err(finding) => return finding,
        };
        let what = self.words(&columns);
        let number = |columns: &[Vec<f64>]| self.number(columns);
        match (self.relation, self.is_resampled) {
            (Relation::AtLeast(border), true) => Finding::at_least_of(&columns, number, border, &what),
            (Relation::AtMost(border), true) => Finding::at_most_of(&columns, number, border, &what),
            (Relation::AtLeast(border), false) => Finding::at_least(number(&columns), border, what),
            (Relation::AtMost(border), false) => Finding::at_most(number(&columns), border, what),
        }
    }

    /// Values of each side in the order of replicates; or a finding that says what is missing.
    fn columns(&self, results: &Results) -> Result<Columns, Finding> {
        let labels = results.experiment.labels().unwrap_or_default();
        let all: Vec<(Settings, Series<'_>)> =
            results.series().into_iter().map(|series| (Settings::of(series.task, &labels), series)).collect();
        let mut values = Vec::new();
        for side in &self.sides {
            let words = side.selector.words(None);
            let Some((_, series)) = all.iter().find(|(settings, _)| side.selector.selects(settings)) else {
                return Err(Finding::too_little(format!("no results of {words}")));
            };
            let length = series.task.length();
            if length < self.steps {
                let what = format!("fits of {length} steps; the claim is of {}", self.steps);
                return Err(Finding::too_little(what));
            }
            let found = side.values(series);
            if found.is_empty() {
                return Err(Finding::too_little(format!("no {} of {words}", side.measured())));
            }
            values.push(found);
        }
        let everywhere = |replicate: &u64| values.iter().all(|column| column.contains_key(replicate));
        let replicates: Vec<u64> =
            values.iter().flat_map(BTreeMap::keys).copied().collect::<BTreeSet<_>>().into_iter().collect();
        let shared: Vec<u64> = replicates.iter().copied().filter(everywhere).collect();
        if self.is_resampled && !self.common && shared != replicates {
            return Err(Finding::too_little("not every replicate has a value"));
        }
        if self.common && shared.len() < ENOUGH {
            return Err(Finding::too_little(format!("{} common replicates", shared.len())));
        }
        if !self.is_resampled && values.iter().any(|column| column.len() < ENOUGH) {
            return Err(Finding::too_little("too few fits ended"));
        }
        let kept = |column: &BTreeMap<u64, f64>| match self.common {
            true => shared.iter().filter_map(|replicate| column.get(replicate).copied()).collect(),
            false => column.values().copied().collect(),
        };
        Ok(values.iter().map(kept).collect())
    }

    /// Summaries of a column, transformed; several if each replicate counts.
    fn summaries(&self, column: &[f64]) -> Vec<f64> {
        let summaries = match self.summary {
            Summary::Mean => vec![mean(column)],
            Summary::Median => vec![median(column)],
            Summary::Each => column.to_vec(),
        };
        match self.distance_from {
            Some(place) => summaries.into_iter().map(|value| (value - place).abs()).collect(),
            None => summaries,
        }
    }

    /// Value of each term, with its place among the terms.
    fn values(&self, columns: &[Vec<f64>]) -> Vec<(usize, f64)> {
        let summaries: Vec<Vec<f64>> = columns.iter().map(|column| self.summaries(column)).collect();
        let compared = |a: f64, b: f64| if self.is_ratio { a / b } else { a - b };
        let term = |(place, (of, other)): (usize, &(usize, Option<Other>))| {
            let ours = &summaries[*of];
            let values: Vec<f64> = match other {
                None => ours.clone(),
                Some(Other::Number(number)) => ours.iter().map(|value| compared(*value, *number)).collect(),
                Some(Other::Side(other)) => {
                    ours.iter().zip(&summaries[*other]).map(|(a, b)| compared(*a, *b)).collect()
                }
            };
            values.into_iter().map(move |value| (place, value))
        };
        self.terms.iter().enumerate().flat_map(term).collect()
    }

    fn is_least(&self) -> bool {
        matches!(self.relation, Relation::AtLeast(_)) != self.any
    }

    fn number(&self, columns: &[Vec<f64>]) -> f64 {
        let values = self.values(columns).into_iter().map(|(_, value)| value);
        if self.is_least() { least(values) } else { greatest(values) }
    }

    /// Definition of the number, with the term that decides.
    fn words(&self, columns: &[Vec<f64>]) -> String {
        let values = self.values(columns);
        let by_value = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        let decides =
            if self.is_least() { values.iter().min_by(by_value) } else { values.iter().max_by(by_value) };
        let (of, other) = self.terms[decides.map_or(0, |(place, _)| *place)];
        let of = &self.sides[of];
        let summary = match self.summary {
            Summary::Mean => "mean ",
            Summary::Median => "median ",
            Summary::Each => "",
        };
        let distance =
            self.distance_from.map_or_else(String::new, |place| format!("distance from {place} of "));
        let mut text = format!("{distance}{summary}{} by {}", of.measured(), of.selector.words(None));
        let sign = if self.is_ratio { "over" } else { "less" };
        match other {
            None => {}
            Some(Other::Number(number)) => text.push_str(&format!(" {sign} {number}")),
            Some(Other::Side(other)) => {
                let other = &self.sides[other];
                let words = other.selector.words(Some(&of.selector));
                let measured =
                    if other.measured() == of.measured() { String::new() } else { other.measured() };
                let by = if measured.is_empty() || words.is_empty() { "" } else { " by " };
                text.push_str(&format!(" {sign} that of {measured}{by}{words}"));
            }
        }
        match (values.len(), self.is_least()) {
            (0 | 1, _) => text,
            (many, true) => format!("{text}, the least of {many}"),
            (many, false) => format!("{text}, the greatest of {many}"),
        }
    }
}

impl Side {
    /// Values by replicate; fits that ended early have none at the end.
    fn values(&self, series: &Series<'_>) -> BTreeMap<u64, f64> {
        let value = |outcome: &&Outcome| {
            let row = match self.at {
                When::End => outcome.rows.last().filter(|_| outcome.ended.failure.is_none()),
                When::Step(step) => outcome.rows.iter().find(|row| row.step == step),
            };
            Some((outcome.job.replicate, *row?.values.get(self.metric.as_str())?))
        };
        series.outcomes.iter().filter_map(value).collect()
    }
}
