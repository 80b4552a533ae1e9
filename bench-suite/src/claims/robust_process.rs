//! Claims on robust Gaussian process regression.

use super::responses::{CHAINS, ends, lead, leads, tied};
use super::{Claim, Finding};
use crate::evidence::Evidence;

const TABLE: &str = "pMCSA, robust Gaussian process table";
/// Number of steps in the paper: after a quarter of them, fits from the paper's start are far from converged.
const STEPS: u64 = 20_000;
const BOUND: [(&str, usize); 1] = [("stl", 1)];

macro_rules! above_bound {
    ($set:literal) => {
        Claim {
            citation: TABLE,
            sentence: concat!("On ", $set, ", parallel chains predict better than the bound."),
            judge: |evidence| leads(evidence, $set, &BOUND, "lpd", 0.0, STEPS),
        }
    };
}

macro_rules! above_chains {
    ($set:literal) => {
        Claim {
            citation: TABLE,
            sentence: concat!(
                "On ",
                $set,
                ", parallel chains predict better than the other methods with chains."
            ),
            judge: |evidence| leads(evidence, $set, &CHAINS, "lpd", 0.0, STEPS),
        }
    };
}

/// Claims of pMCSA on its table of robust Gaussian processes.
pub fn robust_process() -> Vec<Claim> {
    vec![
        Claim {
            citation: TABLE,
            sentence: "On airfoil, parallel chains predict better than the bound, by half a nat.",
            judge: |evidence| leads(evidence, "airfoil", &BOUND, "lpd", 0.5, STEPS),
        },
        above_bound!("concrete"),
        above_bound!("energy"),
        above_bound!("wine_red"),
        above_bound!("yacht"),
        Claim {
            citation: TABLE,
            sentence: "On boston, parallel chains predict like the bound, within 0.05 nats.",
            judge: |evidence| tied(evidence, "boston", &[("pmcsa", 10), ("stl", 1)], "lpd", 0.05, STEPS),
        },
        Claim {
            citation: TABLE,
            sentence: "On gas, the bound predicts better than every method with chains, by one nat.",
            judge: bound_wins_gas,
        },
        above_chains!("airfoil"),
        above_chains!("energy"),
        above_chains!("concrete"),
        above_chains!("wine_red"),
        above_chains!("gas"),
        Claim {
            citation: TABLE,
            sentence: "On yacht, all methods with chains predict alike, within 0.06 nats.",
            judge: |evidence| {
                let methods: Vec<_> = [("pmcsa", 10)].into_iter().chain(CHAINS).collect();
                tied(evidence, "yacht", &methods, "lpd", 0.06, STEPS)
            },
        },
        Claim {
            citation: "pMCSA, robust Gaussian process curves",
            sentence: "On yacht, the error of every method with chains is larger than that of the bound.",
            judge: errors_are_larger,
        },
    ]
}

fn bound_wins_gas(evidence: &Evidence) -> Finding {
    let methods: Vec<_> = BOUND.into_iter().chain([("pmcsa", 10)]).chain(CHAINS).collect();
    match ends(evidence, "gas", &methods, "lpd", STEPS) {
        Some(columns) => {
            let what = "mean lpd of the bound on gas above the best of the others";
            Finding::at_least_of(&columns, lead, 1.0, what)
        }
        None => Finding::too_little(format!("not all methods have {STEPS} iterations on gas")),
    }
}

fn errors_are_larger(evidence: &Evidence) -> Finding {
    let methods: Vec<_> = BOUND.into_iter().chain([("pmcsa", 10)]).chain(CHAINS).collect();
    match ends(evidence, "yacht", &methods, "rmse", STEPS) {
        Some(columns) => {
            let mean = super::resampling::mean;
            let least = |columns: &[Vec<f64>]| {
                super::least(columns[1..].iter().map(|column| mean(column))) - mean(&columns[0])
            };
            let what = "least mean error of the methods with chains on yacht less that of the bound";
            Finding::at_least_of(&columns, least, 0.0, what)
        }
        None => Finding::too_little(format!("not all methods have {STEPS} iterations on yacht")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    /// Verdicts on the available data sets; claims on the others abstain.
    fn verdicts(preset: PresetName, value: impl Fn(&str, &str, &str) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-tab-rgp")).unwrap();
        let rows = |task: &Task, _: u64, _: u64| {
            let (set, kind) = (task.target().label(), task.method().kind());
            ["lpd", "rmse"].map(|name| (name, value(set, kind, name))).to_vec()
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), preset, rows);
        robust_process().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let published = |set: &str, kind: &str, name: &str| match (name, set, kind) {
            ("rmse", _, "stl") => 1.0,
            ("rmse", ..) => 1.5,
            (_, "yacht", "stl") => -3.6,
            (_, "yacht", _) => -3.3,
            (_, "boston", _) => -2.96,
            (_, _, "pmcsa") => -1.0,
            _ => -1.6,
        };
        let absent = [2, 6, 8, 11];
        let expected = |verdict| -> Vec<Verdict> {
            (0..14).map(|k| if absent.contains(&k) { TooLittle } else { verdict }).collect()
        };
        assert_eq!(verdicts(PresetName::Paper, published), expected(Agree));
        let opposite = |set: &str, kind: &str, name: &str| {
            -published(set, kind, name) - if kind == "pmcsa" { 0.2 } else { 0.0 }
        };
        assert_eq!(verdicts(PresetName::Paper, opposite), expected(Disagree));
        assert_eq!(verdicts(PresetName::Paper, |_, _, _| f64::NAN), [TooLittle; 14]);
        assert_eq!(verdicts(PresetName::Quick, published), [TooLittle; 14]);
    }
}
