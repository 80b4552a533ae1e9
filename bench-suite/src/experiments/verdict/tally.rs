//! Tallies of right and wrong answers by verdict.

use crate::catalog::{Case, Target};
use crate::results::Results;
use crate::store::Row;

/// Largest error of a mean, in standard deviations, and largest factor of a standard deviation, of an answer that is not wrong.
pub(super) const LIMITS: (f64, f64) = (0.3, 1.3);
/// Share of the starts from which on a mode counts as one that starts can reach.
pub(super) const REACHED: f64 = 0.05;
/// k-hat below which it says yes alone.
const LIGHT: f64 = 0.7;

/// One fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    /// The verdict is yes.
    pub(super) yes: bool,
    /// k-hat alone would say yes.
    pub(super) light: bool,
    /// The answer is wrong; true for every answer if the target has no moments.
    pub(super) wrong: bool,
    /// Error of the answer as a multiple of the limit.
    pub(super) error: f64,
}

impl Run {
    fn of(row: &Row) -> Self {
        let value = |name: &str| row.values.get(name).copied().unwrap_or(f64::NAN);
        let off = value("answer_error") / LIMITS.0;
        let stretch = value("answer_stretch").ln() / LIMITS.1.ln();
        let error = if off >= stretch { off } else { stretch };
        Self {
            yes: value("yes") == 1.0,
            light: value("k_hat") < LIGHT,
            wrong: !(off <= 1.0 && stretch <= 1.0),
            error,
        }
    }
}

/// Class of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Planted failure.
    Planted,
    /// Planted failure that fewer than one start in twenty reaches.
    Hidden,
    /// Good target.
    Good,
}

/// Runs of one case.
pub(super) struct Tally<'r> {
    pub(super) case: &'r Case,
    pub(super) class: Class,
    /// Mean share of the starts that reach the mode that is easily missed, if there is one.
    pub(super) start_share: Option<f64>,
    pub(super) runs: Vec<Run>,
    pub(super) rows: Vec<&'r Row>,
}

/// Tallies of all cases, in the order of the file.
pub(super) fn tallies(results: &Results) -> Vec<Tally<'_>> {
    let order = |tally: &Tally<'_>| match tally.class {
        Class::Planted => 0,
        Class::Hidden => 1,
        Class::Good => 2,
    };
    let mut all: Vec<Tally<'_>> =
        results.outcomes.iter().fold(Vec::new(), |mut all: Vec<Tally<'_>>, outcome| {
            if let Target::Case { case } = outcome.job.task.target() {
                let known = all.iter().position(|tally| tally.case == case);
                let at = known.unwrap_or_else(|| {
                    all.push(Tally {
                        case,
                        class: Class::Good,
                        start_share: None,
                        runs: Vec::new(),
                        rows: Vec::new(),
                    });
                    all.len() - 1
                });
                all[at].rows.extend(&outcome.rows);
            }
            all
        });
    for tally in &mut all {
        tally.runs = tally.rows.iter().map(|row| Run::of(row)).collect();
        let shares: Vec<f64> =
            tally.rows.iter().filter_map(|row| row.values.get("start_share").copied()).collect();
        tally.start_share = (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
        tally.class = match tally.start_share {
            _ if !tally.case.is_planted() => Class::Good,
            Some(share) if !(share >= REACHED) => Class::Hidden,
            _ => Class::Planted,
        };
    }
    all.sort_by_key(order);
    all
}

impl Tally<'_> {
    pub(super) fn count(&self, is_it: impl Fn(&Run) -> bool) -> usize {
        self.runs.iter().filter(|run| is_it(run)).count()
    }

    /// Median of a sum of metrics over runs.
    pub(super) fn median(&self, names: &[&str]) -> f64 {
        let sum = |row: &&Row| names.iter().filter_map(|name| row.values.get(name)).sum();
        let mut values: Vec<f64> = self.rows.iter().map(sum).collect();
        if values.is_empty() { f64::NAN } else { mcsa_diagnostics::quantile(&mut values, 0.5) }
    }

    /// Number of runs in which a witness objects.
    pub(super) fn objections(&self, witness: &str) -> usize {
        self.rows.iter().filter(|row| row.values.get(witness) == Some(&1.0)).count()
    }
}

/// Numbers of runs and of errors of the verdict, and of k-hat alone on the same runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rates {
    /// Fits of planted failures that starts can reach.
    pub(crate) planted: usize,
    /// Those with yes and a wrong answer.
    pub(crate) false_yes: usize,
    /// Those with a wrong answer and a light tail of the weights.
    pub(crate) false_light: usize,
    /// Fits of failures that starts cannot reach.
    pub(crate) hidden: usize,
    /// Those with yes and a wrong answer.
    pub(crate) hidden_yes: usize,
    /// Fits of good targets.
    pub(crate) good: usize,
    /// Those with a right answer.
    pub(crate) right: usize,
    /// Those with a right answer and no.
    pub(crate) false_no: usize,
    /// Those with a right answer and a heavy tail of the weights.
    pub(crate) false_heavy: usize,
    /// Fits of good targets with yes and a wrong answer.
    pub(crate) good_yes: usize,
}

/// Rates over all cases.
pub(crate) fn rates(results: &Results) -> Rates {
    sum(&tallies(results))
}

pub(super) fn sum(tallies: &[Tally<'_>]) -> Rates {
    let mut rates = Rates::default();
    for tally in tallies {
        let false_yes = tally.count(|run| run.yes && run.wrong);
        match tally.class {
            Class::Planted => {
                rates.planted += tally.runs.len();
                rates.false_yes += false_yes;
                rates.false_light += tally.count(|run| run.light && run.wrong);
            }
            Class::Hidden => {
                rates.hidden += tally.runs.len();
                rates.hidden_yes += false_yes;
            }
            Class::Good => {
                rates.good += tally.runs.len();
                rates.right += tally.count(|run| !run.wrong);
                rates.false_no += tally.count(|run| !run.wrong && !run.yes);
                rates.false_heavy += tally.count(|run| !run.wrong && !run.light);
                rates.good_yes += false_yes;
            }
        }
    }
    rates
}
