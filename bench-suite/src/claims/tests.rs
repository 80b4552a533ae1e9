//! Every contrast of every experiment on both sides of its border and without the results that it needs, and synthetic results
//! for the tests of other checks.

use std::path::Path;

use super::contrast::{Contrast, Curve, Other, Relation, Side, Summary, When};
use super::{Basis, Finding, Verdict, mean, median};
use crate::experiment::{Experiment, Preset, PresetName};
use crate::metric::metric;
use crate::registry::{Entry, REGISTRY};
use crate::results::Results;
use crate::selector::Settings;
use crate::store::{Ended, Outcome, Row, code_of};
use crate::tables::in_groups;
use crate::task::{Job, Task};

pub(crate) fn entry(id: &str) -> Entry {
    REGISTRY.iter().find(|entry| entry.file == format!("papers/{id}.toml")).unwrap().clone()
}

/// Results of an experiment: rows by task, replicate and step.
pub(crate) fn results(
    id: &str,
    preset: PresetName,
    rows: impl Fn(&Task, u64, u64) -> Vec<(&'static str, f64)>,
) -> Results {
    Results::synthetic(entry(id).experiment().unwrap(), preset, rows)
}

/// Verdicts on the claims that are checked in Rust.
pub(crate) fn verdicts(results: &Results) -> Vec<Verdict> {
    let claims = entry(&results.experiment.id).claims(&results.experiment).unwrap();
    let checked = claims.iter().filter(|claim| matches!(claim.basis, Basis::Check(..)));
    checked.map(|claim| claim.find(results).verdict).collect()
}

/// Verdicts on the claims of an experiment that are checked in Rust, on synthetic results.
pub(crate) fn checks(
    id: &str,
    preset: PresetName,
    rows: impl Fn(&Task, u64, u64) -> Vec<(&'static str, f64)>,
) -> Vec<Verdict> {
    verdicts(&results(id, preset, rows))
}

const REPLICATES: u64 = 5;
/// Distance from the border, in the units of a difference.
const MARGIN: f64 = 1e-3;
const NOISE: f64 = 1e-6;

/// A contrast with the task of each of its sides. Absent data matter not: rows are synthetic.
struct Scene<'c> {
    experiment: &'c Experiment,
    contrast: &'c Contrast,
    tasks: Vec<Task>,
}

impl<'c> Scene<'c> {
    fn of(experiment: &'c Experiment, contrast: &'c Contrast) -> Self {
        let found = |preset: &Preset| {
            let labels = experiment.labels();
            let all = experiment.tasks(preset).unwrap();
            let is_long = |task: &&Task| task.length() >= contrast.steps;
            let task = |side: &Side| {
                all.iter()
                    .filter(is_long)
                    .find(|task| Settings::of(task, &labels).admits(&side.selector))
                    .cloned()
            };
            contrast.sides.iter().map(task).collect::<Option<Vec<Task>>>()
        };
        let tasks = experiment.presets.values().rev().find_map(found).expect("some preset has every side");
        Self { experiment, contrast, tasks }
    }

    /// Results in which the side `k` has the summary `summaries[k]`, up to noise, and what it is less has zeros.
    fn results(&self, summaries: &[f64], noise: f64) -> Results {
        let sides = self.contrast.sides.iter().zip(&self.tasks).enumerate().flat_map(|(k, (side, task))| {
            let recorded = task.recorded();
            let steps = match side.at {
                When::Step(step) => vec![step],
                When::End => recorded[recorded.len() - 1..].to_vec(),
                When::Steps(from, to) => {
                    recorded.into_iter().filter(|step| (from..=to).contains(step)).collect()
                }
            };
            let zero = side.less.as_ref().map(|less| self.selected(less, task.length()));
            let zero = zero.map(|zero| (zero, (k, side, steps.clone(), true)));
            [(task.clone(), (k, side, steps, false))].into_iter().chain(zero)
        });
        let value = |k: usize, side: &Side, steps: &[u64], replicate: u64, step: u64| {
            let sign = if (replicate + k as u64).is_multiple_of(2) { 1.0 } else { -1.0 };
            let value = summaries[k] + sign * noise * (1 + replicate) as f64;
            match (self.contrast.curve, side.distance_from) {
                (Some(curve), _) => synthetic(curve, value, step, steps),
                (_, Some(place)) => place + value,
                _ if self.is_log() => value.exp(),
                _ => value,
            }
        };
        let mut results = Results::none(self.experiment.clone(), self.preset());
        for (task, sides) in in_groups(sides) {
            for replicate in 0..REPLICATES {
                let row = |step: u64| {
                    let here = sides.iter().filter(|(_, _, steps, _)| steps.contains(&step));
                    let values = here.map(|(k, side, steps, is_zero)| {
                        let name = metric(&side.metric).expect("a known metric");
                        (name, if *is_zero { 0.0 } else { value(*k, side, steps, replicate, step) })
                    });
                    Row::new(step, values)
                };
                let rows =
                    task.recorded().into_iter().map(row).filter(|row| !row.values.is_empty()).collect();
                let (experiment, seed) =
                    (self.experiment.id.clone(), self.experiment.seed().child(replicate));
                let job =
                    Job { experiment, seeded_as: None, task: task.clone(), data: None, replicate, seed };
                let (ended, code) = (Ended::default(), code_of(&job).to_owned());
                results.outcomes.push(Outcome {
                    job,
                    rows,
                    ended,
                    unit: String::new(),
                    code,
                    confirmed: None,
                    date: None,
                });
            }
        }
        results
    }

    /// The task of some length that has some settings.
    fn selected(&self, selector: &toml::Table, length: u64) -> Task {
        let presets = self.experiment.presets.values();
        let mut all = presets.flat_map(|preset| self.experiment.tasks(preset).unwrap());
        let labels = self.experiment.labels();
        let is_it = |task: &Task| Settings::of(task, &labels).admits(selector) && task.length() == length;
        all.find(is_it).unwrap()
    }

    fn preset(&self) -> PresetName {
        *self.experiment.presets.keys().next().unwrap()
    }

    fn verdict(&self, summaries: &[f64]) -> Verdict {
        self.contrast.find(&self.results(summaries, NOISE)).verdict
    }

    /// Returns true if terms are compared on a logarithmic scale.
    fn is_log(&self) -> bool {
        self.contrast.is_ratio || matches!(self.contrast.relation, Relation::Within(..))
    }

    /// Values of a term for which the claim holds, with a margin.
    fn claimed(&self) -> (f64, f64) {
        let scaled = |number: f64| if self.is_log() { number.ln() } else { number };
        match self.contrast.relation {
            Relation::AtLeast(border) => (scaled(border) + MARGIN, f64::INFINITY),
            Relation::AtMost(border) => (f64::NEG_INFINITY, scaled(border) - MARGIN),
            Relation::Within(low, high) => (low.ln() + MARGIN, high.ln() - MARGIN),
        }
    }

    fn value(&self, term: usize, summaries: &[f64]) -> f64 {
        let (of, other) = self.contrast.terms[term];
        summaries[of]
            - match other {
                None => 0.0,
                Some(Other::Number(number)) if self.is_log() => number.ln(),
                Some(Other::Number(number)) => number,
                Some(Other::Side(other)) => summaries[other],
            }
    }

    /// Change of a term that brings it to the claimed side; 0 if it is there.
    fn lack(&self, term: usize, summaries: &[f64]) -> f64 {
        let (value, (low, high)) = (self.value(term, summaries), self.claimed());
        (low - value).max(0.0) + (high - value).min(0.0)
    }

    /// Changes a term by changing its sides.
    fn mend(&self, term: usize, change: f64, summaries: &mut [f64]) {
        match self.contrast.terms[term] {
            (of, Some(Other::Side(other))) => {
                summaries[of] += 0.5 * change;
                summaries[other] -= 0.5 * change;
            }
            (of, _) => summaries[of] += change,
        }
    }

    /// Summaries for which every term is on the claimed side.
    fn held(&self) -> Vec<f64> {
        let start = match self.contrast.terms[0].1 {
            Some(Other::Number(number)) if !self.is_log() => number,
            _ if self.contrast.sides.iter().any(|side| side.distance_from.is_some()) => 100.0,
            _ => 0.0,
        };
        let mut summaries = vec![start; self.tasks.len()];
        for _ in 0..100_000 {
            let lacks = (0..self.contrast.terms.len()).map(|term| (term, self.lack(term, &summaries)));
            let worst = lacks.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
            if worst.1 == 0.0 {
                return summaries;
            }
            self.mend(worst.0, worst.1 + worst.1.signum() * 0.1 * MARGIN, &mut summaries);
        }
        panic!("the terms contradict each other: {:?}", self.contrast);
    }

    /// A curve is early or late: a claim that it is late, or later than another, holds, fails and abstains.
    fn curve_holds_fails_and_abstains(&self) {
        use Verdict::{Agree, Disagree, TooLittle};
        let is_later = matches!(self.contrast.relation, Relation::AtLeast(_));
        let ends = |is_late: bool| {
            let mut sides = vec![if is_late { 0.0 } else { 1.0 }; self.tasks.len()];
            self.contrast.terms.iter().for_each(|(of, _)| sides[*of] = if is_late { 1.0 } else { 0.0 });
            sides
        };
        assert_eq!(self.verdict(&ends(is_later)), Agree, "{:?}", self.contrast);
        assert_eq!(self.verdict(&ends(!is_later)), Disagree, "{:?}", self.contrast);
        assert_eq!(self.verdict(&vec![f64::NAN; self.tasks.len()]), TooLittle, "{:?}", self.contrast);
        let mut results = self.results(&ends(is_later), NOISE);
        results.outcomes.retain(|outcome| outcome.job.task != self.tasks[0]);
        assert_eq!(self.contrast.find(&results).verdict, TooLittle, "{:?}", self.contrast);
    }

    fn holds_fails_and_abstains(&self) {
        use Verdict::{Agree, Disagree, TooLittle};
        if self.contrast.curve.is_some() {
            return self.curve_holds_fails_and_abstains();
        }
        let (contrast, held) = (self.contrast, self.held());
        assert_eq!(self.verdict(&held), Agree, "{contrast:?}");
        // Each term fails alone; of a claim that one term suffices for, all do.
        let mut all = held.clone();
        for term in 0..contrast.terms.len() {
            let mut failed = held.clone();
            for summaries in [&mut failed, &mut all] {
                let (value, (low, high)) = (self.value(term, summaries), self.claimed());
                let failing = if low.is_finite() { low - 2.0 * MARGIN } else { high + 2.0 * MARGIN };
                self.mend(term, failing - value, summaries);
            }
            assert!(contrast.any || self.verdict(&failed) == Disagree, "{term} {contrast:?}");
        }
        assert!(!contrast.any || self.verdict(&all) == Disagree, "{contrast:?}");
        // Luck, missing numbers, missing methods, missing replicates, short fits.
        if contrast.is_resampled {
            assert_ne!(contrast.find(&self.results(&held, 50.0)).verdict, Agree, "{contrast:?}");
        }
        assert_eq!(self.verdict(&vec![f64::NAN; held.len()]), TooLittle, "{contrast:?}");
        for task in self.tasks.iter().filter(|_| !contrast.skips_absent) {
            let mut results = self.results(&held, NOISE);
            results.outcomes.retain(|outcome| outcome.job.task != *task);
            assert_eq!(contrast.find(&results).verdict, TooLittle, "{contrast:?}");
            let mut results = self.results(&held, NOISE);
            results.outcomes.retain(|outcome| outcome.job.task != *task || outcome.job.replicate != 1);
            let is_open =
                contrast.is_resampled && !contrast.common && self.tasks.iter().any(|other| other != task);
            let expected = if is_open { TooLittle } else { Agree };
            assert_eq!(contrast.find(&results).verdict, expected, "{contrast:?}");
        }
        if contrast.steps > 0 {
            let mut results = self.results(&held, NOISE);
            for outcome in &mut results.outcomes {
                *outcome.job.task.length_mut() = contrast.steps - 1;
            }
            assert_eq!(contrast.find(&results).verdict, TooLittle, "{contrast:?}");
        }
    }
}

fn example() -> Entry {
    Entry::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_experiment.toml")).unwrap()
}

/// A trace whose number is early or zero for 0, late or large for 1, between a start and an end.
fn synthetic(curve: Curve, late: f64, step: u64, steps: &[u64]) -> f64 {
    let place = steps.iter().position(|known| *known == step).unwrap();
    let change = if late > 0.5 { steps.len() - 1 } else { 1 };
    match curve {
        _ if late.is_nan() => f64::NAN,
        Curve::HalfTime if place < change => 1.0,
        Curve::HalfTime => 0.4,
        Curve::Rise => 1.0 + if place == steps.len() / 2 { late } else { 0.0 },
        Curve::ReachesWithin(margin) | Curve::StaysWithin(margin) if place < change => -9.0 * margin,
        _ => 0.0,
    }
}

#[test]
fn what_luck_could_do_is_not_evidence() {
    let verdict = |column: &[f64], threshold| {
        Finding::at_least_of(&[column.to_vec()], |columns| mean(&columns[0]), threshold, "mean").verdict
    };
    let column = [0.9, 1.0, 1.1, 0.8, 1.2];
    assert_eq!(verdict(&column, 0.5), Verdict::Agree);
    assert_eq!(verdict(&column, 1.5), Verdict::Disagree);
    assert_eq!(verdict(&column, 1.0), Verdict::TooLittle);
    assert_eq!(verdict(&[], 1.0), Verdict::TooLittle);
    assert_eq!(verdict(&[f64::NAN, 1.0], 0.0), Verdict::TooLittle);
    let at_most = |threshold| {
        let columns = [column.to_vec()];
        Finding::of_resampled(&columns, |c| median(&c[0]), threshold, "", Finding::at_most).verdict
    };
    assert_eq!([0.5, 1.0, 1.5].map(at_most), [Verdict::Disagree, Verdict::TooLittle, Verdict::Agree]);
}

/// Curves by hand: halved at step 20, with a rise of 3, within 2 below the end from step 20 and for good from step 30.
#[test]
fn curves_are_those_of_the_definition() {
    let of = |curve: Curve| curve.of(&[0, 10, 20, 30], &[10.0, 6.0, 4.0, 7.0]);
    assert_eq!(of(Curve::HalfTime), 20.0);
    assert_eq!(of(Curve::Rise), 0.3);
    assert_eq!(of(Curve::ReachesWithin(1.5)), 0.0);
    assert_eq!(of(Curve::StaysWithin(1.5)), 30.0);
    assert_eq!(of(Curve::StaysWithin(3.5)), 0.0);
    assert_eq!(Curve::HalfTime.of(&[0, 10], &[1.0, 0.9]), f64::INFINITY);
    assert!(
        Curve::HalfTime.of(&[0], &[f64::NAN]).is_nan()
            && Curve::StaysWithin(1.0).of(&[0, 1], &[0.0, f64::NAN]).is_nan()
    );
}

#[test]
fn every_contrast_holds_fails_and_abstains() {
    let mut count = 0;
    for entry in REGISTRY.iter().cloned().chain([example()]) {
        let experiment = entry.experiment().unwrap();
        for claim in entry.claims(&experiment).unwrap() {
            let contrasts = match &claim.basis {
                Basis::Contrast(contrast) => vec![contrast],
                Basis::Corrected { published, corrected } => vec![published, corrected],
                _ => Vec::new(),
            };
            for contrast in contrasts {
                Scene::of(&experiment, contrast).holds_fails_and_abstains();
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count}");
}

/// A contrast with these keys on a target of the example.
fn contrast_of(keys: &str) -> (Experiment, Contrast) {
    let entry = example();
    let experiment = entry.experiment().unwrap();
    let (head, _) = entry.text.split_once("[claims]").unwrap();
    let text = format!(
        "{head}[[claim]]\nsentence = 's'\nmetric = 'kl'\nwhere = {{ target = 'diagonal-gaussian' }}\n{keys}"
    );
    match super::claims("x.toml", &text, &experiment, &[]).unwrap().remove(0).basis {
        Basis::Contrast(contrast) => (experiment, contrast),
        _ => panic!("a contrast"),
    }
}

/// Means 1, 2 and 4 of three methods: differences, ratios and distances by hand.
#[test]
fn numbers_are_those_of_the_definition() {
    let number = |keys: &str| {
        let (experiment, contrast) = contrast_of(keys);
        let values: Vec<f64> = contrast
            .sides
            .iter()
            .map(|side| if side.selector["method"].as_str() == Some("pmcsa") { 1.0 } else { 4.0 })
            .collect();
        let mut plain = Contrast { is_ratio: false, ..contrast.clone() };
        plain.sides.iter_mut().for_each(|side| side.distance_from = None);
        let results = Scene::of(&experiment, &plain).results(&values, 0.0);
        contrast.find(&results).number
    };
    assert_eq!(number("of = 'pmcsa'\nagainst = 'snis'\nat-most = 0"), -3.0);
    assert_eq!(number("of = 'pmcsa'\nagainst = 'snis'\ncompare = 'ratio'\nat-most = 1"), 0.25);
    assert_eq!(number("of = ['pmcsa', 'snis']\ndistance-from = 3\nat-most = 2"), 2.0);
    assert_eq!(number("of = ['pmcsa', 'snis']\ndistance-from = 3\nany = true\nat-most = 2"), 1.0);
    assert_eq!(number("of = ['pmcsa', 'snis']\nagainst = 0.5\nsummary = 'mean'\nat-least = 0"), 0.5);
}

/// A summary of single replicates counts them all.
#[test]
fn each_replicate_is_a_term() {
    let (experiment, contrast) =
        contrast_of("of = 'pmcsa'\nsummary = 'each'\ninterval = 'none'\nat-most = 2");
    assert_eq!(contrast.summary, Summary::Each);
    let found = contrast.find(&Scene::of(&experiment, &contrast).results(&[1.0], 0.5));
    // Replicates 1 -+ 0.5 k: the greatest is that of replicate 4.
    assert_eq!((found.number, found.verdict), (3.5, Verdict::Disagree));
}
