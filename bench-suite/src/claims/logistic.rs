//! Of hierarchical logistic regression.

use super::{Claim, Finding, greatest, least};
use crate::evidence::Evidence;

const SETS: [&str; 3] = ["pima", "heart_cleveland_303", "german_credit_numeric"];
const RIVALS: [&str; 4] = ["jsa", "msc", "msc-rb", "snis"];

/// What MCMC-SE says of its Tab. 2 and Fig. 4.
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
            sentence: "On german, parallel chains come within a point of their final accuracy before all others.",
            judge: parallel_is_first,
        },
    ]
}

/// The mean over replicates of a number at the end.
fn end(evidence: &Evidence, set: &str, kind: &str, name: &str) -> Option<f64> {
    let series = evidence.find(|series| series.target().label() == set && series.method().kind() == kind)?;
    let values = series.last(name);
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn parallel_is_accurate(evidence: &Evidence) -> Finding {
    let accuracy = |kind| end(evidence, "pima", kind, "accuracy");
    let rivals: Option<Vec<f64>> = RIVALS.iter().map(|kind| accuracy(kind)).collect();
    let (Some(parallel), Some(rivals)) = (accuracy("pmcsa"), rivals) else {
        return Finding::too_little("no fits of pima");
    };
    Finding::at_least(
        parallel - greatest(rivals),
        0.02,
        "mean accuracy of pMCSA above the best of JSA, MSC, MSC-RB, SNIS",
    )
}

fn parallel_is_best(evidence: &Evidence) -> Finding {
    let mut leads = Vec::new();
    for set in SETS {
        let lpd = |kind| end(evidence, set, kind, "lpd");
        let rivals: Option<Vec<f64>> = RIVALS.iter().chain(&["elbo"]).map(|kind| lpd(kind)).collect();
        let (Some(parallel), Some(rivals)) = (lpd("pmcsa"), rivals) else {
            return Finding::too_little(format!("no fits of {set}"));
        };
        leads.push(parallel - greatest(rivals));
    }
    Finding::at_least(
        least(leads),
        -0.01,
        "mean log predictive density of pMCSA above the best other, least over sets",
    )
}

fn order_on_pima(evidence: &Evidence) -> Finding {
    let order = ["jsa", "msc", "msc-rb", "snis", "pmcsa"].map(|kind| end(evidence, "pima", kind, "accuracy"));
    let known: Option<Vec<f64>> = order.into_iter().collect();
    let Some(known) = known else { return Finding::too_little("no fits of pima") };
    let steps = known.windows(2).map(|pair| pair[1] - pair[0]);
    Finding::at_least(least(steps), 0.0, "least difference of mean accuracy between neighbours in this order")
}

fn parallel_is_first(evidence: &Evidence) -> Finding {
    let time = |kind: &str| {
        let is_it = |series: &crate::evidence::Series<'_>| {
            series.target().label() == "german_credit_numeric" && series.method().kind() == kind
        };
        let (steps, [median]) = evidence.find(is_it)?.quantiles("accuracy", [0.5]);
        let last = *median.last()?;
        steps.into_iter().zip(median).find(|(_, value)| (value - last).abs() <= 0.01).map(|(step, _)| step)
    };
    let others: Option<Vec<f64>> = RIVALS.iter().chain(&["elbo"]).map(|kind| time(kind)).collect();
    let (Some(parallel), Some(others)) = (time("pmcsa"), others) else {
        return Finding::too_little("no fits of german");
    };
    let ratio = least(others) / parallel.max(1.0);
    Finding::at_least(
        ratio,
        1.0,
        "first step within 0.01 of the final median accuracy: the soonest other over pMCSA",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(end: fn(&str) -> f64, slowness: fn(&str) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcmcse-tab2")).unwrap();
        let rows = |task: &Task, _: u64, step: u64| {
            let kind = task.method().kind();
            let share = 1.0 - (-(step as f64) / slowness(kind)).exp();
            vec![("accuracy", end(kind) * share), ("lpd", -1.0 + end(kind) * share)]
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, rows);
        logistic().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    const PUBLISHED: fn(&str) -> f64 = |kind| match kind {
        "jsa" => 0.67,
        "msc" => 0.69,
        "msc-rb" => 0.71,
        "snis" => 0.72,
        _ => 0.77,
    };

    #[test]
    fn the_published_numbers_agree() {
        assert_eq!(
            verdicts(PUBLISHED, |kind| if kind == "pmcsa" { 300.0 } else { 900.0 }),
            [Verdict::Agree; 4]
        );
    }

    #[test]
    fn the_opposite_disagrees() {
        let found =
            verdicts(|kind| 1.4 - PUBLISHED(kind), |kind| if kind == "pmcsa" { 900.0 } else { 300.0 });
        assert_eq!(found, [Verdict::Disagree; 4]);
    }

    #[test]
    fn without_rows_all_abstain() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcmcse-tab2")).unwrap();
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| vec![]);
        assert!(logistic().iter().all(|claim| claim.find(&evidence).verdict == Verdict::TooLittle));
    }
}
