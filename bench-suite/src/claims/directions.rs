//! Claims on modes that are kept or lost during training.

use super::{Claim, ENOUGH, Finding, greatest, least};
use crate::catalog::Target;
use crate::evidence::Evidence;

/// Claims on mode coverage.
pub fn directions() -> Vec<Claim> {
    const CITATION: &str = "ours";
    vec![
        Claim {
            citation: CITATION,
            sentence: "From a wide start parallel chains keep both modes, in 2 and in 10 dimensions: no replicate's share is off by more \
                       than 0.1.",
            judge: |evidence| {
                let all = both(|dim| off(evidence, dim, "pmcsa", WIDE, "defended"));
                judged(all, |all| Finding::at_most(greatest(all), 0.1, "largest error of a share"))
            },
        },
        Claim {
            citation: CITATION,
            sentence: "From there the bound loses a mode: the share of some replicate is off by more than 0.2.",
            judge: |evidence| {
                let all = both(|dim| off(evidence, dim, "elbo", WIDE, "defended"));
                judged(all, |all| Finding::at_least(greatest(all), 0.2, "largest error of a share"))
            },
        },
        Claim {
            citation: CITATION,
            sentence: "From a start away from both modes, nearer to the first, parallel chains in 10 dimensions do not find the second, defended though they are.",
            judge: |evidence| {
                let all = shares(evidence, 10, "pmcsa", ONE, "defended");
                judged(all, |all| Finding::at_most(greatest(all), 0.05, "largest share of the second mode"))
            },
        },
        Claim {
            citation: CITATION,
            sentence: "With a tempered start they do, in every replicate.",
            judge: |evidence| {
                let all = off(evidence, 10, "pmcsa", ONE, "tempered");
                judged(all, |all| Finding::at_most(greatest(all), 0.1, "largest error of a share"))
            },
        },
        Claim {
            citation: CITATION,
            sentence: "Draws of q do not show a lost mode: where the share is below 0.05, k-hat of 2000 draws is below its threshold, 0.7.",
            judge: silent,
        },
    ]
}

const WIDE: f64 = 0.0;
/// Initial mean outside both modes, nearer to the first.
const ONE: f64 = -4.0;
/// Weight of the second mode.
const SHARE: f64 = 0.3;

fn numbers(evidence: &Evidence, dim: usize, kind: &str, start: f64, schedule: &str, name: &str) -> Vec<f64> {
    let series = evidence.find(|series| {
        matches!(series.target(), Target::Modes { dim: d, .. } if *d == dim)
            && series.method().kind() == kind
            && series.is_from(start, schedule)
    });
    series.map(|series| series.last(name)).unwrap_or_default()
}

fn shares(evidence: &Evidence, dim: usize, kind: &str, start: f64, schedule: &str) -> Vec<f64> {
    numbers(evidence, dim, kind, start, schedule, "share")
}

fn off(evidence: &Evidence, dim: usize, kind: &str, start: f64, schedule: &str) -> Vec<f64> {
    shares(evidence, dim, kind, start, schedule).into_iter().map(|share| (share - SHARE).abs()).collect()
}

/// Values for both dimensions; empty if one is missing.
fn both(of: impl Fn(usize) -> Vec<f64>) -> Vec<f64> {
    let [low, high] = [2, 10].map(of);
    if low.len() < ENOUGH || high.len() < ENOUGH { Vec::new() } else { [low, high].concat() }
}

fn judged(all: Vec<f64>, judge: impl Fn(Vec<f64>) -> Finding) -> Finding {
    if all.len() < ENOUGH { Finding::too_little("too few fits ended") } else { judge(all) }
}

fn silent(evidence: &Evidence) -> Finding {
    let mut shapes = Vec::new();
    for series in evidence.series() {
        for (share, k_hat) in series.last("share").into_iter().zip(series.last("k_hat")) {
            if share < 0.05 {
                shapes.push(k_hat);
            }
        }
    }
    if shapes.len() < ENOUGH {
        return Finding::too_little("fewer than three fits lost the second mode");
    }
    let what = format!(
        "largest k-hat of the {} fits without the second mode; the least is {:.2}",
        shapes.len(),
        least(shapes.clone())
    );
    Finding::at_most(greatest(shapes), 0.7, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(preset: PresetName, share: impl Fn(&str, f64, &str) -> f64, k_hat: f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("flow-directions")).unwrap();
        let rows = |task: &Task, _: u64, _: u64| {
            let Task::Fit(fit) = task else { unreachable!("the file has nothing else") };
            let (schedule, mean, _) = fit.begun().expect("every fit has a schedule");
            let share = share(fit.method.kind(), mean, schedule);
            vec![("share", share), ("k_hat", k_hat)]
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), preset, rows);
        directions().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let as_said = |kind: &str, start: f64, schedule: &str| match (kind, schedule) {
            ("elbo", _) => 0.0,
            (_, "defended") if start == ONE => 0.0,
            _ => 0.3,
        };
        let otherwise = |kind: &str, _: f64, schedule: &str| match (kind, schedule) {
            ("elbo", _) => 0.3,
            ("jsa", _) => 0.0,
            _ => 0.6,
        };
        assert_eq!(verdicts(PresetName::Default, as_said, 0.3), [Agree; 5]);
        assert_eq!(verdicts(PresetName::Default, otherwise, 0.9), [Disagree; 5]);
        assert_eq!(verdicts(PresetName::Quick, as_said, 0.3), [TooLittle; 5]);
    }
}
