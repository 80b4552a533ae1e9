//! Comparison of our results with published tables.

use std::ops::AddAssign;

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::html::{escape, number};
use super::order::Order;
use super::section::pill;
use crate::claims::{ENOUGH as FEW, Verdict};
use crate::experiment::{PresetName, Published};
use crate::interval::{Interval, bootstrap};
use crate::look;
use crate::published::{Cell, cells};
use crate::results::{Results, Series};
use crate::tables::{in_groups, or_dash};

/// Agreement of our result with a published cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    /// The intervals overlap, with a tolerance of half a unit of the last printed digit.
    Overlap,
    Apart,
    /// There is no result, or too few replicates for an interval.
    TooFew,
}

/// Comparison of one published cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub(super) cell: Cell,
    /// Our interval, by the published formula.
    pub(super) ours: Option<Interval>,
    /// Our interval by the correct formula, where the published one differs from it.
    pub(super) corrected: Option<Interval>,
    /// Agreement of the published interval with `ours`.
    agreement: Agreement,
    /// Length of our fits, if it is not the published one: ours, published.
    shorter: Option<(u64, u64)>,
    /// The published order of this cell and another one of its data and metric holds by the published formula and is the opposite
    /// by the correct one; all intervals are apart.
    reverses: bool,
}

/// Counts of published cells and their order. They add up over tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(super) order: Order,
    pub(super) all: usize,
    /// Those measured by fits of the published length, in enough replicates for an interval.
    pub(super) measured: usize,
    /// Measured ones whose intervals overlap.
    pub(super) overlap: usize,
    /// Those measured by shorter fits.
    shorter: usize,
    shorter_overlap: usize,
    /// Those measured in too few replicates.
    few: usize,
    /// Those whose published order is the opposite when corrected.
    reversed: usize,
}

impl Comparison {
    fn is_measured(&self) -> bool {
        self.agreement != Agreement::TooFew
    }

    /// Our mean, if enough fits of the published length have one.
    fn mean(&self) -> Option<f64> {
        self.ours.filter(|_| self.is_measured() && self.shorter.is_none()).map(|ours| ours.value)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.order += other.order;
        self.all += other.all;
        self.measured += other.measured;
        self.overlap += other.overlap;
        self.shorter += other.shorter;
        self.shorter_overlap += other.shorter_overlap;
        self.few += other.few;
        self.reversed += other.reversed;
    }
}

impl Tally {
    /// True if there are no published cells.
    pub(super) fn is_empty(&self) -> bool {
        self.all == 0
    }

    pub(crate) fn of<'c>(comparisons: impl IntoIterator<Item = &'c Comparison>) -> Self {
        let (mut tally, comparisons) = (Self::default(), comparisons.into_iter().collect::<Vec<_>>());
        let key =
            |one: &Comparison| [one.cell.citation.clone(), one.cell.data.clone(), one.cell.metric.clone()];
        for ([.., metric], group) in in_groups(comparisons.iter().map(|one| (key(one), *one))) {
            let cells: Vec<_> = group.into_iter().map(|one| (one.cell.interval, one.mean())).collect();
            tally.order += Order::of(&cells, LOSSES.contains(&metric.as_str()));
        }
        for comparison in comparisons {
            let meets = usize::from(comparison.agreement == Agreement::Overlap);
            tally.all += 1;
            tally.reversed += usize::from(comparison.reverses);
            match (comparison.is_measured(), comparison.shorter) {
                (true, None) => (tally.measured, tally.overlap) = (tally.measured + 1, tally.overlap + meets),
                (true, Some(_)) => {
                    tally.shorter += 1;
                    tally.shorter_overlap += meets;
                }
                (false, _) => tally.few += usize::from(comparison.ours.is_some()),
            }
        }
        tally
    }
}

/// Sentences: the order, the best methods, the cells.
impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { order, all, measured, overlap, shorter, shorter_overlap, few, reversed } = self;
        write!(
            f,
            "{order} Of {all} published cells {measured} are measured, {overlap} with overlapping intervals"
        )?;
        if *shorter > 0 {
            write!(f, "; {shorter} more by shorter fits, {shorter_overlap} of them overlapping")?;
        }
        if *few > 0 {
            write!(f, "; {few} more in too few replicates")?;
        }
        match reversed {
            0 => f.write_str("."),
            reversed => write!(f, "; the order of {reversed} reverses when corrected."),
        }
    }
}

/// Metrics of which less is better.
const LOSSES: [&str; 2] = ["error", "rmse"];

/// Smallest number of replicates for which a bootstrap interval is shown.
const ENOUGH: usize = 5;

/// Number of printed decimals: two or three.
fn decimals(value: f64) -> usize {
    if ((100.0 * value).round() - 100.0 * value).abs() < 1e-9 { 2 } else { 3 }
}

/// Series of a cell, from the published start; of several results, the one with the longest fits among those with enough replicates.
///
/// HMC has no N: papers print the N of the other methods for it.
pub(super) fn series_of<'r>(cell: &Cell, all: &[&'r Results]) -> Option<Series<'r>> {
    let is_it = |series: &Series<'_>| {
        let has_budget = cell.method == "hmc" || series.method().budget() == cell.budget;
        series.target().label() == cell.data && series.method().kind() == cell.method && has_budget
    };
    let find = |results: &&'r Results| results.find(|one| is_it(one) && results.is_from_first_start(one));
    let found = all.iter().filter(|results| !results.is_stale).filter_map(find);
    let rank = |series: &Series<'_>| {
        let count = series.last(&cell.metric).len();
        (count >= ENOUGH, count >= FEW, series.task.length(), count)
    };
    found.max_by_key(rank)
}

/// Compares every cell of the published table that an experiment names, including those of absent data and of methods left
/// out; empty if it names none. `longer` are results of the same experiment at another preset, which are compared in place of
/// these where their fits are longer and their replicates enough.
///
/// A cell is compared with the quantity that was published, by the published formula; where that is not the correct one, the
/// corrected quantity stands beside it.
///
/// # Errors
/// If the file of published numbers is malformed.
pub(super) fn compare(results: &Results, longer: Option<&Results>) -> Result<Vec<Comparison>, Error> {
    let Some(published) = &results.experiment.published else { return Ok(Vec::new()) };
    let all: Vec<&Results> = [Some(results), longer].into_iter().flatten().collect();
    let length = results.experiment.preset(PresetName::Paper).ok().map(|paper| paper.steps);
    let mut compared: Vec<Comparison> =
        cells(&published.table)?.into_iter().map(|cell| compared(cell, published, &all, length)).collect();
    for k in 0..compared.len() {
        compared[k].reverses = compared.iter().any(|other| is_reversed(&compared[k], other));
    }
    Ok(compared)
}

fn compared(cell: Cell, published: &Published, all: &[&Results], length: Option<u64>) -> Comparison {
    let series = series_of(&cell, all);
    let measured = |metric: &str| bootstrap(&series.as_ref()?.last(metric), published.level);
    let formula = published.as_published.get(&cell.metric);
    let ours = measured(formula.unwrap_or(&cell.metric));
    let corrected = formula.and_then(|_| measured(&cell.metric));
    let agreement = match &ours {
        Some(ours) if ours.replicates >= ENOUGH => {
            // Half a unit of the last printed digit.
            let slack = if decimals(cell.interval.value) == 2 { 0.005 } else { 0.0005 };
            let theirs = &cell.interval;
            let meet = ours.low <= theirs.high + slack && theirs.low - slack <= ours.high;
            if meet { Agreement::Overlap } else { Agreement::Apart }
        }
        _ => Agreement::TooFew,
    };
    let lengths = series.as_ref().map(|series| series.task.length()).zip(length);
    let shorter = lengths.filter(|(ours, published)| ours < published);
    Comparison { cell, ours, corrected, agreement, shorter, reverses: false }
}

/// Returns true if the order of two cells is as published by the published formula, and the opposite by the correct one.
fn is_reversed(one: &Comparison, other: &Comparison) -> bool {
    let is_pair = one.cell.data == other.cell.data && one.cell.metric == other.cell.metric;
    let order = |a: &Interval, b: &Interval| match (a.low > b.high, b.low > a.high) {
        (true, _) => 1,
        (_, true) => -1,
        _ => 0,
    };
    let both = |of: fn(&Comparison) -> Option<Interval>| match (of(one), of(other)) {
        (Some(a), Some(b)) => order(&a, &b),
        _ => 0,
    };
    let (published, ours, corrected) =
        (both(|c| Some(c.cell.interval)), both(|c| c.ours), both(|c| c.corrected));
    let is_measured = one.is_measured() && other.is_measured();
    is_pair && is_measured && published != 0 && ours == published && corrected == -published
}

pub(super) fn cells_of(comparison: &Comparison) -> Vec<String> {
    let Comparison { cell, ours, corrected, agreement, shorter, reverses } = comparison;
    let (word, class) = match agreement {
        Agreement::Overlap => ("meet", "agree"),
        Agreement::Apart => ("apart", "disagree"),
        Agreement::TooFew if ours.is_none() => ("not run", "open"),
        Agreement::TooFew => ("too few", "open"),
    };
    let mut marks = format!("<span class=\"pill {class}\">{word}</span>");
    if *reverses {
        marks.push_str(&format!(" {}", pill(Verdict::Reverses)));
    }
    // Fewer replicates than an interval needs are no measurement, and neither are fewer steps than were published.
    if let Some((ours, published)) = shorter {
        marks.push_str(&format!(" <span class=\"ci\">after {ours} of {published} steps</span>"));
    }
    let Interval { value, low, high, .. } = cell.interval;
    let places = decimals(value);
    let printed = |value: f64| format!("{value:.places$}").replace('-', "−");
    vec![
        escape(look::name(&cell.method)),
        or_dash(
            ours.as_ref()
                .map(|ours| format!("{} <span class=\"ci\">of {}</span>", interval(ours), ours.replicates)),
        ),
        format!("{} <span class=\"ci\">[{}, {}]</span>", printed(value), printed(low), printed(high)),
        or_dash(ours.map(|ours| format!("{:+.3}", ours.value - value).replace('-', "−"))),
        marks,
        or_dash(corrected.as_ref().map(interval)),
    ]
}

fn interval(interval: &Interval) -> String {
    let Interval { value, low, high, .. } = *interval;
    format!("{} <span class=\"ci\">[{}, {}]</span>", number(value), number(low), number(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::tests::results;

    fn found<'c>(all: &'c [Comparison], key: [&str; 3]) -> &'c Comparison {
        all.iter().find(|c| [&*c.cell.data, &*c.cell.metric, &*c.cell.method] == key).unwrap()
    }

    #[test]
    fn what_is_printed_overlaps_and_what_is_not_does_not() {
        let results = results("mcmc-se/tab2-logistic", PresetName::Quick, |task, replicate, _| {
            let spread = 0.001 * replicate as f64;
            let value = if task.method().kind() == "pmcsa" { 0.77 } else { 0.1 };
            vec![("accuracy", value + spread), ("train_accuracy", value + spread)]
        });
        let all = compare(&results, None).unwrap();
        assert_eq!(all.len(), 42);
        let of = |data: &str, metric: &str, method: &str| found(&all, [data, metric, method]).agreement;
        assert_eq!(of("pima", "accuracy", "pmcsa"), Agreement::Overlap);
        assert_eq!(of("pima", "accuracy", "jsa"), Agreement::Apart);
        assert_eq!(of("pima", "lpd", "jsa"), Agreement::TooFew);
        assert_eq!(of("pima", "accuracy", "hmc"), Agreement::TooFew, "left out of this preset");
        let tally = Tally::of(&all);
        assert_eq!((tally.all, tally.measured, tally.few, tally.shorter), (42, 18, 0, 0));
        assert_eq!(tally.overlap, all.iter().filter(|c| c.agreement == Agreement::Overlap).count());
        assert!(tally.to_string().contains(" Of 42 published cells 18 are measured, "), "{tally}");
    }

    /// Robust regression on yacht: the printed numbers by the published formula, and the opposite order by the correct one.
    #[test]
    fn a_published_order_may_reverse_when_corrected() {
        let of = |corrected: f64| {
            let results = results("pmcsa/tab-robust-gp", PresetName::Default, |task, replicate, _| {
                let noise = 0.001 * replicate as f64;
                let (published, correct) = match task.method().kind() {
                    "stl" => (-3.63, 0.0),
                    _ => (-3.31, corrected),
                };
                vec![("lpd_as_published", published + noise), ("lpd", correct + noise)]
            });
            compare(&results, None).unwrap()
        };
        let (reversed, kept) = (of(-1.0), of(1.0));
        for method in ["pmcsa", "stl"] {
            let cell = found(&reversed, ["yacht", "lpd", method]);
            assert!(cell.agreement == Agreement::Overlap && cell.reverses, "{method}: {cell:?}");
            assert!(cell.corrected.is_some() && cell.shorter.is_none());
            // Counterexample: an order that stays.
            assert!(!found(&kept, ["yacht", "lpd", method]).reverses, "{method}");
        }
        assert_eq!(Tally::of(&reversed).reversed, 2);
    }

    /// Fits of a fifth of the published length are counted apart, and longer ones of another preset take their place.
    #[test]
    fn shorter_fits_are_not_counted_as_measured() {
        let synthetic = |preset| {
            let id = "pmcsa/tab-neural-regression";
            results(id, preset, |_, replicate, _| vec![("lpd", replicate as f64)])
        };
        let (short, long) = (synthetic(PresetName::Default), synthetic(PresetName::Paper));
        let alone = Tally::of(&compare(&short, None).unwrap());
        assert!(alone.measured == 0 && alone.shorter > 0, "{alone}");
        let both = compare(&short, Some(&long)).unwrap();
        let found = Tally::of(&both);
        assert!(found.measured >= alone.shorter && found.shorter == 0, "{found}");
        // Too few long fits do not take the place of enough short ones.
        let mut few = long.clone();
        few.outcomes.retain(|outcome| outcome.job.replicate < 2);
        let kept = Tally::of(&compare(&short, Some(&few)).unwrap());
        assert_eq!((kept.measured, kept.shorter), (0, alone.shorter));
    }
}
