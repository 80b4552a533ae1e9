//! The tables `[[claim]]` of an experiment's file.

use mcsa_core::Error;
use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::contrast::{Contrast, Curve, Other, Relation, Side, Summary, When};
use super::{Basis, Cause, Check, Claim, Reason};
use crate::exact::Value as Exact;
use crate::experiment::Experiment;
use crate::metric::{self, METRICS};
use crate::outline::outline;
use crate::selector::{Settings, combinations};
use crate::task::Task;

/// The claims of a file; its other sections are read elsewhere.
#[derive(Debug, Deserialize)]
struct Section<T> {
    #[serde(rename = "claims", default)]
    common: T,
    #[serde(rename = "claim", default = "Vec::new")]
    claims: Vec<Spanned<T>>,
}

/// A table `[[claim]]` as written, or the section `[claims]`: values of keys that claims leave out. The keys are explained in
/// `docs/book/src/experiment-file.md`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Row {
    citation: Option<String>,
    metric: Option<String>,
    as_published: Option<String>,
    at: Option<Value>,
    summary: Option<Summary>,
    compare: Option<Compare>,
    interval: Option<Interval>,
    replicates: Option<Replicates>,
    steps: Option<u64>,
    curve: Option<Curve>,
    sentence: Option<String>,
    check: Option<String>,
    theory: Option<String>,
    not_reproducible: Option<String>,
    reason: Option<Reason>,
    headline: Option<usize>,
    #[serde(rename = "where")]
    place: Table,
    of: Option<Value>,
    against: Option<Value>,
    pairs: Option<Vec<Pair>>,
    distance_from: Option<Exact>,
    nan: Option<Nan>,
    absent: Option<Absent>,
    within: Option<(f64, f64)>,
    any: bool,
    at_least: Option<f64>,
    at_most: Option<f64>,
}

/// Keys that do not belong to comparisons.
const OTHERS: [&str; 7] =
    ["citation", "sentence", "check", "theory", "not-reproducible", "reason", "headline"];

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    of: Value,
    against: Value,
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $($word:ident)|*;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
            #[serde(rename_all = "kebab-case")]
            enum $name { $($word),* }
        )*
    };
}

words! {
    Compare: Difference | Ratio;
    Interval: Paired | None;
    Replicates: All | Common;
    /// What a NaN counts as.
    Nan: Infinite;
    /// What is done with terms without results.
    Absent: Skipped;
}

fn invalid<T>(reason: impl Into<String>) -> Result<T, Error> {
    Err(Error::invalid(reason))
}

/// The claims of an experiment, in the order of its file.
///
/// # Errors
/// If a key or value is unknown, or a comparison selects no job or several; the message names file, line and key.
pub fn claims(
    file: &str,
    text: &str,
    experiment: &Experiment,
    checks: &[&[(&str, Check)]],
) -> Result<Vec<Claim>, Error> {
    let place = |error: toml::de::Error| Error::invalid(error.to_string()).within(file);
    // Faults of single keys are named with their lines; then claims are completed, and read again.
    toml::from_str::<Section<Row>>(text).map_err(place)?;
    let section: Section<Table> = toml::from_str(text).map_err(place)?;
    let (mut planned, labels) = (Vec::new(), experiment.labels());
    for preset in experiment.presets.values().filter(|_| !section.claims.is_empty()) {
        let tasks = experiment.tasks(preset)?.into_iter();
        planned.push(tasks.map(|task| (Settings::of(&task, &labels), task)).collect());
    }
    let claim = |(number, row): (usize, Spanned<Table>)| {
        let line = 1 + text[..row.span().start].matches('\n').count();
        let place =
            |error: Error| error.within(format!("[[claim]] number {number}, line {line}")).within(file);
        claim(row.into_inner(), section.common.clone(), experiment, &planned, checks).map_err(place)
    };
    (1..).zip(section.claims).map(claim).collect()
}

type Planned = [Vec<(Settings, Task)>];

/// The claim of a table, in which common values are filled in for keys that are left out.
fn claim(
    own: Table,
    mut common: Table,
    experiment: &Experiment,
    planned: &Planned,
    checks: &[&[(&str, Check)]],
) -> Result<Claim, Error> {
    let compared: Vec<&str> = own.keys().map(String::as_str).filter(|key| !OTHERS.contains(key)).collect();
    let compared = compared.join(", ");
    if own.contains_key("metric") {
        common.remove("as-published");
    }
    common.extend(own);
    let read = Row::deserialize(Value::Table(common));
    let mut row = read.map_err(|error| Error::invalid(error.message().to_owned()))?;
    let basis = match (&row.check, &row.theory, &row.not_reproducible) {
        (None, None, None) => {
            let contrast = row.contrast(experiment, planned)?;
            match row.as_published.take() {
                None => Basis::Contrast(contrast),
                published => {
                    row.metric = published;
                    let published = row.contrast(experiment, planned)?;
                    Basis::Corrected { published, corrected: contrast }
                }
            }
        }
        _ if !compared.is_empty() => {
            return invalid(format!("{compared} belongs to a comparison, which this claim is not"));
        }
        (Some(name), None, None) => match checks.iter().copied().flatten().find(|(known, _)| known == name) {
            Some((_, check)) => Basis::Check(*check),
            None => return invalid(format!("check = {name:?}: the experiment has no check of this name")),
        },
        (None, Some(id), None) if mcsa_theory::claims::all().iter().any(|claim| claim.id == *id) => {
            Basis::Theory(id.clone())
        }
        (None, Some(id), None) => {
            return invalid(format!("theory = {id:?}: no such claim; `mcsa-bench theory` lists them"));
        }
        (None, None, Some(why)) => Basis::NotReproducible(why.clone()),
        _ => return invalid("only one of check, theory and not-reproducible can be given"),
    };
    let reason = row.reason.or_else(|| match &basis {
        Basis::Theory(id) => Some(Reason {
            cause: Cause::Paper,
            why: "Its statement has an exact counterexample on a finite problem.".to_owned(),
            by: Some(format!("theory {id}")),
        }),
        _ => None,
    });
    if let Some(Reason { cause, by, .. }) = &reason
        && (*cause == Cause::Open) != by.is_none()
    {
        return invalid("reason: `by` names what decides the cause; an open cause alone has none");
    }
    let citation = row.citation.unwrap_or_else(|| "ours".to_owned());
    let sentence = row.sentence.ok_or_else(|| Error::invalid("missing field `sentence`"))?;
    let count = outline().paper_of(&citation).map_or(0, |paper| paper.headlines.len());
    match row.headline {
        Some(number) if !(1..=count).contains(&number) => {
            invalid(format!("headline = {number}: the paper of {citation:?} has {count} headlines"))
        }
        headline => Ok(Claim { citation, sentence, basis, reason, headline }),
    }
}

impl Row {
    fn contrast(&self, experiment: &Experiment, planned: &Planned) -> Result<Contrast, Error> {
        let relation = match (self.at_least, self.at_most, self.within) {
            (Some(border), None, None) => Relation::AtLeast(border),
            (None, Some(border), None) => Relation::AtMost(border),
            (None, None, Some((low, high))) if 0.0 < low && low < high => Relation::Within(low, high),
            (None, None, Some(_)) => {
                return invalid("within = [low, high] needs positive numbers, the lower first");
            }
            _ => return invalid("exactly one of at-least, at-most and within is needed"),
        };
        let borders = [self.at_least, self.at_most, self.within.map(|(_, high)| high)];
        if let Some(border) = borders.into_iter().flatten().find(|border| !border.is_finite()) {
            return invalid(format!("a border is {border}, expected finite"));
        }
        let pairs: Vec<(&Value, Option<&Value>)> = match (&self.of, &self.pairs) {
            (Some(of), None) => vec![(of, self.against.as_ref())],
            (None, Some(pairs)) if self.against.is_none() && !pairs.is_empty() => {
                pairs.iter().map(|pair| (&pair.of, Some(&pair.against))).collect()
            }
            _ => return invalid("either of, with or without against, or a list of pairs is needed"),
        };
        let mut contrast = Contrast {
            sides: Vec::new(),
            terms: Vec::new(),
            relation,
            summary: self.summary.unwrap_or(Summary::Median),
            is_ratio: self.compare == Some(Compare::Ratio),
            curve: self.curve,
            any: self.any,
            nan_is_infinite: self.nan.is_some(),
            skips_absent: self.absent.is_some(),
            is_resampled: self.interval != Some(Interval::None),
            common: self.replicates == Some(Replicates::Common),
            steps: self.steps.unwrap_or(0),
        };
        if contrast.curve.is_some() && (self.at.is_some() || contrast.summary == Summary::Each) {
            return invalid("a curve is of all steps and of a mean or median: it has no `at`");
        }
        if contrast.is_resampled && contrast.summary == Summary::Each {
            return invalid("summary = \"each\" compares single replicates: it needs interval = \"none\"");
        }
        for place in combinations(&self.place) {
            for (of, against) in &pairs {
                self.add(&mut contrast, &place, of, *against)?;
            }
        }
        for side in &contrast.sides {
            side.check(experiment, planned)?;
        }
        match contrast.terms.is_empty() {
            true => invalid("of and against are the same: nothing is compared"),
            false => Ok(contrast),
        }
    }

    /// Adds the terms of one pair of operands at one place.
    fn add(
        &self,
        contrast: &mut Contrast,
        place: &Table,
        of: &Value,
        against: Option<&Value>,
    ) -> Result<(), Error> {
        let ours = self.sides("of", place, of)?;
        let others: Vec<Option<Other>> = match against {
            None => vec![None],
            Some(Value::Float(number)) => vec![Some(Other::Number(*number))],
            Some(Value::Integer(number)) => vec![Some(Other::Number(*number as f64))],
            Some(Value::Table(table)) if table.len() == 1 && table.contains_key("exact") => {
                vec![Some(Other::Number(exact(&table["exact"])?))]
            }
            Some(sides) => {
                let sides = self.sides("against", place, sides)?.into_iter();
                sides.map(|side| Some(Other::Side(contrast.place_of(side)))).collect()
            }
        };
        for side in ours {
            let side = contrast.place_of(side);
            // A side does not differ from itself.
            let others = others.iter().filter(|other| **other != Some(Other::Side(side)));
            contrast.terms.extend(others.map(|other| (side, *other)));
        }
        Ok(())
    }

    /// Sides of an operand: a word is a kind of method, a list stands for each of its members.
    fn sides(&self, key: &str, place: &Table, operand: &Value) -> Result<Vec<Side>, Error> {
        let table = match operand {
            Value::String(kind) => Table::from_iter([("method".to_owned(), Value::String(kind.clone()))]),
            Value::Table(table) => table.clone(),
            Value::Array(members) if !members.is_empty() => {
                let sides = members.iter().map(|member| self.sides(key, place, member));
                return Ok(sides.collect::<Result<Vec<_>, _>>()?.concat());
            }
            other => {
                return invalid(format!(
                    "{key} = {other}: a kind of method, a table of settings or a list is needed"
                ));
            }
        };
        combinations(&table).into_iter().map(|table| self.side(key, place, table)).collect()
    }

    fn side(&self, key: &str, place: &Table, own: Table) -> Result<Side, Error> {
        let mut settings = place.clone();
        settings.extend(own);
        let metric = match settings.remove("metric") {
            Some(Value::String(name)) => Some(name),
            Some(other) => return invalid(format!("{key}.metric = {other}: a name is needed")),
            None => self.metric.clone(),
        };
        let metric = metric.ok_or_else(|| Error::invalid("the key metric is missing"))?;
        if metric::metric(&metric).is_none() {
            let known = METRICS.join(", ");
            return invalid(format!("{key}.metric = {metric:?} is not a metric; these are: {known}"));
        }
        let at = match settings.remove("at").as_ref().or(self.at.as_ref()) {
            None if self.curve.is_some() => When::Steps(0, u64::MAX),
            None => When::End,
            Some(Value::String(word)) if word == "always" => When::Steps(0, u64::MAX),
            Some(Value::Table(table)) => match (table.get("from"), table.get("to"), table.len()) {
                (Some(Value::Integer(from)), Some(Value::Integer(to)), 2) if 0 <= *from && from <= to => {
                    When::Steps(from.unsigned_abs(), to.unsigned_abs())
                }
                _ => return invalid("at: a range is { from = 0, to = 2000 }"),
            },
            Some(Value::String(word)) if word == "end" => When::End,
            Some(Value::Integer(step)) if *step >= 0 => When::Step(step.unsigned_abs()),
            Some(other) => {
                return invalid(format!("at = {other}: a step, a range, \"always\" or \"end\" is needed"));
            }
        };
        let distance_from = match settings.remove("distance-from") {
            Some(place) => Some(exact(&place)?),
            None => self.distance_from.as_ref().map(Exact::number).transpose()?,
        };
        let less = match settings.remove("less") {
            Some(Value::Table(other)) => {
                let mut less = settings.clone();
                less.extend(other);
                Some(less)
            }
            Some(other) => return invalid(format!("{key}.less = {other}: a table of settings is needed")),
            None => None,
        };
        Ok(Side { selector: settings, metric, at, distance_from, less })
    }
}

/// A number or the name of an exact value.
fn exact(value: &Value) -> Result<f64, Error> {
    let known = Exact::deserialize(value.clone());
    known
        .map_err(|_| Error::invalid(format!("{value}: a number or the name of an exact value is needed")))?
        .number()
}
