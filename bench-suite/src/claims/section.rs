//! The tables `[[claim]]` of an experiment's file.

use mcsa_core::Error;
use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::contrast::{Contrast, Curve, Other, Relation, Side, Summary, When};
use super::{Basis, Cause, Check, Claim, Reason};
use crate::exact::Value as Exact;
use crate::experiment::Experiment;
use crate::metric::{METRICS, Metric};
use crate::selector::{Selector, Settings, combinations};
use crate::task::Task;

/// The claims of a file; its other sections are read elsewhere.
#[derive(Debug, Deserialize)]
struct Section {
    #[serde(rename = "claims", default)]
    common: Common,
    #[serde(rename = "claim", default)]
    claims: Vec<Spanned<Row>>,
}

/// The section `[claims]`: values of keys that claims leave out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Common {
    citation: Option<String>,
    metric: Option<String>,
    #[serde(rename = "as-published")]
    as_published: Option<String>,
    at: Option<Value>,
    summary: Option<Summary>,
    compare: Option<Compare>,
    interval: Option<Interval>,
    replicates: Option<Replicates>,
    steps: Option<u64>,
    curve: Option<Curve>,
}

/// A table `[[claim]]` as written. The keys are explained in `docs/experiment-file.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Row {
    citation: Option<String>,
    sentence: String,
    check: Option<String>,
    theory: Option<String>,
    not_reproducible: Option<String>,
    reason: Option<Reason>,
    metric: Option<String>,
    as_published: Option<String>,
    at: Option<Value>,
    #[serde(rename = "where")]
    place: Option<Table>,
    of: Option<Value>,
    against: Option<Value>,
    pairs: Option<Vec<Pair>>,
    summary: Option<Summary>,
    compare: Option<Compare>,
    distance_from: Option<Exact>,
    curve: Option<Curve>,
    nan: Option<Nan>,
    absent: Option<Absent>,
    within: Option<(f64, f64)>,
    any: Option<bool>,
    interval: Option<Interval>,
    replicates: Option<Replicates>,
    steps: Option<u64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    of: Value,
    against: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compare {
    Difference,
    Ratio,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Interval {
    Paired,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Replicates {
    All,
    Common,
}

/// What a NaN counts as.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Nan {
    Infinite,
}

/// What is done with terms without results.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Absent {
    Skipped,
}

/// The claims of an experiment, in the order of its file.
///
/// # Errors
/// If a key or value is unknown, or a comparison selects no job or several; the message names file, line and key.
pub fn claims(
    file: &str,
    text: &str,
    experiment: &Experiment,
    checks: &[(&str, Check)],
) -> Result<Vec<Claim>, Error> {
    let place = |error: toml::de::Error| Error::invalid(error.to_string()).within(file);
    let section: Section = toml::from_str(text).map_err(place)?;
    let (mut planned, labels) = (Vec::new(), experiment.labels()?);
    for preset in experiment.presets.values().filter(|_| !section.claims.is_empty()) {
        let tasks = experiment.tasks(preset)?.into_iter();
        planned.push(tasks.map(|task| (Settings::of(&task, &labels), task)).collect());
    }
    let claim = |(number, row): (usize, Spanned<Row>)| {
        let line = 1 + text[..row.span().start].matches('\n').count();
        let place =
            |error: Error| error.within(format!("[[claim]] number {number}, line {line}")).within(file);
        row.into_inner().claim(&section.common, experiment, &planned, checks).map_err(place)
    };
    (1..).zip(section.claims).map(claim).collect()
}

type Planned = [Vec<(Settings, Task)>];

impl Row {
    fn claim(
        mut self,
        common: &Common,
        experiment: &Experiment,
        planned: &Planned,
        checks: &[(&str, Check)],
    ) -> Result<Claim, Error> {
        let invalid = |reason: String| Err(Error::invalid(reason));
        let compared = self.compared();
        let basis = match (&self.check, &self.theory, &self.not_reproducible) {
            (None, None, None) => {
                self.complete(common);
                let contrast = self.contrast(experiment, planned)?;
                match self.as_published.take() {
                    None => Basis::Contrast(contrast),
                    published => {
                        self.metric = published;
                        Basis::Corrected {
                            published: self.contrast(experiment, planned)?,
                            corrected: contrast,
                        }
                    }
                }
            }
            _ if !compared.is_empty() => {
                return invalid(format!(
                    "{} belongs to a comparison, which this claim is not",
                    compared.join(", ")
                ));
            }
            (Some(name), None, None) => match checks.iter().find(|(known, _)| known == name) {
                Some((_, check)) => Basis::Check(name.clone(), *check),
                None => {
                    return invalid(format!("check = {name:?}: the experiment has no check of this name"));
                }
            },
            (None, Some(id), None) => match mcsa_theory::claims::all().iter().any(|claim| claim.id == *id) {
                true => Basis::Theory(id.clone()),
                false => {
                    return invalid(format!(
                        "theory = {id:?}: no such claim; `mcsa-bench theory` lists them"
                    ));
                }
            },
            (None, None, Some(why)) => Basis::NotReproducible(why.clone()),
            _ => return invalid("only one of check, theory and not-reproducible can be given".to_owned()),
        };
        let citation = self.citation.or_else(|| common.citation.clone());
        let reason = self.reason.or_else(|| match &basis {
            Basis::Theory(id) => Some(Reason {
                cause: Cause::Paper,
                why: "its statement has an exact counterexample on a finite problem".to_owned(),
                by: Some(format!("theory {id}")),
            }),
            _ => None,
        });
        if let Some(Reason { cause, by, .. }) = &reason
            && (*cause == Cause::Open) != by.is_none()
        {
            return invalid(
                "reason: `by` names what decides the cause; an open cause alone has none".to_owned(),
            );
        }
        let citation = citation.unwrap_or_else(|| "ours".to_owned());
        Ok(Claim { citation, sentence: self.sentence, basis, reason })
    }

    /// Fills in common values for keys that are left out.
    fn complete(&mut self, common: &Common) {
        if self.metric.is_none() {
            self.as_published = self.as_published.take().or_else(|| common.as_published.clone());
        }
        self.metric = self.metric.take().or_else(|| common.metric.clone());
        self.at = self.at.take().or_else(|| common.at.clone());
        self.summary = self.summary.or(common.summary);
        self.compare = self.compare.or(common.compare);
        self.interval = self.interval.or(common.interval);
        self.replicates = self.replicates.or(common.replicates);
        self.steps = self.steps.or(common.steps);
        self.curve = self.curve.or(common.curve);
    }

    /// Names of the given keys that belong to comparisons.
    fn compared(&self) -> Vec<&'static str> {
        let all = [
            ("metric", self.metric.is_some()),
            ("as-published", self.as_published.is_some()),
            ("at", self.at.is_some()),
            ("where", self.place.is_some()),
            ("of", self.of.is_some()),
            ("against", self.against.is_some()),
            ("pairs", self.pairs.is_some()),
            ("summary", self.summary.is_some()),
            ("compare", self.compare.is_some()),
            ("distance-from", self.distance_from.is_some()),
            ("curve", self.curve.is_some()),
            ("nan", self.nan.is_some()),
            ("absent", self.absent.is_some()),
            ("within", self.within.is_some()),
            ("any", self.any.is_some()),
            ("interval", self.interval.is_some()),
            ("replicates", self.replicates.is_some()),
            ("steps", self.steps.is_some()),
            ("at-least", self.at_least.is_some()),
            ("at-most", self.at_most.is_some()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    fn contrast(&self, experiment: &Experiment, planned: &Planned) -> Result<Contrast, Error> {
        let relation = match (self.at_least, self.at_most, self.within) {
            (Some(border), None, None) => Relation::AtLeast(border),
            (None, Some(border), None) => Relation::AtMost(border),
            (None, None, Some((low, high))) if 0.0 < low && low < high => Relation::Within(low, high),
            (None, None, Some(_)) => {
                return Err(Error::invalid("within = [low, high] needs positive numbers, the lower first"));
            }
            _ => return Err(Error::invalid("exactly one of at-least, at-most and within is needed")),
        };
        let borders = [self.at_least, self.at_most, self.within.map(|(_, high)| high)];
        if let Some(border) = borders.into_iter().flatten().find(|border| !border.is_finite()) {
            return Err(Error::invalid(format!("a border is {border}, expected finite")));
        }
        let pairs: Vec<(&Value, Option<&Value>)> = match (&self.of, &self.pairs) {
            (Some(of), None) => vec![(of, self.against.as_ref())],
            (None, Some(pairs)) if self.against.is_none() && !pairs.is_empty() => {
                pairs.iter().map(|pair| (&pair.of, Some(&pair.against))).collect()
            }
            _ => {
                return Err(Error::invalid(
                    "either of, with or without against, or a list of pairs is needed",
                ));
            }
        };
        let mut contrast = Contrast {
            sides: Vec::new(),
            terms: Vec::new(),
            relation,
            summary: self.summary.unwrap_or(Summary::Median),
            is_ratio: self.compare == Some(Compare::Ratio),
            curve: self.curve,
            any: self.any == Some(true),
            nan_is_infinite: self.nan.is_some(),
            skips_absent: self.absent.is_some(),
            is_resampled: self.interval != Some(Interval::None),
            common: self.replicates == Some(Replicates::Common),
            steps: self.steps.unwrap_or(0),
        };
        if contrast.curve.is_some() && (self.at.is_some() || contrast.summary == Summary::Each) {
            return Err(Error::invalid("a curve is of all steps and of a mean or median: it has no `at`"));
        }
        if contrast.is_resampled && contrast.summary == Summary::Each {
            return Err(Error::invalid(
                "summary = \"each\" compares single replicates: it needs interval = \"none\"",
            ));
        }
        for place in combinations(self.place.as_ref().unwrap_or(&Table::new())) {
            for (of, against) in &pairs {
                self.add(&mut contrast, &place, of, *against)?;
            }
        }
        for side in &contrast.sides {
            side.check(experiment, planned)?;
        }
        match contrast.terms.is_empty() {
            true => Err(Error::invalid("of and against are the same: nothing is compared")),
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
                let reason =
                    format!("{key} = {other}: a kind of method, a table of settings or a list is needed");
                return Err(Error::invalid(reason));
            }
        };
        combinations(&table).into_iter().map(|table| self.side(key, place, table)).collect()
    }

    fn side(&self, key: &str, place: &Table, own: Table) -> Result<Side, Error> {
        let mut settings = place.clone();
        settings.extend(own);
        let metric = match settings.remove("metric") {
            Some(Value::String(name)) => Some(name),
            Some(other) => return Err(Error::invalid(format!("{key}.metric = {other}: a name is needed"))),
            None => self.metric.clone(),
        };
        let metric = metric.ok_or_else(|| Error::invalid("the key metric is missing"))?;
        if Metric::named(&metric).is_none() {
            let known = METRICS.iter().map(|metric| metric.name).collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(format!(
                "{key}.metric = {metric:?} is not a metric; these are: {known}"
            )));
        }
        let at = match settings.remove("at").as_ref().or(self.at.as_ref()) {
            None if self.curve.is_some() => When::Steps(0, u64::MAX),
            None => When::End,
            Some(Value::String(word)) if word == "always" => When::Steps(0, u64::MAX),
            Some(Value::Table(table)) => match (table.get("from"), table.get("to"), table.len()) {
                (Some(Value::Integer(from)), Some(Value::Integer(to)), 2) if 0 <= *from && from <= to => {
                    When::Steps(from.unsigned_abs(), to.unsigned_abs())
                }
                _ => return Err(Error::invalid("at: a range is { from = 0, to = 2000 }")),
            },
            Some(Value::String(word)) if word == "end" => When::End,
            Some(Value::Integer(step)) if *step >= 0 => When::Step(step.unsigned_abs()),
            Some(other) => {
                return Err(Error::invalid(format!(
                    "at = {other}: a step, a range, \"always\" or \"end\" is needed"
                )));
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
                Some(Selector(less))
            }
            Some(other) => {
                return Err(Error::invalid(format!("{key}.less = {other}: a table of settings is needed")));
            }
            None => None,
        };
        Ok(Side { selector: Selector(settings), metric, at, distance_from, less })
    }
}

/// A number or the name of an exact value.
fn exact(value: &Value) -> Result<f64, Error> {
    let known = Exact::deserialize(value.clone());
    known
        .map_err(|_| Error::invalid(format!("{value}: a number or the name of an exact value is needed")))?
        .number()
}
