//! Claims on fitted means as functions of the number of candidates.

use super::resampling::{Columns, mean};
use super::{Claim, Finding, greatest, least};
use crate::evidence::{Evidence, Series};
use crate::metric::Vector;

const CITATION: &str = "MSC, Fig. 2";
/// Smallest number of steps after which a fit counts as converged.
const STEPS: u64 = 10_000;
const HEART: &str = "heart_cleveland";

/// Claims of MSC on its Fig. 2.
pub fn robustness() -> Vec<Claim> {
    vec![
        Claim {
            citation: CITATION,
            sentence: "On heart, in two of three coordinates or more, the mean that MSC fits varies less with the number of \
                       candidates than that of importance sampling.",
            judge: |evidence| varies_less(evidence, HEART),
        },
        Claim {
            citation: CITATION,
            sentence: "On heart, importance sampling with two draws is off, by a twentieth of the posterior's scale or more.",
            judge: |evidence| is_off(evidence, HEART),
        },
        Claim {
            citation: "ours",
            sentence: "On ionosphere, too, the mean that MSC fits varies less, in two of three coordinates or more.",
            judge: |evidence| varies_less(evidence, "ionosphere"),
        },
    ]
}

/// Number of candidates, including the retained point.
pub(crate) fn candidates(series: &Series<'_>) -> usize {
    series.method().budget() + usize::from(series.method().kind() == "msc-rb")
}

/// Fits of a data set by one method, by increasing number of candidates.
pub(crate) fn by_candidates<'a>(evidence: &'a Evidence, set: &str, kind: &str) -> Vec<Series<'a>> {
    let mut all = evidence.of_target(set);
    all.retain(|series| series.method().kind() == kind);
    all.sort_by_key(candidates);
    all
}

/// Three coordinates, with mean and scale under expectation propagation: those with the smallest, the median and the largest
/// scale.
pub(crate) fn representatives(evidence: &Evidence, set: &str) -> Option<[(usize, f64, f64); 3]> {
    let exact = evidence.find(|series| series.target().label() == set && series.method().kind() == "ep")?;
    let first = |vector| exact.last_vectors(vector).first().map(|values| values.to_vec());
    let (means, log_scales) = (first(Vector::Means)?, first(Vector::LogScales)?);
    let coordinates = means.iter().zip(&log_scales).enumerate();
    let mut all: Vec<(usize, f64, f64)> = coordinates.map(|(k, (mean, log))| (k, *mean, log.exp())).collect();
    if all.len() < 3 {
        return None;
    }
    all.sort_by(|a, b| a.2.total_cmp(&b.2));
    Some([all[0], all[all.len() / 2], all[all.len() - 1]])
}

/// For each of the three coordinates: fitted means, in a column for each number of candidates.
fn fitted(evidence: &Evidence, set: &str, kind: &str) -> Option<[(Columns, f64, f64); 3]> {
    let series = by_candidates(evidence, set, kind);
    let is_long = |series: &Series<'_>| series.fit().is_some_and(|fit| fit.steps >= STEPS);
    if series.len() < 3 || !series.iter().all(is_long) {
        return None;
    }
    let columns = |k: usize| series.iter().map(|s| s.last_entries(Vector::Means, k)).collect::<Columns>();
    Some(representatives(evidence, set)?.map(|(k, mean, scale)| (columns(k), mean, scale)))
}

/// Range of the means over replicates.
fn range(columns: &[Vec<f64>]) -> f64 {
    let means = || columns.iter().map(|column| mean(column));
    greatest(means()) - least(means())
}

fn missing(set: &str) -> Finding {
    Finding::too_little(format!("no fits of {set} with {STEPS} steps and three numbers of candidates"))
}

/// Finding on the second largest of three gains, which is positive if two of them are.
fn varies_less(evidence: &Evidence, set: &str) -> Finding {
    let (Some(ours), Some(theirs)) = (fitted(evidence, set, "msc-rb"), fitted(evidence, set, "snis")) else {
        return missing(set);
    };
    let sizes: Vec<usize> = ours.iter().chain(&theirs).map(|(columns, ..)| columns.len()).collect();
    let scales = ours.each_ref().map(|(_, _, scale)| *scale);
    let told: Vec<String> = (0..3)
        .map(|k| format!("{:.3} and {:.3}", range(&ours[k].0) / scales[k], range(&theirs[k].0) / scales[k]))
        .collect();
    let columns: Columns = ours.into_iter().chain(theirs).flat_map(|(columns, ..)| columns).collect();
    let gain = |columns: &[Vec<f64>]| {
        let mut from = 0;
        let ranges: Vec<f64> = sizes
            .iter()
            .map(|size| {
                from += size;
                range(&columns[from - size..from])
            })
            .collect();
        let mut gains = [0, 1, 2].map(|k| (ranges[3 + k] - ranges[k]) / scales[k]);
        if gains.iter().any(|gain| gain.is_nan()) {
            return f64::NAN;
        }
        gains.sort_by(f64::total_cmp);
        gains[1]
    };
    let what = format!(
        "range over S of the fitted mean in posterior scales, MSC and importance sampling: {}; the middle of three gains",
        told.join(", ")
    );
    Finding::at_least_of(&columns, gain, 0.0, &what)
}

fn is_off(evidence: &Evidence, set: &str) -> Finding {
    let Some(found) = fitted(evidence, set, "snis") else { return missing(set) };
    let scales = found.each_ref().map(|(_, exact, scale)| (*exact, *scale));
    let columns: Columns = found.into_iter().map(|(mut columns, ..)| columns.swap_remove(0)).collect();
    let off = |columns: &[Vec<f64>]| {
        let each = columns.iter().zip(scales).map(|(c, (exact, scale))| (mean(c) - exact).abs() / scale);
        greatest(each)
    };
    let what = "distance of the fitted mean from that of expectation propagation, in its scales, the greatest of three";
    Finding::at_least_of(&columns, off, 0.05, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(preset: PresetName, mean: impl Fn(&str, usize) -> f64) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("msc-fig2")).unwrap();
        let rows = |task: &Task, replicate: u64, _: u64| {
            let (kind, size) = (task.method().kind(), task.method().budget());
            let noise = if kind == "ep" { 0.0 } else { 1e-4 * (replicate % 3) as f64 };
            let value = mean(kind, size) + noise;
            let vectors = vec![(Vector::Means, vec![value; 3]), (Vector::LogScales, vec![0.0, 0.1, 0.2])];
            (Vec::new(), vectors)
        };
        let evidence = Evidence::with_vectors(entry.experiment().unwrap(), preset, rows);
        robustness().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let published = |kind: &str, size: usize| if kind == "snis" { 1.0 / size as f64 } else { 0.0 };
        assert_eq!(verdicts(PresetName::Default, published), [Agree; 3]);
        let opposite = |kind: &str, size: usize| if kind == "msc-rb" { 1.0 / size as f64 } else { 0.0 };
        assert_eq!(verdicts(PresetName::Default, opposite), [Disagree; 3]);
        assert_eq!(verdicts(PresetName::Quick, published), [TooLittle; 3]);
        assert_eq!(verdicts(PresetName::Default, |_, _| f64::NAN), [TooLittle; 3]);
    }
}
