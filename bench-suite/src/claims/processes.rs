//! Claims on Gaussian process classification.

use super::resampling::{Columns, mean};
use super::{Claim, Finding, greatest, least};
use crate::evidence::Evidence;

const SETS: [&str; 3] = ["sonar", "ionosphere", "breast_wdbc"];
const INCLUSIVE: [&str; 5] = ["pmcsa", "jsa", "msc", "msc-rb", "snis"];

/// Claims of MCMC-SE on its Tab. 3.
pub fn processes() -> Vec<Claim> {
    vec![
        Claim {
            citation: "MCMC-SE, Tab. 3",
            sentence: "On every set, the log predictive density of parallel chains is the best of the inclusive methods, to 0.01.",
            judge: |evidence| lead(evidence, &SETS, &INCLUSIVE, -0.01),
        },
        Claim {
            citation: "MCMC-SE, Tab. 3",
            sentence: "On sonar and ionosphere it is better than that of the evidence bound, by 0.03.",
            judge: |evidence| lead(evidence, &SETS[..2], &["pmcsa", "stl"], 0.03),
        },
        Claim {
            citation: "MCMC-SE, Tab. 3",
            sentence: "On breast, all methods are equally accurate, to 0.01.",
            judge: equally_accurate,
        },
    ]
}

/// Number of steps of the published fits.
const STEPS: u64 = 10_000;

/// Last value of a metric, in a column for each data set and kind of method; or a finding that states why there is none.
fn ends(evidence: &Evidence, sets: &[&str], kinds: &[&str], name: &str) -> Result<Columns, Finding> {
    let mut columns = Columns::new();
    for set in sets {
        for kind in kinds {
            let found =
                evidence.find(|series| series.target().label() == *set && series.method().kind() == *kind);
            let Some(series) = found else {
                return Err(Finding::too_little(format!("no fits of {set} by {kind}")));
            };
            let last = series.steps().last().copied().unwrap_or(0);
            if last < STEPS {
                return Err(Finding::too_little(format!("fits of {last} steps; the claim is of {STEPS}")));
            }
            columns.push(series.last(name));
        }
    }
    Ok(columns)
}

/// Finding on the lead of the first kind over the best of the others, smallest over data sets.
fn lead(evidence: &Evidence, sets: &[&str], kinds: &[&str], by: f64) -> Finding {
    let columns = match ends(evidence, sets, kinds, "lpd") {
        Ok(columns) => columns,
        Err(finding) => return finding,
    };
    let lead = |columns: &[Vec<f64>]| {
        let each = columns.chunks(kinds.len());
        least(each.map(|set| mean(&set[0]) - greatest(set[1..].iter().map(|column| mean(column)))))
    };
    let what = "mean log predictive density of pMCSA above the best other, least over sets";
    Finding::at_least_of(&columns, lead, by, what)
}

fn equally_accurate(evidence: &Evidence) -> Finding {
    let kinds = [&INCLUSIVE[..], &["stl"]].concat();
    let columns = match ends(evidence, &SETS[2..], &kinds, "accuracy") {
        Ok(columns) => columns,
        Err(finding) => return finding,
    };
    let spread = |columns: &[Vec<f64>]| {
        let means = || columns.iter().map(|column| mean(column));
        least(means()) - greatest(means())
    };
    Finding::at_least_of(&columns, spread, -0.01, "least mean accuracy less the greatest")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(preset: PresetName, value: fn(&str) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("k000-tab3-gpc")).unwrap();
        let mut experiment = entry.experiment().unwrap();
        if let Some(preset) = experiment.presets.get_mut(&preset) {
            preset.replicates = 5;
        }
        let rows = |task: &Task, _: u64, _: u64| {
            let value = value(task.method().kind());
            vec![("lpd", value), ("accuracy", 0.9 + 0.1 * value)]
        };
        let evidence = Evidence::synthetic(experiment, preset, rows);
        processes().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let published = |kind: &str| match kind {
            "pmcsa" => -0.3,
            "stl" => -0.36,
            _ => -0.32,
        };
        assert_eq!(verdicts(PresetName::Paper, published), [Agree; 3]);
        let opposite = |kind: &str| if kind == "pmcsa" { -0.9 } else { -0.3 };
        assert_eq!(verdicts(PresetName::Paper, opposite), [Disagree; 3]);
        assert_eq!(verdicts(PresetName::Paper, |_| f64::NAN), [TooLittle; 3]);
        assert_eq!(verdicts(PresetName::Quick, published), [TooLittle; 3]);
    }
}
