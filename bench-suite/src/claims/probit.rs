//! Claims on probit regression: test errors, and posterior scales under two estimators.

use super::resampling::{Columns, mean};
use super::{Claim, Finding};
use crate::evidence::{Evidence, Series};
use crate::metric::Vector;
use crate::quantile::quantile;

const TABLE: &str = "MSC, Tab. 1";
const SCALES: &str = "MSC, Fig. 4";
/// Smallest number of steps after which a fit counts as converged.
const STEPS: u64 = 10_000;

/// Claims of MSC on its Tab. 1 and Fig. 4.
pub fn probit() -> Vec<Claim> {
    vec![
        Claim {
            citation: TABLE,
            sentence: "On pima, the test error of MSC is within 0.01 of that of expectation propagation.",
            judge: |evidence| is_close(evidence, "pima"),
        },
        Claim {
            citation: TABLE,
            sentence: "On ionosphere, it is.",
            judge: |evidence| is_close(evidence, "ionosphere"),
        },
        Claim {
            citation: TABLE,
            sentence: "On heart, it is.",
            judge: |evidence| is_close(evidence, "heart_cleveland"),
        },
        Claim {
            citation: TABLE,
            sentence: "On pima, proposals from the prior raise the error of MSC by 0.15 or more.",
            judge: |evidence| prior_is_worse(evidence, "pima", 0.15),
        },
        Claim {
            citation: TABLE,
            sentence: "On ionosphere, they do so by 0.05 or more.",
            judge: |evidence| prior_is_worse(evidence, "ionosphere", 0.05),
        },
        Claim {
            citation: TABLE,
            sentence: "On heart, they do so by 0.15 or more.",
            judge: |evidence| prior_is_worse(evidence, "heart_cleveland", 0.15),
        },
        Claim {
            citation: SCALES,
            sentence: "On heart, scales under MSC are larger than under importance sampling.",
            judge: |evidence| scales(evidence, "heart_cleveland", 1.0),
        },
        Claim {
            citation: SCALES,
            sentence: "On ionosphere, they are larger.",
            judge: |evidence| scales(evidence, "ionosphere", 1.0),
        },
        Claim {
            citation: SCALES,
            sentence: "On pima, they are smaller.",
            judge: |evidence| scales(evidence, "pima", -1.0),
        },
        Claim {
            citation: "ours",
            sentence: "On every set, scales under MSC are closer to those of expectation propagation than scales under importance \
                       sampling.",
            judge: closer_scales,
        },
    ]
}

const SETS: [&str; 3] = ["pima", "ionosphere", "heart_cleveland"];

/// Series of a method on a data set, if its fits are long enough.
pub(crate) fn of<'a>(evidence: &'a Evidence, set: &str, kind: &str) -> Option<Series<'a>> {
    let series = evidence.find(|series| series.target().label() == set && series.method().kind() == kind)?;
    series.fit().filter(|fit| fit.steps >= STEPS)?;
    Some(series)
}

fn errors(evidence: &Evidence, set: &str, kinds: [&str; 2]) -> Option<Columns> {
    let columns: Columns =
        kinds.iter().map(|kind| of(evidence, set, kind).map(|s| s.last("error"))).collect::<Option<_>>()?;
    columns.iter().all(|column| !column.is_empty()).then_some(columns)
}

fn missing(set: &str) -> Finding {
    Finding::too_little(format!("no fits of {set} with {STEPS} steps"))
}

fn is_close(evidence: &Evidence, set: &str) -> Finding {
    let Some(columns) = errors(evidence, set, ["msc-rb", "ep"]) else { return missing(set) };
    let gap = mean(&columns[0]) - mean(&columns[1]);
    let what = format!("minus the distance of mean errors, which is {gap:+.4}");
    Finding::at_least_of(&columns, |c| -(mean(&c[0]) - mean(&c[1])).abs(), -0.01, &what)
}

fn prior_is_worse(evidence: &Evidence, set: &str, by: f64) -> Finding {
    let Some(columns) = errors(evidence, set, ["msc-prior", "msc-rb"]) else { return missing(set) };
    let what = "mean error with proposals from the prior less that with proposals from q";
    Finding::at_least_of(&columns, |c| mean(&c[0]) - mean(&c[1]), by, what)
}

/// `log sigma` of one method minus that of another, in a column for each coordinate, a row for each split.
pub(crate) fn log_ratios(evidence: &Evidence, set: &str, kinds: [&str; 2]) -> Option<Columns> {
    let both = [of(evidence, set, kinds[0])?, of(evidence, set, kinds[1])?];
    let column = |k: usize| {
        let [ours, theirs] = [0, 1].map(|i| both[i].last_entries(Vector::LogScales, k));
        let is_paired = !ours.is_empty() && ours.len() == theirs.len();
        is_paired.then(|| ours.iter().zip(theirs).map(|(a, b)| a - b).collect::<Vec<f64>>())
    };
    let columns: Columns = (0..).map_while(column).collect();
    (!columns.is_empty()).then_some(columns)
}

/// Median over coordinates of medians over splits.
fn middle(columns: &[Vec<f64>]) -> f64 {
    let mut medians: Vec<f64> = columns.iter().map(|column| quantile(&mut column.clone(), 0.5)).collect();
    quantile(&mut medians, 0.5)
}

fn scales(evidence: &Evidence, set: &str, sign: f64) -> Finding {
    let Some(columns) = log_ratios(evidence, set, ["msc-rb", "snis"]) else { return missing(set) };
    let what = if sign > 0.0 {
        "median over coordinates of log sigma under MSC less that under importance sampling"
    } else {
        "minus the median over coordinates of log sigma under MSC less that under importance sampling"
    };
    Finding::at_least_of(&columns, |c| sign * middle(c), 0.0, what)
}

fn closer_scales(evidence: &Evidence) -> Finding {
    let (mut columns, mut counts) = (Columns::new(), Vec::new());
    for set in SETS {
        for kind in ["snis", "msc-rb"] {
            let Some(found) = log_ratios(evidence, set, [kind, "ep"]) else { return missing(set) };
            counts.push(found.len());
            columns.extend(found);
        }
    }
    // Error of a method: median over coordinates and splits of the absolute difference of log scales.
    let off = |columns: &[Vec<f64>]| {
        let mut all: Vec<f64> = columns.iter().flatten().map(|ratio| ratio.abs()).collect();
        quantile(&mut all, 0.5)
    };
    let least_gain = |columns: &[Vec<f64>]| {
        let mut from = 0;
        let offs: Vec<f64> = counts
            .iter()
            .map(|count| {
                from += count;
                off(&columns[from - count..from])
            })
            .collect();
        super::least(offs.chunks(2).map(|pair| pair[0] - pair[1]))
    };
    let what = "median distance of log sigma from expectation propagation: that of importance sampling less that of MSC, least \
                over sets";
    Finding::at_least_of(&columns, least_gain, 0.0, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use crate::registry::REGISTRY;

    fn verdicts(
        preset: PresetName,
        error: impl Fn(&str, &str) -> f64,
        log_scale: impl Fn(&str, &str) -> f64,
    ) -> Vec<Verdict> {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("msc-tab1")).unwrap();
        let rows = |task: &Task, replicate: u64, _: u64| {
            let (set, kind) = (task.target().label(), task.method().kind());
            let noise = 0.0005 * (replicate % 3) as f64;
            let scale = log_scale(set, kind);
            let log_scales = vec![scale, scale + noise, 2.0 * scale];
            (vec![("error", error(set, kind) + noise)], vec![(Vector::LogScales, log_scales)])
        };
        let evidence = Evidence::with_vectors(entry.experiment().unwrap(), preset, rows);
        probit().iter().map(|claim| claim.find(&evidence).verdict).collect()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let published = |set: &str, kind: &str| match (set, kind) {
            ("pima", "msc-prior") => 0.456,
            ("ionosphere", "msc-prior") => 0.182,
            ("heart_cleveland", "msc-prior") => 0.342,
            ("ionosphere", _) => 0.117,
            (_, "ep") => 0.161,
            _ => 0.163,
        };
        let scale = |set: &str, kind: &str| match (set, kind) {
            (_, "ep") => 0.0,
            ("pima", "snis") => 0.5,
            (_, "snis") => -0.5,
            ("pima", _) => 0.1,
            _ => -0.1,
        };
        assert_eq!(verdicts(PresetName::Default, published, scale), [Agree; 10]);
        let opposite = |_: &str, kind: &str| if kind == "ep" { 0.1 } else { 0.2 };
        let reversed = |set: &str, kind: &str| match (set, kind) {
            (_, "ep") => 0.0,
            (_, "snis") => 0.01,
            ("pima", _) => 0.2,
            _ => -0.2,
        };
        assert_eq!(verdicts(PresetName::Default, opposite, reversed), [Disagree; 10]);
        assert_eq!(verdicts(PresetName::Quick, published, scale), [TooLittle; 10]);
        assert_eq!(verdicts(PresetName::Default, |_, _| f64::NAN, |_, _| f64::NAN), [TooLittle; 10]);
    }
}
