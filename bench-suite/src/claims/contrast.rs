//! Contrasts: differences or ratios of metrics between methods, paired over replicates.

use std::collections::{BTreeMap, BTreeSet};

use mcsa_core::Error;
use serde::Deserialize;
use toml::Table;

use super::{Columns, ENOUGH, Finding, greatest, least, mean, median};
use crate::experiment::Experiment;
use crate::results::{Results, Series};
use crate::selector::{Settings, check, rows, words};
use crate::store::Outcome;
use crate::task::Task;

/// Comparison of a metric between methods, as written in a table `[[claim]]`.
///
/// ```text
/// terms T_ij = S(of_i) - S(against_j),   or S(of_i) / S(against_j),   or S(of_i);     S the mean or the median over replicates
/// number = min T_ij of a claim that T is at least t, max T_ij of one that it is at most t; the other end with `any`
///          max of T_ij / b and a / T_ij of one that T is within [a, b], with t = 1
/// ```
/// At a range of steps there is a term for each recorded one; a curve makes one number of all steps.
/// Replicates are paired: replicate `r` has one seed and one split of the data under every method. They are resampled jointly,
/// and the verdict is open if the 90 % interval of the number contains t.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contrast {
    pub(super) sides: Vec<Side>,
    /// Compared sides, by their places in `sides`.
    pub(super) terms: Vec<(usize, Option<Other>)>,
    pub(super) relation: Relation,
    pub(super) summary: Summary,
    pub(super) is_ratio: bool,
    pub(super) curve: Option<Curve>,
    pub(super) any: bool,
    pub(super) nan_is_infinite: bool,
    pub(super) skips_absent: bool,
    pub(super) is_resampled: bool,
    /// Only replicates that all sides have are compared.
    pub(super) common: bool,
    /// Smallest length of a fit.
    pub(super) steps: u64,
}

/// A metric of the fits with some settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Side {
    pub(super) selector: Table,
    pub(super) metric: String,
    pub(super) at: When,
    pub(super) distance_from: Option<f64>,
    pub(super) less: Option<Table>,
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
    /// All recorded steps from the first to the second.
    Steps(u64, u64),
}

/// Number made of the summaries of a metric at all recorded steps.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Curve {
    HalfTime,
    Rise,
    ReachesWithin(f64),
    StaysWithin(f64),
}

impl Curve {
    /// The number; NaN if the first or last value is NaN, infinite if a step is never reached.
    pub(super) fn of(self, steps: &[u64], values: &[f64]) -> f64 {
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return f64::NAN };
        let step = |place: Option<usize>| match place.and_then(|place| steps.get(place)) {
            _ if first.is_nan() => f64::NAN,
            Some(step) => *step as f64,
            None => f64::INFINITY,
        };
        match self {
            Self::HalfTime => step(values.iter().position(|value| *value <= 0.5 * first)),
            Self::ReachesWithin(margin) => step(values.iter().position(|value| *value >= last - margin)),
            Self::StaysWithin(_) if last.is_nan() => f64::NAN,
            Self::StaysWithin(margin) => {
                let is_off = |value: &f64| (value - last).abs() > margin || value.is_nan();
                let late = values.iter().rposition(is_off);
                steps.get(late.map_or(0, |place| place + 1)).map_or(f64::NAN, |step| *step as f64)
            }
            Self::Rise => {
                let (mut least, mut rise) = (first, 0.0_f64);
                for value in values {
                    rise = rise.max(value - least);
                    least = least.min(*value);
                }
                rise / first
            }
        }
    }

    fn words(self) -> String {
        match self {
            Self::HalfTime => "step at which half is left of the first ".to_owned(),
            Self::Rise => "largest rise, in units of the first value, of the ".to_owned(),
            Self::ReachesWithin(margin) => format!("first step within {margin} below the last of the "),
            Self::StaysWithin(margin) => format!("step from which on within {margin} of the last of the "),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Relation {
    AtLeast(f64),
    AtMost(f64),
    Within(f64, f64),
}

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
        check(&self.selector, experiment, planned)?;
        self.less.as_ref().map_or(Ok(()), |less| check(less, experiment, planned))?;
        let selected = planned.iter().flatten().filter(|(settings, _)| settings.admits(&self.selector));
        let steps: BTreeSet<u64> = selected.flat_map(|(_, task)| task.recorded()).collect();
        match self.at {
            When::Step(step) => match steps.iter().min_by_key(|known| known.abs_diff(step)) {
                Some(nearest) if *nearest != step => {
                    Err(Error::invalid(format!("step {step} is not recorded; the nearest is {nearest}")))
                }
                _ => Ok(()),
            },
            When::Steps(from, to) if !steps.iter().any(|step| (from..=to).contains(step)) => {
                Err(Error::invalid(format!("no step from {from} to {to} is recorded")))
            }
            _ => Ok(()),
        }
    }

    fn measured(&self) -> String {
        let metric = match &self.less {
            Some(less) => format!("{} less that {}", self.metric, by(&words(less, Some(&self.selector)))),
            None => self.metric.clone(),
        };
        match self.at {
            When::End => format!("{metric} at the end"),
            When::Step(step) => format!("{metric} at step {step}"),
            When::Steps(0, u64::MAX) => format!("{metric} at all steps"),
            When::Steps(from, to) => format!("{metric} from step {from} to {to}"),
        }
    }

    fn steps(&self, series: &Series<'_>) -> Vec<u64> {
        match self.at {
            When::End => vec![u64::MAX],
            When::Step(step) => vec![step],
            When::Steps(from, to) => {
                series.steps().into_iter().filter(|step| (from..=to).contains(step)).collect()
            }
        }
    }

    /// Values by replicate at a step; fits that ended early have none at the end.
    fn values(&self, series: &Series<'_>, step: u64) -> BTreeMap<u64, f64> {
        let value = |outcome: &&Outcome| {
            let row = match self.at {
                When::End => outcome.rows.last().filter(|_| outcome.ended.failure.is_none()),
                _ => outcome.rows.iter().find(|row| row.step == step),
            };
            Some((outcome.job.replicate, *row?.values.get(self.metric.as_str())?))
        };
        series.outcomes.iter().filter_map(value).collect()
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

    pub(super) fn find(&self, results: &Results) -> Finding {
        let (columns, parts) = match self.columns(results) {
            Ok(found) => found,
            Err(finding) => return finding,
        };
        let what = self.words(&columns, &parts);
        let number = |columns: &[Vec<f64>]| self.number(columns, &parts);
        let (border, is_least) = match self.relation {
            Relation::AtLeast(border) => (border, true),
            Relation::AtMost(border) => (border, false),
            Relation::Within(..) => (1.0, false),
        };
        let judge: fn(f64, f64, String) -> Finding =
            if is_least { Finding::at_least } else { Finding::at_most };
        match self.is_resampled {
            true => Finding::of_resampled(&columns, number, border, &what, judge),
            false => judge(number(&columns), border, what),
        }
    }

    /// Least number of replicates of a side; 0 if something is missing.
    pub(super) fn replicates(&self, results: &Results) -> usize {
        let found = self.columns(results).ok();
        found.and_then(|(columns, _)| columns.iter().map(Vec::len).min()).unwrap_or(0)
    }

    /// Values of each side at each of its steps, in the order of replicates; or a finding with what is missing.
    fn columns(&self, results: &Results) -> Result<(Columns, Vec<Part>), Finding> {
        let all = rows(results);
        let of = |selector: &Table| {
            all.iter().find(|(settings, _)| settings.admits(selector)).map(|(_, series)| series)
        };
        let open = |what: String| Err(Finding::too_little(what));
        let (mut values, mut parts) = (Vec::new(), Vec::new());
        for side in &self.sides {
            let words = words(&side.selector, None);
            let (series, less) = match (of(&side.selector), side.less.as_ref().map(of)) {
                (Some(series), None) => (series, None),
                (Some(series), Some(Some(less))) => (series, Some(less)),
                _ if self.skips_absent => {
                    parts.push(Part { from: values.len(), steps: Vec::new() });
                    continue;
                }
                _ => return open(format!("no results of {words}")),
            };
            let length = series.task.length();
            if length < self.steps {
                return open(format!("fits of {length} steps; the claim is of {}", self.steps));
            }
            let part = Part { from: values.len(), steps: side.steps(series) };
            for step in &part.steps {
                let mut found = side.values(series, *step);
                if let Some(less) = less.map(|less| side.values(less, *step)) {
                    found = found.iter().filter_map(|(r, value)| Some((*r, value - less.get(r)?))).collect();
                }
                let unknown = found.values().filter(|value| value.is_nan()).count();
                if found.is_empty() || self.nan_is_infinite && 2 * unknown >= found.len() {
                    return open(format!("no {} of {words}", side.measured()));
                }
                let unknown = found.values_mut().filter(|value| self.nan_is_infinite && value.is_nan());
                unknown.for_each(|value| *value = f64::INFINITY);
                values.push(found);
            }
            if part.steps.is_empty() {
                return open(format!("no {} of {words}", side.measured()));
            }
            parts.push(part);
        }
        let is_apart = |(of, other): &(usize, Option<Other>)| match other {
            Some(Other::Side(other)) if self.curve.is_none() => {
                let [ours, theirs] = [of, other].map(|side| &parts[*side].steps);
                let is_absent = ours.is_empty() || theirs.is_empty();
                !is_absent && ours != theirs && ours.len() + theirs.len() > 2
            }
            _ => false,
        };
        if self.terms.iter().any(is_apart) {
            return open("the fits were recorded at different steps".to_owned());
        }
        let everywhere = |replicate: &u64| values.iter().all(|column| column.contains_key(replicate));
        let replicates: BTreeSet<u64> = values.iter().flat_map(BTreeMap::keys).copied().collect();
        let shared: Vec<u64> = replicates.iter().copied().filter(everywhere).collect();
        if self.is_resampled && !self.common && shared.len() < replicates.len() {
            return open("not every replicate has a value".to_owned());
        }
        if self.common && shared.len() < ENOUGH {
            return open(format!("{} common replicates", shared.len()));
        }
        if !self.is_resampled && values.iter().any(|column| column.len() < ENOUGH) {
            return open("too few fits ended".to_owned());
        }
        let kept = |column: &BTreeMap<u64, f64>| match self.common {
            true => shared.iter().filter_map(|replicate| column.get(replicate).copied()).collect(),
            false => column.values().copied().collect(),
        };
        Ok((values.iter().map(kept).collect(), parts))
    }

    /// Numbers of a side, to be compared: one for each step, for each replicate, or for the curve.
    fn summaries(&self, side: &Side, part: &Part, columns: &[Vec<f64>]) -> Vec<f64> {
        let columns = &columns[part.from..part.from + part.steps.len()];
        let summary = |column: &Vec<f64>| match self.summary {
            Summary::Mean => vec![mean(column)],
            Summary::Median => vec![median(column)],
            Summary::Each => column.clone(),
        };
        let mut summaries: Vec<f64> = columns.iter().flat_map(summary).collect();
        if let Some(curve) = self.curve.filter(|_| !part.steps.is_empty()) {
            summaries = vec![curve.of(&part.steps, &summaries)];
        }
        match side.distance_from {
            Some(place) => summaries.into_iter().map(|value| (value - place).abs()).collect(),
            None => summaries,
        }
    }

    /// Value of each term, with its place among the terms.
    fn values(&self, columns: &[Vec<f64>], parts: &[Part]) -> Vec<(usize, f64)> {
        let sides = self.sides.iter().zip(parts);
        let summaries: Vec<Vec<f64>> =
            sides.map(|(side, part)| self.summaries(side, part, columns)).collect();
        let term = |(place, (of, other)): (usize, &(usize, Option<Other>))| {
            let ours = &summaries[*of];
            let others = match other {
                Some(Other::Side(other)) => summaries[*other].clone(),
                Some(Other::Number(number)) => vec![*number; ours.len()],
                None => vec![if self.is_ratio { 1.0 } else { 0.0 }; ours.len()],
            };
            let compared = |(a, b)| if self.is_ratio { a / b } else { a - b };
            let values: Vec<f64> = ours.iter().zip(others).map(compared).collect();
            values.into_iter().map(move |value| (place, self.scaled(value)))
        };
        self.terms.iter().enumerate().flat_map(term).collect()
    }

    /// A value in units of the border of a range that it is beyond.
    fn scaled(&self, value: f64) -> f64 {
        match self.relation {
            Relation::Within(low, high) => greatest([value / high, low / value]),
            _ => value,
        }
    }

    fn is_least(&self) -> bool {
        matches!(self.relation, Relation::AtLeast(_)) != self.any
    }

    fn number(&self, columns: &[Vec<f64>], parts: &[Part]) -> f64 {
        let values = self.values(columns, parts).into_iter().map(|(_, value)| value);
        if self.is_least() { least(values) } else { greatest(values) }
    }

    /// Definition of the number, with the term that decides.
    fn words(&self, columns: &[Vec<f64>], parts: &[Part]) -> String {
        let values = self.values(columns, parts);
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
        let curve = self.curve.map_or_else(String::new, Curve::words);
        let distance =
            of.distance_from.map_or_else(String::new, |place| format!("distance from {place} of "));
        let mut text =
            format!("{distance}{curve}{summary}{} {}", of.measured(), by(&words(&of.selector, None)));
        let sign = if self.is_ratio { "over" } else { "less" };
        match other {
            None => {}
            Some(Other::Number(number)) => text.push_str(&format!(" {sign} {number}")),
            Some(Other::Side(other)) => {
                let other = &self.sides[other];
                let words = words(&other.selector, Some(&of.selector));
                let said = match other.measured() {
                    same if same == of.measured() && words.starts_with("on ") => words,
                    same if same == of.measured() => format!("of {words}"),
                    measured => format!("of {measured} {}", by(&words)),
                };
                text.push_str(format!(" {sign} that {said}").trim_end());
            }
        }
        if let Relation::Within(low, high) = self.relation {
            let [low, high] = [low, high].map(|border| (border * 1e4).round() / 1e4);
            text.push_str(&format!(", beyond [{low}, {high}] in units of the border"));
        }
        match (values.len(), self.is_least()) {
            (0 | 1, _) => text,
            (many, true) => format!("{text}, the least of {many}"),
            (many, false) => format!("{text}, the greatest of {many}"),
        }
    }
}

/// `by` before words of settings; nothing before those of a target alone, or of no settings.
fn by(words: &str) -> String {
    let is_plain = words.is_empty() || words.starts_with("on ");
    if is_plain { words.to_owned() } else { format!("by {words}") }
}

/// Columns of a side: one for each of its steps, none if there are no results.
struct Part {
    from: usize,
    steps: Vec<u64>,
}
