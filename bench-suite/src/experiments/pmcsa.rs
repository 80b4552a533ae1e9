//! Evaluations per step (pMCSA, Tab. 2; MCMC-SE, Tab. 1; CW, Tab. 1), and ranges of step sizes that end near the optimum (pMCSA).

use mcsa_diagnostics::quantile;

use crate::catalog::{Method, OptimizerConfig};
use crate::claims::{Check, Finding, greatest, least};
use crate::look;
use crate::results::{Results, Series};
use crate::store::Outcome;
use crate::tables::Sheet;

/// Costs of a step of a method, minimal and as printed: evaluations of p, evaluations of q, draws, gradients of p, scores.
pub(super) struct Least {
    /// Minimal cost, if the densities of p at the chains are cached and those of q at its own draws are free.
    pub(super) least: [f64; 5],
    /// Cost printed in pMCSA and MCMC-SE, where N counts all candidates.
    printed: Option<[f64; 5]>,
    /// Cost printed in CW.
    printed_by_cw: Option<[f64; 5]>,
}

impl Least {
    pub(super) fn of(method: &Method) -> Self {
        let n = method.budget() as f64;
        let (least, printed, by_cw) = match *method {
            Method::Pmcsa { .. } => {
                ([n, 2.0 * n, n, 0.0, n], Some([n, 2.0 * n, n, 0.0, n]), Some([n, n, n, 0.0, n]))
            }
            Method::Jsa { .. } => {
                ([n, n + 1.0, n, 0.0, n], Some([n, n + 1.0, n, 0.0, n]), Some([n, n, n, 0.0, n]))
            }
            // Printed is (N - 1, N, N - 1) for N candidates, which is this row for N - 1 fresh ones.
            Method::Msc { .. } => {
                let row = [n, n + 1.0, n, 0.0, 1.0];
                (row, Some(row), Some(row))
            }
            Method::MscRb { .. } => {
                let row = [n, n + 1.0, n, 0.0, n + 1.0];
                (row, Some(row), Some(row))
            }
            Method::Elbo { .. } => {
                let row = [0.0, 0.0, n, n, n];
                (row, Some(row), Some([0.0, 0.0, n, n, 0.0]))
            }
            Method::Stl { .. } => ([0.0, 0.0, n, n, n], Some([0.0, 0.0, n, n, n]), None),
            // Five importance steps, then one along the score at the state of a Hamiltonian chain: six steps.
            Method::Rws { leapfrog, .. } => {
                let [wake, chain] = [5.0 / 6.0, 1.0 / 6.0];
                let slopes = chain * hamiltonian(leapfrog);
                ([wake * n, wake * n, wake * n, slopes, wake * n + chain], None, None)
            }
            Method::Hmc { leapfrog, transitions, .. } => {
                ([0.0, 0.0, 0.0, transitions as f64 * hamiltonian(leapfrog), 1.0], None, None)
            }
            _ => ([n, n, n, 0.0, n], None, None),
        };
        Self { least, printed, printed_by_cw: by_cw }
    }
}

/// Gradients of a transition with `leapfrog` steps: one at each state of the path.
fn hamiltonian(leapfrog: usize) -> f64 {
    (leapfrog + 1) as f64
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

/// A row for each method: counted values, and the printed one where it differs.
pub(super) fn costs(results: &Results) -> Vec<Sheet> {
    let row = |series: &Series<'_>| {
        let method = series.method();
        let (row, counted) = (Least::of(method), counted(series));
        let mut cells = vec![look::name(method.kind()).to_owned(), counting(method)];
        for (k, count) in counted.into_iter().enumerate() {
            let mut cell = words(count);
            let papers = [("pMCSA, MCMC-SE", row.printed), ("CW", row.printed_by_cw)];
            for (paper, cells) in papers {
                let other = cells.map(|cells| cells[k]).filter(|other| (count - other).abs() > 0.01);
                if let Some(other) = other {
                    cell.push_str(&format!(" ({paper}: {})", words(other)));
                }
            }
            cells.push(cell);
        }
        cells
    };
    let head = ["Method", "N", "p", "q", "draws", "gradients of p", "scores"];
    vec![Sheet {
        name: "cost".to_owned(),
        title: "Evaluations per step".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: results.series().iter().map(row).collect(),
        note: "Counted in fits. In brackets: a table that has another number.".to_owned(),
    }]
}

/// Description of the budget.
fn counting(method: &Method) -> String {
    match *method {
        Method::Msc { fresh } | Method::MscRb { fresh } => format!("{fresh} fresh, {} in all", fresh + 1),
        Method::Hmc { leapfrog, .. } => format!("{leapfrog} leapfrog steps"),
        _ => method.budget().to_string(),
    }
}

/// At most two decimals.
fn words(value: f64) -> String {
    if value.is_nan() { "–".to_owned() } else { format!("{}", (100.0 * value).round() / 100.0) }
}

/// Checks of the claims on costs.
pub(super) const COSTS: [(&str, Check); 3] = [
    ("nothing_is_wasted", |results| {
        farthest(results, |row| Some(row.least), |off| off, "evaluations above the least, at most")
    }),
    ("as_printed", |results| farthest(results, |row| row.printed, f64::abs, FARTHEST)),
    ("as_printed_by_cw", |results| farthest(results, |row| row.printed_by_cw, f64::abs, FARTHEST)),
];

const FARTHEST: &str = "largest difference from a printed cell";

/// Largest difference between counted evaluations and a table, over all methods in the table.
fn farthest(
    results: &Results,
    of: fn(&Least) -> Option<[f64; 5]>,
    size: fn(f64) -> f64,
    what: &str,
) -> Finding {
    let mut off = Vec::new();
    for series in results.series() {
        let row = Least::of(series.method());
        if let Some(expected) = of(&row) {
            off.extend(
                counted(&series).into_iter().zip(expected).map(|(found, expected)| size(found - expected)),
            );
        }
    }
    Finding::at_most(greatest(off), 0.01, what)
}

/// Checks of the claims on step sizes.
pub(super) const STEP_SIZES: [(&str, Check); 4] = [
    ("parallel_is_widest", parallel_is_widest),
    ("adam_is_widest", adam_is_widest),
    ("all_converge", all_converge),
    ("parallel_is_lowest", parallel_is_lowest),
];

const KINDS: [&str; 4] = ["pmcsa", "jsa", "msc", "msc-rb"];
const RULES: [&str; 4] = ["sgd", "momentum", "nesterov", "adam"];

/// Step size of a fit.
pub(super) fn rate(series: &Series<'_>) -> Option<f64> {
    let rate = match series.rule()? {
        OptimizerConfig::Adam(rule) => rule.rate(),
        OptimizerConfig::Sgd(rule) => &rule.rate,
        OptimizerConfig::Momentum(rule) => rule.rate(),
        OptimizerConfig::Nesterov(rule) => rule.rate(),
        _ => return None,
    };
    Some(rate.at(1))
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

/// Step sizes in ascending order, each with the median divergence above the floor; `None` if fits are shorter than the
/// paper's.
fn excesses(results: &Results, rule: &str, kind: &str) -> Option<Vec<(f64, f64)>> {
    let mut all = Vec::new();
    for series in results.series() {
        let is_it = series.rule().is_some_and(|known| known.kind() == rule) && series.method().kind() == kind;
        if !is_it {
            continue;
        }
        if series.fit().is_none_or(|fit| fit.steps < STEPS) {
            return None;
        }
        let floor = *series.at(0, "kl_floor").first()?;
        all.push((rate(&series)?, end(&series)? - floor));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_known = all.len() > 1 && all.iter().all(|(_, excess)| !excess.is_nan());
    is_known.then_some(all)
}

/// Number of iterations in the paper's figure.
const STEPS: u64 = 10_000;
/// Largest divergence above the floor that counts as close: the paper's 20, minus the 7 at which its curves level off.
const NEAR: f64 = 13.0;

/// Decades of step sizes that end close to the floor; each size counts for its share of the axis.
fn width(results: &Results, rule: &str, kind: &str) -> Option<f64> {
    let all = excesses(results, rule, kind)?;
    let decades = (all[all.len() - 1].0 / all[0].0).log10();
    let near = all.iter().filter(|(_, excess)| *excess < NEAR).count();
    Some(decades * near as f64 / (all.len() - 1) as f64)
}

const MISSING: &str = "not all optimisers and methods have 10000 iterations";

fn parallel_is_widest(results: &Results) -> Finding {
    let what = "decades by which the range of pMCSA exceeds the widest other, least over optimisers";
    is_widest(results, RULES.map(|rule| KINDS.map(|kind| (rule, kind))), what)
}

fn adam_is_widest(results: &Results) -> Finding {
    let what = "decades by which the range under Adam exceeds the widest other, least over methods";
    let [_, others @ ..] = KINDS;
    is_widest(
        results,
        others.map(|kind| ["adam", "sgd", "momentum", "nesterov"].map(|rule| (rule, kind))),
        what,
    )
}

/// Finding on the least of several leads: decades by which the first of four ranges exceeds the widest other.
fn is_widest<const N: usize>(results: &Results, all: [[(&str, &str); 4]; N], what: &str) -> Finding {
    let lead = |ranges: [(&str, &str); 4]| {
        let widths = ranges.map(|(rule, kind)| width(results, rule, kind));
        let [Some(first), Some(second), Some(third), Some(fourth)] = widths else { return None };
        Some(first - greatest([second, third, fourth]))
    };
    match all.into_iter().map(lead).collect::<Option<Vec<f64>>>() {
        Some(leads) => Finding::at_least(least(leads), WIDER, what),
        None => Finding::too_little(MISSING),
    }
}

/// Smallest difference in decades that counts as wider: less than the distance between two step sizes of the paper.
const WIDER: f64 = 0.1;

/// Median divergences above the floor under Adam, at the step size nearest to 0.01.
fn at_a_hundredth(results: &Results) -> Option<[f64; 4]> {
    let mut found = [f64::NAN; 4];
    for (slot, kind) in found.iter_mut().zip(KINDS) {
        let all = excesses(results, "adam", kind)?;
        let off = |rate: f64| (rate / 0.01).ln().abs();
        *slot = all.iter().min_by(|a, b| off(a.0).total_cmp(&off(b.0)))?.1;
    }
    Some(found)
}

fn all_converge(results: &Results) -> Finding {
    let Some(excesses) = at_a_hundredth(results) else { return Finding::too_little(MISSING) };
    // The paper's 15, minus the 6.7 of its floor.
    let what = "median divergence above the floor at the step size nearest to 0.01, greatest over methods";
    Finding::at_most(greatest(excesses), 8.3, what)
}

fn parallel_is_lowest(results: &Results) -> Finding {
    let Some([parallel, others @ ..]) = at_a_hundredth(results) else { return Finding::too_little(MISSING) };
    let what = "median divergence of the lowest other method less that of pMCSA, in nats";
    Finding::at_least(least(others) - parallel, 0.0, what)
}
