//! Of the variance of the direction along fits.

use super::{Claim, Finding, greatest, least};
use crate::evidence::Evidence;

/// What pMCSA says of its gradient variance figure.
pub fn gradient_variance() -> Vec<Claim> {
    const CITATION: &str = "pMCSA, gradient variance figure";
    vec![
        Claim {
            citation: CITATION,
            sentence: "Parallel chains have the least variance at every iteration and every N.",
            judge: parallel_is_least,
        },
        Claim {
            citation: CITATION,
            sentence: "The variance of parallel chains falls with N at every iteration: between 10 and 30 times from N = 8 \
                       to N = 128.",
            judge: parallel_falls,
        },
        Claim {
            citation: CITATION,
            sentence: "The variance of MSC does not depend on N: from N = 8 to N = 128 it changes by less than 1.4 times.",
            judge: single_stays,
        },
        Claim {
            citation: CITATION,
            sentence: "While the fit is far from its end, up to iteration 2000, JSA and MSC-RB gain less than twice from \
                       N = 128 over N = 8.",
            judge: others_gain_little_early,
        },
        Claim {
            citation: CITATION,
            sentence: "Near the end, at iteration 9800, they gain more than three times.",
            judge: others_gain_late,
        },
    ]
}

/// Steps, and the median variance at each.
fn medians(evidence: &Evidence, kind: &str, budget: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let series = evidence.find(|series| series.is(kind, budget))?;
    let (steps, [median]) = series.quantiles("variance", [0.5]);
    (!steps.is_empty()).then_some((steps, median))
}

/// At each step within `from..=to` that both have, the variance at N = 8 over that at N = 128.
fn gains(evidence: &Evidence, kind: &str, from: f64, to: f64) -> Vec<(f64, f64)> {
    let ends = [8, 128].map(|budget| medians(evidence, kind, budget));
    let [Some((steps, few)), Some((others, many))] = ends else { return Vec::new() };
    if steps != others {
        return Vec::new();
    }
    let all = steps.iter().zip(few.iter().zip(&many)).map(|(step, (few, many))| (*step, few / many));
    all.filter(|(step, _)| (from..=to).contains(step)).collect()
}

/// The least and the greatest gain, and where they are.
fn range(gains: &[(f64, f64)]) -> String {
    let by_gain = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let ends = [gains.iter().min_by(by_gain), gains.iter().max_by(by_gain)];
    let [Some((first, low)), Some((second, high))] = ends else { return "none".to_owned() };
    format!("{low:.1} at iteration {first} to {high:.1} at {second}")
}

const ALWAYS: f64 = f64::INFINITY;

fn parallel_is_least(evidence: &Evidence) -> Finding {
    let mut ratios = Vec::new();
    for budget in [8, 16, 32, 64, 128] {
        let Some((steps, parallel)) = medians(evidence, "pmcsa", budget) else { continue };
        for kind in ["jsa", "msc", "msc-rb"] {
            match medians(evidence, kind, budget) {
                Some((others, medians)) if others == steps => {
                    ratios.push(least(medians.iter().zip(&parallel).map(|(other, own)| other / own)));
                }
                _ => return Finding::too_little(format!("no variances of {kind} with N = {budget}")),
            }
        }
    }
    Finding::at_least(
        least(ratios),
        1.0,
        "median variance of any other method over that of pMCSA, least over iterations and N",
    )
}

/// How far the gains are outside of a range: at most 1 if all are inside.
fn outside(gains: &[(f64, f64)], low: f64, high: f64) -> f64 {
    greatest(gains.iter().map(|(_, gain)| greatest([gain / high, low / gain])))
}

fn parallel_falls(evidence: &Evidence) -> Finding {
    let gains = gains(evidence, "pmcsa", 0.0, ALWAYS);
    let what =
        format!("gain of pMCSA, {}, beyond the border of [10, 30], in units of the border", range(&gains));
    Finding::at_most(outside(&gains, 10.0, 30.0), 1.0, what)
}

fn single_stays(evidence: &Evidence) -> Finding {
    let gains = gains(evidence, "msc", 0.0, ALWAYS);
    let what =
        format!("gain of MSC, {}, beyond the border of [1/1.4, 1.4], in units of the border", range(&gains));
    Finding::at_most(outside(&gains, 1.0 / 1.4, 1.4), 1.0, what)
}

/// All gains of JSA and MSC-RB within some steps.
fn others(evidence: &Evidence, from: f64, to: f64) -> Option<Vec<(f64, f64)>> {
    let both = ["jsa", "msc-rb"].map(|kind| gains(evidence, kind, from, to));
    both.iter().all(|gains| !gains.is_empty()).then(|| both.concat())
}

fn others_gain_little_early(evidence: &Evidence) -> Finding {
    let Some(gains) = others(evidence, 0.0, 2_000.0) else {
        return Finding::too_little("no early variances");
    };
    let what = format!("largest gain of JSA and MSC-RB up to iteration 2000; they are {}", range(&gains));
    Finding::at_most(greatest(gains.iter().map(|(_, gain)| *gain)), 2.0, what)
}

fn others_gain_late(evidence: &Evidence) -> Finding {
    let Some(gains) = others(evidence, 9_700.0, 9_900.0) else {
        return Finding::too_little("no variances at iteration 9800");
    };
    let what = "gain at iteration 9800, the smaller of JSA and MSC-RB";
    Finding::at_least(least(gains.iter().map(|(_, gain)| *gain)), 3.0, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(variance: fn(&str, f64, u64) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-fig-gradvar")).unwrap();
        let rows = |task: &Task, _: u64, step: u64| {
            let (kind, budget) = (task.method().kind(), task.method().budget() as f64);
            vec![("variance", variance(kind, budget, step))]
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), PresetName::Default, rows);
        gradient_variance().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let published = |kind: &str, n: f64, step: u64| match kind {
            "pmcsa" => 64.6 / n,
            "msc" => 100.0,
            _ if step <= 2_000 => 50.0,
            _ => 70.0 / n.sqrt(),
        };
        assert_eq!(verdicts(published), [Verdict::Agree; 5]);
        let opposite = |kind: &str, n: f64, step: u64| match kind {
            "pmcsa" => 64.6,
            "msc" => 10.0 / n,
            _ if step <= 2_000 => 50.0 / n,
            _ => 70.0,
        };
        assert_eq!(verdicts(opposite), [Verdict::Disagree; 5]);
        assert_eq!(verdicts(|_, _, _| f64::NAN), [Verdict::TooLittle; 5]);
    }
}
