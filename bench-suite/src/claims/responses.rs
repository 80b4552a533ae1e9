//! Checks common to claims on held-out responses.

use super::Finding;
use super::resampling::{Columns, mean};
use crate::evidence::Evidence;

/// Methods with chains that parallel chains are compared with.
pub(super) const CHAINS: [(&str, usize); 3] = [("jsa", 10), ("msc", 10), ("msc-rb", 10)];

/// Last value of a metric on a data set, in a column for each method with its N. `None` if a method has not been run on the
/// set, or its fits are shorter than `steps`.
pub(super) fn ends(
    evidence: &Evidence,
    set: &str,
    methods: &[(&str, usize)],
    name: &str,
    steps: u64,
) -> Option<Columns> {
    let column = |(kind, budget): &(&str, usize)| {
        let all = evidence.of_target(set);
        let series = all.iter().find(|series| series.is(kind, *budget))?;
        series.fit().filter(|fit| fit.steps >= steps)?;
        Some(series.last(name))
    };
    methods.iter().map(column).collect()
}

/// Mean of the first column minus the largest mean of the others.
pub(super) fn lead(columns: &[Vec<f64>]) -> f64 {
    mean(&columns[0]) - super::greatest(columns[1..].iter().map(|column| mean(column)))
}

/// Finding for the claim that parallel chains lead all others by at least `by`; a negative `by` allows them to be behind the
/// best by that much.
pub(super) fn leads(
    evidence: &Evidence,
    set: &str,
    others: &[(&str, usize)],
    name: &str,
    by: f64,
    steps: u64,
) -> Finding {
    let methods: Vec<(&str, usize)> = [("pmcsa", 10)].into_iter().chain(others.iter().copied()).collect();
    let Some(columns) = ends(evidence, set, &methods, name, steps) else {
        return Finding::too_little(format!("not all methods have {steps} iterations on {set}"));
    };
    let what = format!("mean {name} of pMCSA on {set} above the best of the others");
    Finding::at_least_of(&columns, lead, by, &what)
}

/// Finding for the claim that all means differ by at most `within`.
pub(super) fn tied(
    evidence: &Evidence,
    set: &str,
    methods: &[(&str, usize)],
    name: &str,
    within: f64,
    steps: u64,
) -> Finding {
    let Some(columns) = ends(evidence, set, methods, name, steps) else {
        return Finding::too_little(format!("not all methods have {steps} iterations on {set}"));
    };
    let range = |columns: &[Vec<f64>]| {
        let means = || columns.iter().map(|column| mean(column));
        super::least(means()) - super::greatest(means())
    };
    let what = format!("least mean {name} on {set} less the greatest");
    Finding::at_least_of(&columns, range, -within, &what)
}
