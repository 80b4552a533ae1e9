//! Comparison of our results with published tables.

use mcsa_core::Error;

use crate::interval::{Interval, bootstrap};
use crate::published::{Cell, cells};
use crate::results::{Results, Series};

/// Agreement of our result with a published cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// The intervals overlap, with a tolerance of half a unit of the last printed digit.
    Overlap,
    /// The intervals do not overlap.
    Apart,
    /// There is no result, or too few replicates for an interval.
    TooFew,
}

/// Comparison of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Published cell.
    pub cell: Cell,
    /// Our interval.
    pub ours: Option<Interval>,
    /// Agreement of the two.
    pub agreement: Agreement,
}

/// Counts of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Number of published cells.
    pub all: usize,
    /// Number of cells measured in enough replicates for an interval.
    pub measured: usize,
    /// Number of measured cells whose intervals overlap.
    pub overlap: usize,
    /// Number of cells measured in too few replicates.
    pub few: usize,
}

impl Tally {
    /// Counts the cells of these comparisons.
    pub fn of<'c>(comparisons: impl IntoIterator<Item = &'c Comparison>) -> Self {
        let mut tally = Self::default();
        for comparison in comparisons {
            let (meets, apart) =
                (comparison.agreement == Agreement::Overlap, comparison.agreement == Agreement::Apart);
            tally.all += 1;
            tally.measured += usize::from(meets || apart);
            tally.overlap += usize::from(meets);
            tally.few += usize::from(!meets && !apart && comparison.ours.is_some());
        }
        tally
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { all, measured, overlap, few } = self;
        write!(f, "of {all} published cells {measured} are measured, {overlap} with overlapping intervals")?;
        match few {
            0 => Ok(()),
            few => write!(f, "; {few} more in too few replicates"),
        }
    }
}

/// Smallest number of replicates for which a bootstrap interval is shown.
const ENOUGH: usize = 5;

/// Half a unit of the last printed digit: the second or the third.
fn rounding(value: f64) -> f64 {
    if ((100.0 * value).round() - 100.0 * value).abs() < 1e-9 { 0.005 } else { 0.0005 }
}

/// Compares every cell of the published table that an experiment names, including those of absent data and of methods left
/// out; empty if it names none.
///
/// # Errors
/// If the file of published numbers is malformed.
pub fn compare(results: &Results) -> Result<Vec<Comparison>, Error> {
    let Some(published) = &results.experiment.published else { return Ok(Vec::new()) };
    let compared = |cell: Cell| {
        // HMC has no N: papers print the N of the other methods for it.
        let is_it = |series: &Series<'_>| {
            let has_budget = cell.method == "hmc" || series.method().budget() == cell.budget;
            series.target().label() == cell.data && series.method().kind() == cell.method && has_budget
        };
        let series = results.find(is_it);
        let ours = series.and_then(|series| bootstrap(&series.last(&cell.metric), published.level));
        let agreement = match &ours {
            Some(ours) if ours.replicates >= ENOUGH && !results.is_stale => {
                let theirs = &cell.interval;
                let slack = rounding(theirs.value);
                let meet = ours.low <= theirs.high + slack && theirs.low - slack <= ours.high;
                if meet { Agreement::Overlap } else { Agreement::Apart }
            }
            _ => Agreement::TooFew,
        };
        Comparison { cell, ours, agreement }
    };
    Ok(cells(&published.table)?.into_iter().map(compared).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;
    use crate::registry::REGISTRY;

    #[test]
    fn what_is_printed_overlaps_and_what_is_not_does_not() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("k000-tab2-logistic")).unwrap();
        let rows = |task: &crate::kinds::Task, replicate: u64, _: u64| {
            let spread = 0.001 * replicate as f64;
            let value = if task.method().kind() == "pmcsa" { 0.77 } else { 0.1 };
            vec![("accuracy", value + spread)]
        };
        let results = Results::synthetic(entry.experiment().unwrap(), PresetName::Quick, rows);
        let all = compare(&results).unwrap();
        assert_eq!(all.len(), 42);
        let of = |data: &str, metric: &str, method: &str| {
            let is_it =
                |c: &&Comparison| c.cell.data == data && c.cell.metric == metric && c.cell.method == method;
            all.iter().find(is_it).unwrap().agreement
        };
        assert_eq!(of("pima", "accuracy", "pmcsa"), Agreement::Overlap);
        assert_eq!(of("pima", "accuracy", "jsa"), Agreement::Apart);
        assert_eq!(of("pima", "lpd", "jsa"), Agreement::TooFew);
        assert_eq!(of("pima", "accuracy", "hmc"), Agreement::TooFew, "left out of this preset");
        let tally = Tally::of(&all);
        assert_eq!((tally.all, tally.measured, tally.few), (42, 18, 0));
        assert_eq!(tally.overlap, all.iter().filter(|c| c.agreement == Agreement::Overlap).count());
        assert!(tally.to_string().starts_with("of 42 published cells 18 are measured, "), "{tally}");
    }
}
