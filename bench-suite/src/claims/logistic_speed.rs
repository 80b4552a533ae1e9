//! Of how fast logistic regression is learned.

use super::resampling::{Columns, mean};
use super::{Claim, Finding, greatest, least};
use crate::evidence::Evidence;

/// What CW says of its Fig. 2.
pub fn logistic_speed() -> Vec<Claim> {
    vec![
        Claim {
            citation: "CW, Fig. 2",
            sentence: "Parallel chains learn fastest of the inclusive methods: after a thousand steps their log predictive \
                       density is the highest on every set.",
            judge: parallel_is_fastest,
        },
        Claim {
            citation: "CW, Fig. 2",
            sentence: "RWS learns faster than conditional importance sampling, averaged over candidates or not.",
            judge: wake_beats_candidates,
        },
        Claim {
            citation: "CW, Fig. 2",
            sentence: "At the end the evidence bound predicts as well as parallel chains, to 0.02 nats a row.",
            judge: bound_catches_up,
        },
    ]
}

const SETS: [&str; 3] = ["pima", "heart_cleveland_303", "german_credit_numeric"];

/// A column for each set and kind: the log predictive density, at a step or at the end.
fn columns(evidence: &Evidence, kinds: &[&str], step: Option<u64>) -> Option<Columns> {
    let mut columns = Columns::new();
    for set in SETS {
        for kind in kinds {
            let series =
                evidence.of_target(set).into_iter().find(|series| series.method().kind() == *kind)?;
            columns.push(step.map_or_else(|| series.last("lpd"), |step| series.at(step, "lpd")));
        }
    }
    Some(columns)
}

/// How far the mean of the first kind is above the greatest of the others, least over sets.
fn lead(columns: &[Vec<f64>], kinds: usize) -> f64 {
    let each = columns.chunks(kinds).map(|set| mean(&set[0]) - greatest(set[1..].iter().map(|c| mean(c))));
    least(each)
}

fn leads(evidence: &Evidence, kinds: &[&str], step: Option<u64>, by: f64, what: &str) -> Finding {
    let Some(columns) = columns(evidence, kinds, step) else {
        return Finding::too_little("not every method was run on every set");
    };
    Finding::at_least_of(&columns, |columns| lead(columns, kinds.len()), by, what)
}

fn parallel_is_fastest(evidence: &Evidence) -> Finding {
    let what =
        "mean log predictive density of pMCSA above the best of the others at step 1000, least over sets";
    leads(evidence, &["pmcsa", "msc", "msc-rb", "snis", "rws"], Some(1_000), 0.0, what)
}

fn wake_beats_candidates(evidence: &Evidence) -> Finding {
    let what =
        "mean log predictive density of RWS above the better of MSC and MSC-RB at step 2000, least over sets";
    leads(evidence, &["rws", "msc", "msc-rb"], Some(2_000), 0.0, what)
}

fn bound_catches_up(evidence: &Evidence) -> Finding {
    let what = "mean log predictive density of ELBO above that of pMCSA at the end, least over sets";
    leads(evidence, &["elbo", "pmcsa"], None, -0.02, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(lpd: impl Fn(&str, u64) -> Option<f64>) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("cw-fig2")).unwrap();
        let rows = |task: &Task, _: u64, step: u64| {
            lpd(task.method().kind(), step).map(|value| ("lpd", value)).into_iter().collect()
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, rows);
        logistic_speed().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let speed = |kind: &str| match kind {
            "pmcsa" => 5.0,
            "rws" => 2.0,
            _ => 1.0,
        };
        let at = |speed: f64, step: u64| Some(-(-(step as f64) * speed / 1e3).exp());
        assert_eq!(verdicts(|kind, step| at(speed(kind), step)), [Verdict::Agree; 3]);
        let opposite = |kind: &str, step| match kind {
            "elbo" => Some(-1.0),
            _ => at(1.0 / speed(kind), step),
        };
        assert_eq!(verdicts(opposite), [Verdict::Disagree; 3]);
        assert_eq!(verdicts(|_, _| None), [Verdict::TooLittle; 3]);
    }
}
