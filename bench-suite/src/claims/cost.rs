//! Claims on evaluations per step.

use super::{Claim, Finding, greatest};
use crate::evidence::Evidence;
use crate::tables::cost::{Least, counted};

/// Claims of the papers' tables of costs.
pub fn cost() -> Vec<Claim> {
    vec![
        Claim {
            citation: "ours",
            sentence: "No method evaluates anything more often than it must.",
            judge: |evidence| {
                farthest(evidence, |row| Some(row.least), |off| off, "evaluations above the least, at most")
            },
        },
        Claim {
            citation: "pMCSA, Tab. 2; MCMC-SE, Tab. 1",
            sentence: "The counts are those of the table, with N candidates in all.",
            judge: |evidence| {
                farthest(evidence, |row| row.printed, f64::abs, "largest difference from a printed cell")
            },
        },
        Claim {
            citation: "CW, Tab. 1",
            sentence: "The counts are those of the table, with K candidates in all.",
            judge: |evidence| {
                farthest(
                    evidence,
                    |row| row.printed_by_cw,
                    f64::abs,
                    "largest difference from a printed cell",
                )
            },
        },
    ]
}

/// Largest difference between counted evaluations and a table, over all methods in the table.
fn farthest(
    evidence: &Evidence,
    of: fn(&Least) -> Option<[f64; 5]>,
    size: fn(f64) -> f64,
    what: &str,
) -> Finding {
    let mut off = Vec::new();
    for series in evidence.series() {
        let row = Least::of(series.method());
        if let Some(expected) = of(&row) {
            off.extend(
                counted(&series).into_iter().zip(expected).map(|(found, expected)| size(found - expected)),
            );
        }
    }
    Finding::at_most(greatest(off), 0.01, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::experiment::PresetName;
    use crate::registry::REGISTRY;

    /// Verdicts for `times` the minimal number of evaluations in every step.
    fn verdicts(times: f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("mcsa-tab-cost")).unwrap();
        let mut evidence =
            Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| Vec::new());
        for outcome in evidence.outcomes.iter_mut().filter(|_| times > 0.0) {
            let [p, q, draws, gradients, scores] = Least::of(outcome.job.task.method()).least;
            let is_noise = matches!(outcome.job.task.method().kind(), "elbo" | "stl");
            let q = if is_noise { q } else { q - draws };
            let names = ["p_evaluations", "q_evaluations", "q_draws", "p_gradients", "q_scores"];
            let counts = names.into_iter().zip([p, q, draws, gradients, scores]);
            outcome.ended.counts =
                counts.map(|(name, count)| (name.to_owned(), (1e4 * times * count).round() as u64)).collect();
        }
        cost().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(verdicts(1.0), [Agree, Agree, Disagree]);
        assert_eq!(verdicts(2.0), [Disagree; 3]);
        assert_eq!(verdicts(0.0), [TooLittle; 3]);
    }
}
