//! Claims on hierarchical logistic regression.

use super::curves::Curves;
use super::resampling::{Columns, mean};
use super::{Claim, Finding, greatest, least};
use crate::evidence::{Evidence, Series};

const SETS: [&str; 3] = ["pima", "heart_cleveland_303", "german_credit_numeric"];
const RIVALS: [&str; 4] = ["jsa", "msc", "msc-rb", "snis"];

/// Claims of MCMC-SE on its Tab. 2 and Fig. 4.
pub fn logistic() -> Vec<Claim> {
    vec![
        Claim {
            citation: "MCMC-SE, Tab. 2",
            sentence: "On pima, parallel chains predict more accurately than every other inclusive method, by two points.",
            judge: parallel_is_accurate,
        },
        Claim {
            citation: "MCMC-SE, Tab. 2",
            sentence: "On every set, the log predictive density of parallel chains is the best or within 0.01 of it.",
            judge: parallel_is_best,
        },
        Claim {
            citation: "MCMC-SE, Tab. 2",
            sentence: "On pima, accuracy rises in the order sequential, CIS, CIS-RB, SNIS, parallel.",
            judge: order_on_pima,
        },
        Claim {
            citation: "MCMC-SE, Fig. 4",
            sentence: "On german, parallel chains are the most accurate after a thousand steps.",
            judge: parallel_is_first,
        },
        Claim {
            citation: "MCMC-SE, Tab. 2",
            sentence: "On pima, single-HMC is more accurate than SNIS and less than parallel chains.",
            judge: hamiltonian_between,
        },
        Claim {
            citation: "MCMC-SE, Fig. 4",
            sentence: "On german, no other method comes within a hundredth of its final accuracy before parallel chains do.",
            judge: parallel_arrives_first,
        },
        Claim {
            citation: "MCMC-SE, Fig. 4",
            sentence: "On german, the log predictive density of the bound still rises after step 5000.",
            judge: bound_still_rises,
        },
    ]
}

fn of<'a>(evidence: &'a Evidence, set: &str, kind: &str) -> Option<Series<'a>> {
    evidence.find(|series| series.target().label() == set && series.method().kind() == kind)
}

/// Last value of a metric, in a column for each kind of method.
fn ends(evidence: &Evidence, set: &str, kinds: &[&str], name: &str) -> Option<Columns> {
    kinds.iter().map(|kind| of(evidence, set, kind).map(|series| series.last(name))).collect()
}

fn inclusive() -> Vec<&'static str> {
    ["pmcsa"].into_iter().chain(RIVALS).collect()
}

/// Mean of the first column minus the largest mean of the others.
fn lead(columns: &[Vec<f64>]) -> f64 {
    mean(&columns[0]) - greatest(columns[1..].iter().map(|column| mean(column)))
}

fn parallel_is_accurate(evidence: &Evidence) -> Finding {
    let Some(columns) = ends(evidence, "pima", &inclusive(), "accuracy") else {
        return Finding::too_little("no fits of pima");
    };
    let what = "mean accuracy of pMCSA above the best of JSA, MSC, MSC-RB, SNIS";
    Finding::at_least_of(&columns, lead, 0.02, what)
}

fn parallel_is_best(evidence: &Evidence) -> Finding {
    let kinds: Vec<&str> = inclusive().into_iter().chain(["stl"]).collect();
    let mut columns = Columns::new();
    for set in SETS {
        let Some(found) = ends(evidence, set, &kinds, "lpd") else {
            return Finding::too_little(format!("no fits of {set}"));
        };
        columns.extend(found);
    }
    let worst = |columns: &[Vec<f64>]| least(columns.chunks(kinds.len()).map(lead));
    let what = "mean log predictive density of pMCSA above the best other, least over sets";
    Finding::at_least_of(&columns, worst, -0.01, what)
}

fn order_on_pima(evidence: &Evidence) -> Finding {
    let order = ["jsa", "msc", "msc-rb", "snis", "pmcsa"];
    let Some(columns) = ends(evidence, "pima", &order, "accuracy") else {
        return Finding::too_little("no fits of pima");
    };
    let steps = |columns: &[Vec<f64>]| least(columns.windows(2).map(|pair| mean(&pair[1]) - mean(&pair[0])));
    let what = "least difference of mean accuracy between neighbours in this order";
    Finding::at_least_of(&columns, steps, 0.0, what)
}

fn parallel_is_first(evidence: &Evidence) -> Finding {
    let column = |kind: &str| Some(of(evidence, "german_credit_numeric", kind)?.at(1_000, "accuracy"));
    let kinds = inclusive().into_iter().chain(["stl"]);
    let Some(columns) = kinds.map(column).collect::<Option<Columns>>() else {
        return Finding::too_little("no fits of german");
    };
    let what = "mean accuracy of pMCSA above the best other, at step 1000";
    Finding::at_least_of(&columns, lead, 0.0, what)
}

/// The single Hamiltonian chain may have fewer replicates: it is compared with the first ones of the others.
fn hamiltonian_between(evidence: &Evidence) -> Finding {
    let Some(mut columns) = ends(evidence, "pima", &["snis", "hmc", "pmcsa"], "accuracy") else {
        return Finding::too_little("no fits of pima by single-HMC");
    };
    let few = columns[1].len();
    if few < super::ENOUGH {
        return Finding::too_little(format!("{few} replicates of single-HMC"));
    }
    columns.iter_mut().for_each(|column| column.truncate(few));
    let between =
        |columns: &[Vec<f64>]| least(columns.windows(2).map(|pair| mean(&pair[1]) - mean(&pair[0])));
    let what =
        format!("mean accuracy of HMC above SNIS, and of pMCSA above HMC, the lesser, {few} replicates");
    Finding::at_least_of(&columns, between, 0.0, &what)
}

fn parallel_arrives_first(evidence: &Evidence) -> Finding {
    let kinds: Vec<&str> = inclusive().into_iter().chain(["stl"]).collect();
    let series =
        kinds.iter().map(|kind| of(evidence, "german_credit_numeric", kind)).collect::<Option<Vec<_>>>();
    let Some(curves) = series.and_then(|series| Curves::of(&series, "accuracy")) else {
        return Finding::too_little("no fits of german");
    };
    let later = |columns: &[Vec<f64>]| {
        let arrival = |curve: &Vec<f64>| {
            let last = curve.last().copied().unwrap_or(f64::NAN);
            curves.first(curve, |value| value >= last - 0.01)
        };
        let steps: Vec<f64> = curves.each(columns, mean).iter().map(arrival).collect();
        least(steps[1..].iter().copied()) - steps[0]
    };
    let what = "first step at which the mean accuracy is within 0.01 of its last: earliest of the others less that of pMCSA";
    Finding::at_least_of(&curves.columns, later, 0.0, what)
}

fn bound_still_rises(evidence: &Evidence) -> Finding {
    let Some(series) = of(evidence, "german_credit_numeric", "stl") else {
        return Finding::too_little("no fits of german by the bound");
    };
    let columns = [series.at(5_000, "lpd"), series.last("lpd")];
    let what = "mean log predictive density of the bound at the end less that at step 5000";
    Finding::at_least_of(&columns, |columns| mean(&columns[1]) - mean(&columns[0]), 0.0, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn evidence(rows: impl Fn(&str, u64, u64) -> Vec<(&'static str, f64)>) -> Evidence {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("k000-tab2-logistic")).unwrap();
        let rows = |task: &Task, replicate: u64, step: u64| rows(task.method().kind(), replicate, step);
        // All methods, with as many replicates as the tests need.
        let mut experiment = entry.experiment().unwrap();
        if let Some(preset) = experiment.presets.get_mut(&PresetName::Paper) {
            preset.replicates = 6;
        }
        Evidence::synthetic(experiment, PresetName::Paper, rows)
    }

    /// All curves rise to `end`, half of the way after `half` steps, with replicates spread by `noise` that alternates
    /// between rows.
    fn verdicts(end: fn(&str) -> f64, half: fn(&str) -> f64, noise: f64) -> Vec<Verdict> {
        let evidence = evidence(|kind, replicate, step| {
            let sign =
                if (replicate + kind.len() as u64 + step / 200).is_multiple_of(2) { 1.0 } else { -1.0 };
            let value = end(kind) * (1.0 - 0.5_f64.powf(step as f64 / half(kind))) + sign * noise;
            vec![("accuracy", value), ("lpd", -1.0 + value)]
        });
        logistic().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    const PUBLISHED: fn(&str) -> f64 = |kind| match kind {
        "jsa" => 0.67,
        "msc" => 0.69,
        "msc-rb" => 0.71,
        "snis" => 0.72,
        "hmc" => 0.75,
        _ => 0.77,
    };

    #[test]
    fn the_published_numbers_agree() {
        let half = |kind: &str| if kind == "pmcsa" { 300.0 } else { 900.0 };
        assert_eq!(verdicts(PUBLISHED, half, 0.0), [Verdict::Agree; 7]);
    }

    #[test]
    fn the_opposite_disagrees() {
        let half = |kind: &str| if kind == "pmcsa" { 900.0 } else { 300.0 };
        let found = verdicts(|kind| 1.4 - PUBLISHED(kind), half, 0.0);
        assert_eq!(found[..6], [Verdict::Disagree; 6]);
        let falls = evidence(|_, _, step| vec![("lpd", -1e-4 * step as f64)]);
        assert_eq!(logistic()[6].find(&falls).verdict, Verdict::Disagree);
    }

    #[test]
    fn noise_and_missing_rows_are_no_evidence() {
        let half = |kind: &str| if kind == "pmcsa" { 300.0 } else { 900.0 };
        let noisy = verdicts(PUBLISHED, half, 0.5);
        assert!(noisy.contains(&Verdict::TooLittle) && !noisy.contains(&Verdict::Agree), "{noisy:?}");
        let empty = evidence(|_, _, _| Vec::new());
        assert!(logistic().iter().all(|claim| claim.find(&empty).verdict == Verdict::TooLittle));
    }
}
