//! Claims on neural network regression.

use super::resampling::mean;
use super::responses::{CHAINS, ends, leads, tied};
use super::{Claim, Finding};
use crate::evidence::Evidence;

const TABLE: &str = "pMCSA, neural regression table";
const PRUNING: &str = "pMCSA, pruning figure";
/// A fifth of the paper's number of steps: the smallest that is accepted.
const STEPS: u64 = 10_000;

/// Claim that parallel chains predict better than other chains on one data set.
macro_rules! ahead {
    ($set:literal) => {
        Claim {
            citation: TABLE,
            sentence: concat!("On ", $set, ", parallel chains predict better than JSA, MSC and MSC-RB."),
            judge: |evidence| leads(evidence, $set, &CHAINS, "lpd", 0.0, STEPS),
        }
    };
}

/// Claim on weights near zero on one data set.
macro_rules! pruned {
    ($set:literal) => {
        Claim {
            citation: PRUNING,
            sentence: concat!("On ", $set, ", the bound prunes more weights than parallel chains do."),
            judge: |evidence| fewer(evidence, $set),
        }
    };
}

/// Claims of pMCSA on its table and figures of neural regression.
pub fn neural_regression() -> Vec<Claim> {
    vec![
        ahead!("yacht"),
        ahead!("concrete"),
        ahead!("airfoil"),
        ahead!("energy"),
        ahead!("boston"),
        ahead!("sml"),
        Claim {
            citation: TABLE,
            sentence: "On wine_red, all methods with chains predict alike, within 0.03 nats.",
            judge: |evidence| {
                let methods: Vec<_> = [("pmcsa", 10)].into_iter().chain(CHAINS).collect();
                tied(evidence, "wine_red", &methods, "lpd", 0.03, STEPS)
            },
        },
        Claim {
            citation: TABLE,
            sentence: "On airfoil, parallel chains predict better than the bound with one draw, by 0.2 nats.",
            judge: |evidence| leads(evidence, "airfoil", &[("stl", 1)], "lpd", 0.2, STEPS),
        },
        Claim {
            citation: TABLE,
            sentence: "On energy, parallel chains predict better than the bound with one draw, by 0.35 nats.",
            judge: |evidence| leads(evidence, "energy", &[("stl", 1)], "lpd", 0.35, STEPS),
        },
        Claim {
            citation: TABLE,
            sentence: "On gas, parallel chains come within 0.1 nats of the bound with one draw.",
            judge: |evidence| leads(evidence, "gas", &[("stl", 1)], "lpd", -0.1, STEPS),
        },
        Claim {
            citation: TABLE,
            sentence: "On gas, parallel chains are 0.3 nats above the other methods with chains.",
            judge: |evidence| leads(evidence, "gas", &CHAINS, "lpd", 0.3, STEPS),
        },
        pruned!("airfoil"),
        pruned!("gas"),
        Claim {
            citation: PRUNING,
            sentence: "On airfoil, means of weights are spread wider under parallel chains than under the bound.",
            judge: |evidence| {
                leads(evidence, "airfoil", &[("stl", 1), ("stl", 10)], "weights_deviation", 0.0, STEPS)
            },
        },
        Claim {
            citation: PRUNING,
            sentence: "On gas, means of weights are spread wider under parallel chains than under the bound.",
            judge: |evidence| {
                leads(evidence, "gas", &[("stl", 1), ("stl", 10)], "weights_deviation", 0.0, STEPS)
            },
        },
    ]
}

fn fewer(evidence: &Evidence, set: &str) -> Finding {
    let methods = [("stl", 1), ("pmcsa", 10)];
    let Some(columns) = ends(evidence, set, &methods, "weights_below_0.1", STEPS) else {
        return Finding::too_little(format!("not all methods have {STEPS} iterations on {set}"));
    };
    let what = format!(
        "mean share of weights within 0.1 of zero on {set}, of the bound with one draw less that of pMCSA"
    );
    Finding::at_least_of(&columns, |columns| mean(&columns[0]) - mean(&columns[1]), 0.0, &what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;
    use crate::store::{Ended, Outcome, Row};
    use crate::task::Job;

    /// Includes absent data sets: these rows are synthetic and need no data.
    fn verdicts(value: impl Fn(&str, &str, &str) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-tab-bnn")).unwrap();
        let experiment = entry.experiment().unwrap();
        let mut evidence = Evidence::synthetic(experiment.clone(), PresetName::Quick, |_, _, _| Vec::new());
        let tasks = experiment.tasks(experiment.preset(PresetName::Paper).unwrap()).unwrap();
        let outcome = |(task, replicate): (&Task, u64)| {
            let (set, kind) = (task.target().label(), task.method().kind());
            let names = ["lpd", "weights_below_0.1", "weights_deviation"];
            let values = names.map(|name| (name, value(set, kind, name)));
            let job = Job {
                experiment: experiment.id.clone(),
                task: task.clone(),
                data: None,
                replicate,
                seed: experiment.seed(),
            };
            Outcome { job, rows: vec![Row::new(0, values)], ended: Ended::default() }
        };
        let all = tasks.iter().flat_map(|task| (0..4).map(move |replicate| (task, replicate)));
        evidence.outcomes = all.map(outcome).collect();
        neural_regression().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let published = |set: &str, kind: &str, name: &str| match (name, kind) {
            ("lpd", _) if set == "wine_red" => -0.95,
            ("lpd", "pmcsa") => -1.0,
            ("lpd", "stl") if set == "gas" => -0.95,
            ("lpd", _) => -1.5,
            ("weights_deviation", "pmcsa") | ("weights_below_0.1", "stl") => 0.9,
            _ => 0.5,
        };
        assert_eq!(verdicts(published), [Verdict::Agree; 15]);
        let opposite = |set: &str, kind: &str, name: &str| {
            let lower = match (name, kind) {
                ("lpd", "pmcsa") => 0.3,
                (_, "jsa") => 0.1,
                _ => 0.0,
            };
            -2.0 - published(set, kind, name) - lower
        };
        assert_eq!(verdicts(opposite), [Verdict::Disagree; 15]);
        assert_eq!(verdicts(|_, _, _| f64::NAN), [Verdict::TooLittle; 15]);
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-tab-bnn")).unwrap();
        let short =
            Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| vec![("lpd", 1.0)]);
        assert!(neural_regression().iter().all(|claim| claim.find(&short).verdict == Verdict::TooLittle));
    }
}
