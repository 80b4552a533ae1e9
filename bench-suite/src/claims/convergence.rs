//! Of convergence on the Gaussian with independent coordinates.

use super::{Claim, Finding, greatest, least};
use crate::evidence::{Evidence, Series};

const BUDGETS: [usize; 3] = [4, 16, 64];

/// What CW says of its Fig. 6.
pub fn convergence() -> Vec<Claim> {
    vec![
        Claim {
            citation: "CW, Fig. 6",
            sentence: "For every N, parallel chains halve the initial divergence before conditional importance sampling \
                       does, averaged over candidates or not.",
            judge: parallel_is_first,
        },
        Claim {
            citation: "CW, Fig. 6",
            sentence: "With N = 64 the divergence of a single chain of conditional importance sampling rises again on its way.",
            judge: single_overshoots,
        },
        Claim {
            citation: "CW, Fig. 6",
            sentence: "With N of 16 and more the divergence under parallel chains does not rise.",
            judge: parallel_does_not,
        },
    ]
}

fn of<'a>(evidence: &'a Evidence, kind: &str, budget: usize) -> Option<Series<'a>> {
    evidence.find(|series| series.is(kind, budget))
}

/// Steps, and the median divergence at each.
fn medians(series: &Series<'_>) -> (Vec<f64>, Vec<f64>) {
    let (steps, [median]) = series.quantiles("kl", [0.5]);
    (steps, median)
}

/// The first recorded step at which the median is half of the first; infinite if none is.
fn half_time(series: &Series<'_>) -> f64 {
    let (steps, median) = medians(series);
    let Some(first) = median.first() else { return f64::NAN };
    let found = steps.iter().zip(&median).find(|(_, value)| **value <= 0.5 * first);
    found.map_or(f64::INFINITY, |(step, _)| *step)
}

/// The largest rise of the median above its least value so far, in units of the first.
fn rise(series: &Series<'_>) -> f64 {
    let (_, median) = medians(series);
    let Some(first) = median.first() else { return f64::NAN };
    let (mut least, mut rise) = (*first, 0.0_f64);
    for value in &median {
        rise = rise.max(value - least);
        least = least.min(*value);
    }
    rise / first
}

fn parallel_is_first(evidence: &Evidence) -> Finding {
    let mut ratios = Vec::new();
    for budget in BUDGETS {
        let time = |kind| of(evidence, kind, budget).map(|series| half_time(&series));
        let (Some(parallel), Some(msc), Some(rb)) = (time("pmcsa"), time("msc"), time("msc-rb")) else {
            return Finding::too_little(format!("no fits with N = {budget}"));
        };
        ratios.push(least([msc, rb]) / parallel);
    }
    Finding::at_least(
        least(ratios),
        1.0,
        "half-time of the faster of MSC and MSC-RB over that of pMCSA, least over N",
    )
}

fn single_overshoots(evidence: &Evidence) -> Finding {
    let rises = ["msc", "msc-rb"].map(|kind| of(evidence, kind, 64).map(|series| rise(&series)));
    let [Some(msc), Some(rb)] = rises else { return Finding::too_little("no fits with N = 64") };
    Finding::at_least(
        least([msc, rb]),
        RISE,
        "largest rise of the median divergence, in units of the first, the smaller of both",
    )
}

fn parallel_does_not(evidence: &Evidence) -> Finding {
    let rises = [16, 64].map(|budget| of(evidence, "pmcsa", budget).map(|series| rise(&series)));
    let [Some(some), Some(many)] = rises else { return Finding::too_little("no fits with N of 16 and more") };
    Finding::at_most(
        greatest([some, many]),
        RISE,
        "largest rise of the median divergence, in units of the first",
    )
}

/// What counts as a rise, as a share of the first divergence.
const RISE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    /// A divergence that falls at a rate, with a bump half way.
    fn verdicts(rate: fn(&str) -> f64, bump: fn(&str) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("cw-fig6")).unwrap();
        let rows = |task: &Task, _: u64, step: u64| {
            let kind = task.method().kind();
            let bumped = if step == 1500 { bump(kind) } else { 0.0 };
            vec![("kl", 100.0 * (-(step as f64) * rate(kind)).exp() + bumped)]
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, rows);
        convergence().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn as_published_all_hold() {
        let rate = |kind: &str| if kind == "pmcsa" { 4e-3 } else { 1e-3 };
        let bump = |kind: &str| if kind == "pmcsa" { 0.0 } else { 20.0 };
        assert_eq!(verdicts(rate, bump), [Verdict::Agree; 3]);
    }

    #[test]
    fn the_other_way_round_all_fail() {
        let rate = |kind: &str| if kind == "pmcsa" { 1e-3 } else { 4e-3 };
        let bump = |kind: &str| if kind == "pmcsa" { 20.0 } else { 0.0 };
        assert_eq!(verdicts(rate, bump), [Verdict::Disagree; 3]);
    }

    #[test]
    fn without_rows_all_abstain() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("cw-fig6")).unwrap();
        let mut evidence =
            Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| vec![]);
        assert!(convergence().iter().all(|claim| claim.find(&evidence).verdict == Verdict::TooLittle));
        evidence.outcomes.clear();
        assert!(convergence().iter().all(|claim| claim.find(&evidence).verdict == Verdict::TooLittle));
    }
}
