//! Claims on the variance of the direction along fits.

use super::curves::Curves;
use super::resampling::median;
use super::{Claim, Finding, greatest, least};
use crate::evidence::Evidence;

/// Claims of pMCSA on its gradient variance figure.
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

/// Variance curves of methods with their N; `None` if one has not been run.
fn curves(evidence: &Evidence, methods: &[(&str, usize)]) -> Option<Curves> {
    let series = |(kind, budget): &(&str, usize)| evidence.find(|series| series.is(kind, *budget));
    Curves::of(&methods.iter().map(series).collect::<Option<Vec<_>>>()?, "variance")
}

/// Variance curves of kinds of methods, each with the smallest and the largest N.
fn ends(evidence: &Evidence, kinds: &[&'static str]) -> Option<Curves> {
    let methods: Vec<_> = kinds.iter().flat_map(|kind| [(*kind, 8), (*kind, 128)]).collect();
    curves(evidence, &methods)
}

/// Ratio of median variances in each pair of curves, first over second, at each step within `from..=to`.
fn gains(curves: &Curves, columns: &[Vec<f64>], from: u64, to: u64) -> Vec<(u64, f64)> {
    let each = curves.each(columns, median);
    let pairs = each.chunks(2).flat_map(|pair| {
        curves.steps.iter().zip(pair[0].iter().zip(&pair[1])).map(|(step, (few, many))| (*step, few / many))
    });
    pairs.filter(|(step, _)| (from..=to).contains(step)).collect()
}

/// Smallest and largest gain with their steps, in words.
fn range(gains: &[(u64, f64)]) -> String {
    let by_gain = |a: &&(u64, f64), b: &&(u64, f64)| a.1.total_cmp(&b.1);
    let ends = [gains.iter().min_by(by_gain), gains.iter().max_by(by_gain)];
    let [Some((first, low)), Some((second, high))] = ends else { return "none".to_owned() };
    format!("{low:.1} at iteration {first} to {high:.1} at {second}")
}

const ALWAYS: u64 = u64::MAX;
const MISSING: &str = "no variances of every method with N of 8 and 128";

fn parallel_is_least(evidence: &Evidence) -> Finding {
    let kinds = ["pmcsa", "jsa", "msc", "msc-rb"];
    let budgets = [8, 16, 32, 64, 128].into_iter().filter(|n| evidence.find(|s| s.is("pmcsa", *n)).is_some());
    let methods: Vec<_> = budgets.flat_map(|n| kinds.map(|kind| (kind, n))).collect();
    let Some(curves) = curves(evidence, &methods) else { return Finding::too_little(MISSING) };
    let ratio = |columns: &[Vec<f64>]| {
        let each = curves.each(columns, median);
        least(each.chunks(4).flat_map(|all| {
            all[1..].iter().flat_map(|other| other.iter().zip(&all[0]).map(|(other, own)| other / own))
        }))
    };
    let what = "median variance of any other method over that of pMCSA, least over iterations and N";
    Finding::at_least_of(&curves.columns, ratio, 1.0, what)
}

/// Finding for the claim that all gains of a method are within a range. The number is the largest factor by which one is
/// outside: at most 1 if all are inside.
fn within(evidence: &Evidence, kind: &'static str, low: f64, high: f64, what: &str) -> Finding {
    let Some(curves) = ends(evidence, &[kind]) else { return Finding::too_little(MISSING) };
    let outside = |columns: &[Vec<f64>]| {
        greatest(
            gains(&curves, columns, 0, ALWAYS).iter().map(|(_, gain)| greatest([gain / high, low / gain])),
        )
    };
    let found = range(&gains(&curves, &curves.columns, 0, ALWAYS));
    let what =
        format!("gain of {what}, {found}, beyond the border of [{low:.2}, {high}], in units of the border");
    Finding::at_most_of(&curves.columns, outside, 1.0, &what)
}

fn parallel_falls(evidence: &Evidence) -> Finding {
    within(evidence, "pmcsa", 10.0, 30.0, "pMCSA")
}

fn single_stays(evidence: &Evidence) -> Finding {
    within(evidence, "msc", 1.0 / 1.4, 1.4, "MSC")
}

fn others_gain_little_early(evidence: &Evidence) -> Finding {
    let Some(curves) = ends(evidence, &["jsa", "msc-rb"]) else { return Finding::too_little(MISSING) };
    let early =
        |columns: &[Vec<f64>]| greatest(gains(&curves, columns, 0, 2_000).iter().map(|(_, gain)| *gain));
    let found = range(&gains(&curves, &curves.columns, 0, 2_000));
    let what = format!("largest gain of JSA and MSC-RB up to iteration 2000; they are {found}");
    Finding::at_most_of(&curves.columns, early, 2.0, &what)
}

fn others_gain_late(evidence: &Evidence) -> Finding {
    let Some(curves) = ends(evidence, &["jsa", "msc-rb"]) else { return Finding::too_little(MISSING) };
    let late =
        |columns: &[Vec<f64>]| least(gains(&curves, columns, 9_750, 9_850).iter().map(|(_, gain)| *gain));
    let what = "gain at iteration 9800, the smaller of JSA and MSC-RB";
    Finding::at_least_of(&curves.columns, late, 3.0, what)
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
