//! Ranges of step sizes that end near the optimum (pMCSA).

use crate::catalog::OptimizerConfig;
use crate::claims::{Check, Finding, greatest, least};
use crate::results::{Results, Series};
use crate::store::Outcome;
use mcsa_diagnostics::quantile;

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 4] = [
    ("parallel_is_widest", parallel_is_widest),
    ("adam_is_widest", adam_is_widest),
    ("all_converge", all_converge),
    ("parallel_is_lowest", parallel_is_lowest),
];

const KINDS: [&str; 4] = ["pmcsa", "jsa", "msc", "msc-rb"];
const RULES: [&str; 4] = ["sgd", "momentum", "nesterov", "adam"];

/// Step size of a fit.
fn rate(series: &Series<'_>) -> Option<f64> {
    let rate = match series.rule()? {
        OptimizerConfig::Adam(rule) => rule.rate(),
        OptimizerConfig::Sgd(rule) => &rule.rate,
        OptimizerConfig::Momentum(rule) => rule.rate(),
        OptimizerConfig::Nesterov(rule) => rule.rate(),
        _ => return None,
    };
    Some(rate.at(1))
}

/// Tenth percentile, median and ninetieth percentile of the divergence at the end; infinite for a fit that diverged.
fn ends(series: &Series<'_>) -> Option<[f64; 3]> {
    let end = |outcome: &&Outcome| match &outcome.ended.failure {
        Some(_) => Some(f64::INFINITY),
        None => outcome.rows.last()?.values.get("kl").copied(),
    };
    let mut values: Vec<f64> = series.outcomes.iter().map(end).collect::<Option<_>>()?;
    // Interpolation between infinite values would give NaN.
    values.iter_mut().filter(|value| value.is_infinite()).for_each(|value| *value = f64::MAX);
    (!values.is_empty()).then(|| [0.1, 0.5, 0.9].map(|level| quantile(&mut values, level)))
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
        all.push((rate(&series)?, ends(&series)?[1] - floor));
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
    let mut leads = Vec::new();
    for rule in RULES {
        let widths = KINDS.map(|kind| width(results, rule, kind));
        let [Some(parallel), Some(jsa), Some(msc), Some(rb)] = widths else {
            return Finding::too_little(MISSING);
        };
        leads.push(parallel - greatest([jsa, msc, rb]));
    }
    Finding::at_least(
        least(leads),
        WIDER,
        "decades by which the range of pMCSA exceeds the widest other, least over optimisers",
    )
}

fn adam_is_widest(results: &Results) -> Finding {
    let mut leads = Vec::new();
    for kind in &KINDS[1..] {
        let widths = RULES.map(|rule| width(results, rule, kind));
        let [Some(sgd), Some(momentum), Some(nesterov), Some(adam)] = widths else {
            return Finding::too_little(MISSING);
        };
        leads.push(adam - greatest([sgd, momentum, nesterov]));
    }
    Finding::at_least(
        least(leads),
        WIDER,
        "decades by which the range under Adam exceeds the widest other, least over methods",
    )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::task::Task;

    /// Divergences `best` above the floor within `reach` decades of 0.03, and large outside.
    fn verdicts(preset: PresetName, best: fn(&str) -> f64, reach: fn(&str, &str) -> f64) -> Vec<Verdict> {
        let rows = |task: &Task, _: u64, _: u64| {
            let series = Series { task, outcomes: Vec::new() };
            let (kind, rule) = (task.method().kind(), series.rule().unwrap().kind());
            let is_near = (rate(&series).unwrap() / 0.03).log10().abs() < reach(rule, kind);
            vec![("kl_floor", 4.4), ("kl", 4.4 + if is_near { best(kind) } else { 50.0 })]
        };
        checks("pmcsa/fig-stepsize", preset, rows)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let best = |kind: &str| if kind == "pmcsa" { 2.0 } else { 3.0 };
        let reach = |rule: &str, kind: &str| match (rule, kind) {
            (_, "pmcsa") => 1.3,
            ("adam", _) => 0.9,
            _ => 0.3,
        };
        assert_eq!(verdicts(PresetName::Paper, best, reach), [Verdict::Agree; 4]);
        let opposite = |rule: &str, kind: &str| match (rule, kind) {
            ("adam", _) => 0.1,
            (_, "pmcsa") => 0.3,
            _ => 1.0,
        };
        let worst = |kind: &str| if kind == "pmcsa" { 12.0 } else { 11.0 };
        assert_eq!(verdicts(PresetName::Paper, worst, opposite)[..3], [Verdict::Disagree; 3]);
        assert_eq!(verdicts(PresetName::Paper, worst, reach)[2..], [Verdict::Disagree; 2]);
        assert_eq!(verdicts(PresetName::Quick, best, reach), [Verdict::TooLittle; 4]);
        assert_eq!(verdicts(PresetName::Paper, |_| f64::NAN, reach), [Verdict::TooLittle; 4]);
    }
}
