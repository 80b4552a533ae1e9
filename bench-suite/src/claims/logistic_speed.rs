//! Claims on the speed of logistic regression.

use super::resampling::{Columns, mean};
use super::{Claim, Finding, greatest, least};
use crate::evidence::Evidence;
use crate::quantile::quantile;

/// Claims of CW on its Fig. 2, 3 and 5.
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
        Claim {
            citation: "CW, Fig. 2",
            sentence: "Averaging over candidates learns no slower than the single candidate: after two thousand steps it is \
                       within 0.01 nats a row, or above.",
            judge: averaging_helps,
        },
        Claim {
            citation: "CW, Fig. 2",
            sentence: "SNIS learns slowest of the inclusive methods.",
            judge: importance_is_slowest,
        },
        Claim {
            citation: "CW, Fig. 2",
            sentence: "The bound is slow to start: after a thousand steps it is below parallel chains by 0.02 nats a row.",
            judge: bound_starts_slowly,
        },
        Claim {
            citation: "CW, Fig. 3; CW, Fig. 5",
            sentence: "On german and heart, k-hat under parallel chains is below 1.8 after a thousand steps.",
            judge: |evidence| {
                tail(evidence, "pmcsa", 1_000, |all| Finding::at_most(greatest(all), 1.8, TAIL))
            },
        },
        Claim {
            citation: "CW, Fig. 3; CW, Fig. 5",
            sentence: "Under the evidence bound it is then still above 10.",
            judge: |evidence| tail(evidence, "elbo", 1_000, |all| Finding::at_least(least(all), 10.0, TAIL)),
        },
        Claim {
            citation: "CW, Fig. 3; CW, Fig. 5",
            sentence: "Under the evidence bound it is still above 2 after four thousand steps.",
            judge: |evidence| tail(evidence, "elbo", 4_000, |all| Finding::at_least(least(all), 2.0, TAIL)),
        },
        Claim {
            citation: "CW, Fig. 3; CW, Fig. 5",
            sentence: "Under no method does it fall below 0.7: importance sampling from the fit is not to be trusted.",
            judge: never_trusted,
        },
    ]
}

const SETS: [&str; 3] = ["pima", "heart_cleveland_303", "german_credit_numeric"];

/// Log predictive density at a step or at the end, in a column for each data set and kind.
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

/// Mean of the first kind minus the largest mean of the others, smallest over data sets.
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

fn averaging_helps(evidence: &Evidence) -> Finding {
    let what = "mean log predictive density of MSC-RB above that of MSC at step 2000, least over sets";
    leads(evidence, &["msc-rb", "msc"], Some(2_000), -0.01, what)
}

fn importance_is_slowest(evidence: &Evidence) -> Finding {
    let kinds = ["snis", "pmcsa", "msc", "msc-rb", "rws"];
    let Some(columns) = columns(evidence, &kinds, Some(1_000)) else {
        return Finding::too_little("not every method was run on every set");
    };
    let behind = |columns: &[Vec<f64>]| {
        let each = columns.chunks(kinds.len());
        greatest(each.map(|set| mean(&set[0]) - least(set[1..].iter().map(|column| mean(column)))))
    };
    let what =
        "mean log predictive density of SNIS above the lowest of the others at step 1000, greatest over sets";
    Finding::at_most_of(&columns, behind, 0.0, what)
}

fn bound_starts_slowly(evidence: &Evidence) -> Finding {
    let what = "mean log predictive density of pMCSA above that of ELBO at step 1000, least over sets";
    leads(evidence, &["pmcsa", "elbo"], Some(1_000), 0.02, what)
}

fn bound_catches_up(evidence: &Evidence) -> Finding {
    let what = "mean log predictive density of ELBO above that of pMCSA at the end, least over sets";
    leads(evidence, &["elbo", "pmcsa"], None, -0.02, what)
}

const TAIL: &str = "median k-hat, the worse for the claim of german and heart";

/// Finding on the median k-hat of a method at a step, on german and heart; only if k-hat could be estimated in more than half
/// of the fits.
fn tail(evidence: &Evidence, kind: &str, step: u64, judge: fn(Vec<f64>) -> Finding) -> Finding {
    let mut all = Vec::new();
    for set in &SETS[1..] {
        let found = evidence.of_target(set).into_iter().find(|series| series.method().kind() == kind);
        let Some(series) = found else { return Finding::too_little("not every method was run on every set") };
        let mut values = series.at(step, "k_hat");
        let unknown = values.iter().filter(|value| value.is_nan()).count();
        if values.is_empty() || 2 * unknown >= values.len() {
            let reason = format!(
                "k-hat of {kind} on {set} at step {step}: the weights do not tell in {unknown} of {} fits",
                values.len()
            );
            return Finding::too_little(reason);
        }
        // A k-hat that cannot be estimated counts as worse than any number.
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = f64::INFINITY);
        all.push(quantile(&mut values, 0.5));
    }
    judge(all)
}

fn never_trusted(evidence: &Evidence) -> Finding {
    let mut all = Vec::new();
    for series in SETS.iter().flat_map(|set| evidence.of_target(set)) {
        let mut values = series.last("k_hat");
        all.push(if values.is_empty() { f64::NAN } else { quantile(&mut values, 0.5) });
    }
    Finding::at_least(least(all), 0.7, "least median k-hat at the end, over methods and sets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(lpd: impl Fn(&str, u64) -> Option<f64>, k_hat: fn(&str, u64) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("k003-fig2-logistic")).unwrap();
        let rows = |task: &Task, _: u64, step: u64| {
            let kind = task.method().kind();
            let Some(lpd) = lpd(kind, step) else { return Vec::new() };
            vec![("lpd", lpd), ("k_hat", k_hat(kind, step))]
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, rows);
        logistic_speed().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let speed = |kind: &str| match kind {
            "pmcsa" => 5.0,
            "rws" => 2.0,
            "snis" => 0.5,
            _ => 1.0,
        };
        let at = |speed: f64, step: u64| Some(-(-(step as f64) * speed / 1e3).exp());
        let heavy = |kind: &str, step| match (kind, step) {
            ("pmcsa", _) => 1.5,
            ("elbo", ..2_000) => 15.0,
            _ => 2.5,
        };
        assert_eq!(verdicts(|kind, step| at(speed(kind), step), heavy), [Verdict::Agree; 10]);
        let opposite = |kind: &str, step| match kind {
            "elbo" => Some(if step < 5_000 { 0.0 } else { -1.0 }),
            "msc-rb" => at(0.1, step),
            _ => at(1.0 / speed(kind), step),
        };
        let light = |kind: &str, _| if kind == "pmcsa" { 2.0 } else { 0.5 };
        assert_eq!(verdicts(opposite, light), [Verdict::Disagree; 10]);
        assert_eq!(verdicts(|_, _| None, heavy), [Verdict::TooLittle; 10]);
        let untold = verdicts(|kind, step| at(speed(kind), step), |_, _| f64::NAN);
        assert_eq!(untold[6..], [Verdict::TooLittle; 4]);
    }
}
