//! Claims on a Gaussian fitted to a skew normal.

use mcsa_theory::fixed_point::{Rest, SkewNormal};

use super::resampling::mean;
use super::{Claim, Finding};
use crate::catalog::{Rule, Start};
use crate::evidence::{Evidence, Series};

const CITATION: &str = "MSC, Fig. 1";

/// Claims of MSC on its Fig. 1.
pub fn skew_normal() -> Vec<Claim> {
    vec![
        Claim {
            citation: CITATION,
            sentence: "Importance sampling with two draws is biased: it comes to rest within 0.01 of the place that \
                       quadrature gives.",
            judge: |evidence| rests(evidence, "snis", false, SkewNormal::pairwise(&MSC, POINTS), 0.01),
        },
        Claim {
            citation: CITATION,
            sentence: "Markovian score climbing with two candidates comes to rest at the optimum, within 0.02.",
            judge: |evidence| rests(evidence, "msc-rb", false, Some(MSC.moments()), 0.02),
        },
        Claim {
            citation: CITATION,
            sentence: "Importance sampling underestimates the scale.",
            judge: underestimates,
        },
        Claim {
            citation: CITATION,
            sentence: "With the published steps of 0.5/k, too, Markovian score climbing ends at the optimum, within 0.02.",
            judge: ends_there_as_published,
        },
        Claim {
            citation: CITATION,
            sentence: "With the published steps of 0.5/k, too, importance sampling ends where quadrature says, within 0.01.",
            judge: |evidence| rests(evidence, "snis", true, SkewNormal::pairwise(&MSC, POINTS), 0.01),
        },
        Claim {
            citation: "ours",
            sentence: "From afar, Markovian score climbing comes within 0.1 of the optimum as well.",
            judge: arrives_from_afar,
        },
    ]
}

/// Claims of MSC on its Fig. 6.
pub fn chi_square() -> Vec<Claim> {
    const CITATION: &str = "MSC, Fig. 6";
    vec![
        Claim {
            citation: CITATION,
            sentence: "The chi-square divergence with two draws, weights normalised by their sum, comes to rest within 0.02 \
                       of the place that quadrature gives.",
            judge: |evidence| {
                rests(evidence, "chivi", false, SkewNormal::pairwise_chi_square(&MSC, POINTS), 0.02)
            },
        },
        Claim {
            citation: CITATION,
            sentence: "So it does with weights divided by the largest.",
            judge: |evidence| {
                rests(
                    evidence,
                    "chivi-max",
                    false,
                    SkewNormal::pairwise_chi_square_by_max(&MSC, POINTS),
                    0.02,
                )
            },
        },
        Claim {
            citation: CITATION,
            sentence: "With steps of 0.5/k, as in Fig. 1, the first of them, too, ends where quadrature says, within 0.02.",
            judge: |evidence| {
                rests(evidence, "chivi", true, SkewNormal::pairwise_chi_square(&MSC, POINTS), 0.02)
            },
        },
        Claim {
            citation: CITATION,
            sentence: "And so does the second.",
            judge: |evidence| {
                rests(evidence, "chivi-max", true, SkewNormal::pairwise_chi_square_by_max(&MSC, POINTS), 0.02)
            },
        },
        Claim {
            citation: CITATION,
            sentence: "Both underestimate the scale of its exact optimum, the root of 2, by more than 0.2.",
            judge: far_below,
        },
    ]
}

/// The target, standardised to location 0 and scale 1.
pub(crate) const MSC: SkewNormal = SkewNormal { shape: 5.0 };
/// Number of quadrature points: exact to 1e-8.
pub(crate) const POINTS: usize = 400;

/// Mean and scale of a rest point for the target itself, which has location 1/2 and scale 2.
pub(crate) fn placed(rest: Rest) -> (f64, f64) {
    (0.5 + 2.0 * rest.mean, 2.0 * rest.deviation)
}

/// Returns true if a fit begins near the optimum.
pub(crate) fn is_near(series: &Series<'_>) -> bool {
    matches!(series.fit().map(|fit| fit.start), Some(Start::Placed { mean, .. }) if mean > 0.0)
}

/// Returns true if the step sizes are the published ones, `0.5 / k`, under which a fit never becomes independent of its
/// start.
pub(crate) fn is_published(series: &Series<'_>) -> bool {
    matches!(series.rule(), Some(Rule::Sgd(rule)) if rule.rate.at(STEPS) < 1e-6)
}

/// Smallest number of steps after which a fit counts as converged.
const STEPS: u64 = 1_000_000;

/// Means of mean and scale over replicates at the end.
fn end(evidence: &Evidence, kind: &str, near: bool, published: bool) -> Option<(f64, f64)> {
    let series = evidence.find(|series| {
        series.method().kind() == kind && is_near(series) == near && is_published(series) == published
    })?;
    series.fit().filter(|fit| fit.steps >= STEPS)?;
    let ends = ["mean", "scale"].map(|name| series.last(name));
    (ends.iter().all(|column| !column.is_empty())).then(|| (mean(&ends[0]), mean(&ends[1])))
}

const SHORT: &str = "no fits of a million steps";

fn distance(found: (f64, f64), place: (f64, f64)) -> f64 {
    super::greatest([(found.0 - place.0).abs(), (found.1 - place.1).abs()])
}

fn rests(evidence: &Evidence, kind: &str, published: bool, rest: Option<Rest>, within: f64) -> Finding {
    let (Some(found), Some(rest)) = (end(evidence, kind, true, published), rest) else {
        return Finding::too_little(SHORT);
    };
    let place = placed(rest);
    let what = format!(
        "distance of mean and scale, ({:.4}, {:.4}) on average over replicates, from ({:.4}, {:.4}), the larger",
        found.0, found.1, place.0, place.1
    );
    Finding::at_most(distance(found, place), within, what)
}

fn underestimates(evidence: &Evidence) -> Finding {
    let Some((_, scale)) = end(evidence, "snis", true, false) else { return Finding::too_little(SHORT) };
    let what = "mean scale of importance sampling less the true one";
    // A tenth of the value by quadrature.
    Finding::at_most(scale - placed(MSC.moments()).1, -0.016, what)
}

fn ends_there_as_published(evidence: &Evidence) -> Finding {
    let Some(found) = end(evidence, "msc-rb", true, true) else { return Finding::too_little(SHORT) };
    let what = format!("distance of ({:.4}, {:.4}) from the optimum, the larger", found.0, found.1);
    Finding::at_most(distance(found, placed(MSC.moments())), 0.02, what)
}

fn arrives_from_afar(evidence: &Evidence) -> Finding {
    let Some(found) = end(evidence, "msc-rb", false, false) else { return Finding::too_little(SHORT) };
    let what = format!("distance of ({:.4}, {:.4}) from the optimum, the larger", found.0, found.1);
    Finding::at_most(distance(found, placed(MSC.moments())), 0.1, what)
}

fn far_below(evidence: &Evidence) -> Finding {
    let scales = ["chivi", "chivi-max"].map(|kind| end(evidence, kind, true, false).map(|(_, scale)| scale));
    let [Some(sum), Some(max)] = scales else { return Finding::too_little(SHORT) };
    let what = "greater of the mean scales less the root of 2";
    Finding::at_most(super::greatest([sum, max]) - 2.0_f64.sqrt(), -0.2, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(
        file: &str,
        claims: fn() -> Vec<Claim>,
        preset: PresetName,
        end: impl Fn(&str) -> (f64, f64),
    ) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains(file)).unwrap();
        let rows = |task: &Task, _: u64, _: u64| {
            let (mean, scale) = end(task.method().kind());
            vec![("mean", mean), ("scale", scale)]
        };
        let evidence = Evidence::synthetic(entry.experiment().unwrap(), preset, rows);
        claims().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let rests = |kind: &str| match kind {
            "snis" => (2.0375, 1.0823),
            "msc-rb" => (2.0648, 1.2456),
            "chivi" => (2.0030, 1.1115),
            _ => (1.9279, 0.9844),
        };
        let swapped = |kind: &str| match kind {
            "snis" => (2.0648, 1.2456),
            "msc-rb" => (2.2, 1.0823),
            _ => (1.989, 1.4),
        };
        let first = |preset, end: fn(&str) -> (f64, f64)| verdicts("msc-fig1", skew_normal, preset, end);
        let sixth = |preset, end: fn(&str) -> (f64, f64)| verdicts("msc-fig6", chi_square, preset, end);
        assert_eq!(first(PresetName::Default, rests), [Agree; 6]);
        assert_eq!(sixth(PresetName::Default, rests), [Agree; 5]);
        assert_eq!(first(PresetName::Default, swapped), [Disagree; 6]);
        assert_eq!(sixth(PresetName::Default, swapped), [Disagree; 5]);
        assert_eq!(first(PresetName::Quick, rests), [TooLittle; 6]);
        assert_eq!(sixth(PresetName::Default, |_| (f64::NAN, 1.0))[..4], [TooLittle; 4]);
    }
}
