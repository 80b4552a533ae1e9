//! Claims on convergence for a Gaussian with independent coordinates.

use super::curves::Curves;
use super::resampling::median;
use super::{Claim, Finding, greatest, least};
use crate::evidence::Evidence;

const BUDGETS: [usize; 3] = [4, 16, 64];

/// Claims of CW on its Fig. 6.
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

/// Divergence curves of methods with their N; `None` if one has not been run.
fn curves(evidence: &Evidence, methods: &[(&str, usize)]) -> Option<Curves> {
    let series = |(kind, budget): &(&str, usize)| evidence.find(|series| series.is(kind, *budget));
    Curves::of(&methods.iter().map(series).collect::<Option<Vec<_>>>()?, "kl")
}

/// Largest rise of a curve above its minimum so far, divided by its first value.
fn rise(curve: &[f64]) -> f64 {
    let (mut least, mut rise) = (curve[0], 0.0_f64);
    for value in curve {
        rise = rise.max(value - least);
        least = least.min(*value);
    }
    rise / curve[0]
}

fn parallel_is_first(evidence: &Evidence) -> Finding {
    let methods: Vec<_> =
        BUDGETS.iter().flat_map(|n| ["pmcsa", "msc", "msc-rb"].map(|kind| (kind, *n))).collect();
    let Some(curves) = curves(evidence, &methods) else { return Finding::too_little(MISSING) };
    let worst = |columns: &[Vec<f64>]| {
        let half_time = |curve: &Vec<f64>| curves.first(curve, |value| value <= 0.5 * curve[0]);
        let times: Vec<f64> = curves.each(columns, median).iter().map(half_time).collect();
        least(times.chunks(3).map(|times| least([times[1], times[2]]) / times[0]))
    };
    let what = "half-time of the faster of MSC and MSC-RB over that of pMCSA, least over N";
    Finding::at_least_of(&curves.columns, worst, 1.0, what)
}

const RISES: &str = "largest rise of the median divergence, in units of the first";

fn single_overshoots(evidence: &Evidence) -> Finding {
    let Some(curves) = curves(evidence, &[("msc", 64), ("msc-rb", 64)]) else {
        return Finding::too_little(MISSING);
    };
    let smaller = |columns: &[Vec<f64>]| least(curves.each(columns, median).iter().map(|curve| rise(curve)));
    Finding::at_least_of(&curves.columns, smaller, RISE, &format!("{RISES}, the smaller of both"))
}

fn parallel_does_not(evidence: &Evidence) -> Finding {
    let Some(curves) = curves(evidence, &[("pmcsa", 16), ("pmcsa", 64)]) else {
        return Finding::too_little(MISSING);
    };
    let larger =
        |columns: &[Vec<f64>]| greatest(curves.each(columns, median).iter().map(|curve| rise(curve)));
    Finding::at_most_of(&curves.columns, larger, RISE, &format!("{RISES}, the larger of both"))
}

const MISSING: &str = "not every method was run with every N";

/// Smallest rise that counts, as a fraction of the first divergence.
const RISE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    /// A divergence that decreases at a rate, with a bump half way.
    fn verdicts(rate: fn(&str) -> f64, bump: fn(&str) -> f64) -> Vec<Verdict> {
        let entry =
            REGISTRY.iter().find(|entry| entry.file.contains("k003-fig6-isotropic-gaussian")).unwrap();
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
        let entry =
            REGISTRY.iter().find(|entry| entry.file.contains("k003-fig6-isotropic-gaussian")).unwrap();
        let mut evidence =
            Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| vec![]);
        assert!(convergence().iter().all(|claim| claim.find(&evidence).verdict == Verdict::TooLittle));
        evidence.outcomes.clear();
        assert!(convergence().iter().all(|claim| claim.find(&evidence).verdict == Verdict::TooLittle));
    }
}
