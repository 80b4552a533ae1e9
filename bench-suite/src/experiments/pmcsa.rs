//! Evaluations per step (pMCSA, Tab. 2; MCMC-SE, Tab. 1; CW, Tab. 1), and ranges of step sizes that end near the optimum (pMCSA).

use mcsa_diagnostics::quantile;

use crate::catalog::Method;
use crate::claims::{Check, Checked, Finding, greatest, least};
use crate::look;
use crate::results::{Results, Series};
use crate::selector::Settings;
use crate::store::Outcome;
use crate::tables::{Table, or_dash};
use crate::task::Labels;

/// Costs of a step of a method: evaluations of p, evaluations of q, draws, gradients of p, scores. The first are minimal, if the densities
/// of p at the chains are cached and those of q at its own draws are free; the second are printed in pMCSA and MCMC-SE, where N counts all
/// candidates, and the third in CW.
pub(super) fn tabulated(method: &Method) -> [Option<[f64; 5]>; 3] {
    let n = method.budget() as f64;
    // Gradients of a transition: one at each state of the path.
    let hamiltonian = |leapfrog: usize| (leapfrog + 1) as f64;
    let as_printed = |least, by_cw| [Some(least), Some(least), by_cw];
    match *method {
        Method::Pmcsa { .. } => as_printed([n, 2.0 * n, n, 0.0, n], Some([n, n, n, 0.0, n])),
        Method::Jsa { .. } => as_printed([n, n + 1.0, n, 0.0, n], Some([n, n, n, 0.0, n])),
        // Printed is (N - 1, N, N - 1) for N candidates, which is this row for N - 1 fresh ones.
        Method::Msc { .. } => as_printed([n, n + 1.0, n, 0.0, 1.0], Some([n, n + 1.0, n, 0.0, 1.0])),
        Method::MscRb { .. } => {
            as_printed([n, n + 1.0, n, 0.0, n + 1.0], Some([n, n + 1.0, n, 0.0, n + 1.0]))
        }
        Method::Elbo { .. } => as_printed([0.0, 0.0, n, n, n], Some([0.0, 0.0, n, n, 0.0])),
        Method::Stl { .. } => as_printed([0.0, 0.0, n, n, n], None),
        // Five importance steps, then one along the score at the state of a Hamiltonian chain: six steps.
        Method::Rws { leapfrog, .. } => {
            let [wake, chain] = [5.0 / 6.0, 1.0 / 6.0];
            let slopes = chain * hamiltonian(leapfrog);
            [Some([wake * n, wake * n, wake * n, slopes, wake * n + chain]), None, None]
        }
        Method::Hmc { leapfrog, transitions, .. } => {
            [Some([0.0, 0.0, 0.0, transitions as f64 * hamiltonian(leapfrog), 1.0]), None, None]
        }
        _ => [Some([n, n, n, 0.0, n]), None, None],
    }
}

/// Counted evaluations per step; NaN if nothing was counted.
fn counted(series: &Series<'_>) -> [f64; 5] {
    let count = |name: &str| {
        let each = series.outcomes.iter().map(|outcome| {
            let steps = outcome.rows.last().map_or(0, |row| row.step);
            outcome.ended.counts.get(name).map_or(f64::NAN, |count| *count as f64 / steps as f64)
        });
        each.sum::<f64>() / series.outcomes.len() as f64
    };
    let draws = count("q_draws");
    // The ELBO draws noise without evaluating a density.
    let with_draws =
        if matches!(series.method(), Method::Elbo { .. } | Method::Stl { .. }) { 0.0 } else { draws };
    [
        count("p_evaluations"),
        count("q_evaluations") + with_draws,
        draws,
        count("p_gradients"),
        count("q_scores"),
    ]
}

pub(super) fn costs(results: &Results) -> Vec<Table> {
    let row = |series: &Series<'_>| {
        let (method, counted) = (series.method(), counted(series));
        let [_, printed, by_cw] = tabulated(method);
        let papers = [("pMCSA, MCMC-SE", printed), ("CW", by_cw)];
        let cell = |k: usize| {
            let others = papers.into_iter().filter_map(|(paper, cells)| Some((paper, cells?[k])));
            let others = others.filter(|(_, other)| (counted[k] - other).abs() > 0.01);
            let others = others.map(|(paper, other)| format!(" ({paper}: {})", words(other)));
            words(counted[k]) + &others.collect::<String>()
        };
        let names = [look::name(method.kind()).to_owned(), counting(method)];
        names.into_iter().chain((0..5).map(cell)).collect()
    };
    let head = "Method | N | p | q | draws | gradients of p | scores";
    let rows = results.series().iter().map(row).collect();
    let note = "Counted in fits. In brackets: a table that has another number.";
    vec![Table::new("cost", "Evaluations per step", head, rows, note)]
}

fn counting(method: &Method) -> String {
    match *method {
        Method::Msc { fresh } | Method::MscRb { fresh } => format!("{fresh} fresh, {} in all", fresh + 1),
        Method::Hmc { leapfrog, .. } => format!("{leapfrog} leapfrog steps"),
        _ => method.budget().to_string(),
    }
}

fn words(value: f64) -> String {
    or_dash((!value.is_nan()).then(|| format!("{}", (100.0 * value).round() / 100.0)))
}

pub(super) const CHECKS: [(&str, Check); 7] = [
    ("nothing_is_wasted", |results| farthest(results, 0, |off| off, "evaluations above the least, at most")),
    ("as_printed", |results| farthest(results, 1, f64::abs, FARTHEST)),
    ("as_printed_by_cw", |results| farthest(results, 2, f64::abs, FARTHEST)),
    ("parallel_is_widest", parallel_is_widest),
    ("adam_is_widest", adam_is_widest),
    ("all_converge", all_converge),
    ("parallel_is_lowest", parallel_is_lowest),
];

const FARTHEST: &str = "largest difference from a printed cell";

/// Largest difference between counted evaluations and a table, by its place, over all methods in the table.
fn farthest(results: &Results, table: usize, size: fn(f64) -> f64, what: &str) -> Checked {
    let off = |series: &Series<'_>| {
        let expected = tabulated(series.method())[table]?.into_iter();
        Some(counted(series).into_iter().zip(expected).map(move |(found, expected)| size(found - expected)))
    };
    let off = greatest(results.series().iter().filter_map(off).flatten());
    Ok(Finding::at_most(off, 0.01, what))
}

const KINDS: [&str; 4] = ["pmcsa", "jsa", "msc", "msc-rb"];
const RULES: [&str; 4] = ["sgd", "momentum", "nesterov", "adam"];

pub(super) fn rate(series: &Series<'_>) -> Option<f64> {
    Settings::of(series.task, &Labels::default()).number("optimizer.rate")
}

/// Median divergence at the end; a fit that diverged counts as infinitely far.
fn end(series: &Series<'_>) -> Option<f64> {
    let end = |outcome: &&Outcome| match &outcome.ended.failure {
        Some(_) => Some(f64::INFINITY),
        None => outcome.rows.last()?.values.get("kl").copied(),
    };
    let mut values: Vec<f64> = series.outcomes.iter().map(end).collect::<Option<_>>()?;
    // Interpolation between infinite values would give NaN.
    values.iter_mut().filter(|value| value.is_infinite()).for_each(|value| *value = f64::MAX);
    (!values.is_empty()).then(|| quantile(&mut values, 0.5))
}

/// Step sizes in ascending order, each with the median divergence above the floor; an error if fits are shorter than the paper's.
fn excesses(results: &Results, rule: &str, kind: &str) -> Result<Vec<(f64, f64)>, String> {
    let excess = |series: &Series<'_>| {
        let is_long = series.fit().is_some_and(|fit| fit.steps >= STEPS);
        Some((rate(series)?, end(series).filter(|_| is_long)? - series.at(0, "kl_floor").first()?))
    };
    let all = results.series().into_iter().filter(|series| {
        series.fit().is_some_and(|fit| fit.optimizer.kind() == rule) && series.method().kind() == kind
    });
    let mut all: Vec<(f64, f64)> = all.map(|series| excess(&series)).collect::<Option<_>>().ok_or(MISSING)?;
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_known = all.len() > 1 && all.iter().all(|(_, excess)| !excess.is_nan());
    if is_known { Ok(all) } else { Err(MISSING.to_owned()) }
}

/// Number of iterations in the paper's figure.
const STEPS: u64 = 10_000;
/// Largest divergence above the floor that counts as close: the paper's 20, minus the 7 at which its curves level off.
const NEAR: f64 = 13.0;

/// Decades of step sizes that end close to the floor; each size counts for its share of the axis.
fn width(results: &Results, rule: &str, kind: &str) -> Result<f64, String> {
    let all = excesses(results, rule, kind)?;
    let decades = (all[all.len() - 1].0 / all[0].0).log10();
    let near = all.iter().filter(|(_, excess)| *excess < NEAR).count();
    Ok(decades * near as f64 / (all.len() - 1) as f64)
}

const MISSING: &str = "not all optimisers and methods have 10000 iterations";

fn parallel_is_widest(results: &Results) -> Checked {
    let what = "decades by which the range of pMCSA exceeds the widest other, least over optimisers";
    is_widest(results, &RULES.map(|rule| KINDS.map(|kind| (rule, kind))), what)
}

fn adam_is_widest(results: &Results) -> Checked {
    let what = "decades by which the range under Adam exceeds the widest other, least over methods";
    let rules = ["adam", "sgd", "momentum", "nesterov"];
    is_widest(results, &["jsa", "msc", "msc-rb"].map(|kind| rules.map(|rule| (rule, kind))), what)
}

/// Finding on the least of several leads: decades by which the first of four ranges exceeds the widest other.
fn is_widest(results: &Results, all: &[[(&str, &str); 4]], what: &str) -> Checked {
    let lead = |ranges: &[(&str, &str); 4]| {
        let widths = ranges.iter().map(|(rule, kind)| width(results, rule, kind));
        let widths = widths.collect::<Result<Vec<f64>, String>>()?;
        Ok(widths[0] - greatest(widths[1..].iter().copied()))
    };
    let leads = all.iter().map(lead).collect::<Result<Vec<f64>, String>>()?;
    Ok(Finding::at_least(least(leads), WIDER, what))
}

/// Smallest difference in decades that counts as wider: less than the distance between two step sizes of the paper.
const WIDER: f64 = 0.1;

/// Median divergences above the floor of all methods under Adam, at the step size nearest to 0.01.
fn at_a_hundredth(results: &Results) -> Result<Vec<f64>, String> {
    let of = |kind: &str| {
        let off = |(rate, _): &(f64, f64)| (rate / 0.01).ln().abs();
        let nearest = excesses(results, "adam", kind)?.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        Ok(nearest.ok_or(MISSING)?.1)
    };
    KINDS.into_iter().map(of).collect()
}

fn all_converge(results: &Results) -> Checked {
    // The paper's 15, minus the 6.7 of its floor.
    let what = "median divergence above the floor at the step size nearest to 0.01, greatest over methods";
    Ok(Finding::at_most(greatest(at_a_hundredth(results)?), 8.3, what))
}

fn parallel_is_lowest(results: &Results) -> Checked {
    let all = at_a_hundredth(results)?;
    let what = "median divergence of the lowest other method less that of pMCSA, in nats";
    Ok(Finding::at_least(least(all[1..].iter().copied()) - all[0], 0.0, what))
}
