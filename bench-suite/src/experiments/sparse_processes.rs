//! Bounds of sparse Gaussian processes (SL-DAIS, Tab. 3 and 4).

use super::gains::{Gains, Shown, interval};
use crate::catalog::{FamilyConfig, Target};
use crate::claims::{Check, ENOUGH, Finding};
use crate::figures::FigureFile;
use crate::results::{Results, Series};
use crate::tables::Sheet;

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 3] = [
    ("gain_grows", |results| gain_grows(results, true)),
    ("gain_grows_at_fixed_hyperparameters", |results| gain_grows(results, false)),
    ("accuracy_follows_the_bound", accuracy_follows_the_bound),
];

const ELBO: Shown = Shown { metric: "elbo", label: "ELBO", unit: ", nats", digits: 2 };
const LPD: Shown = Shown { metric: "lpd", label: "Test log density", unit: "", digits: 4 };
const ACCURACY: Shown = Shown { metric: "accuracy", label: "Test accuracy", unit: "", digits: 4 };
const QUADRATURE: Shown =
    Shown { metric: "quadrature_error", label: "Error of the quadrature", unit: ", nats", digits: 4 };
const FREEDOM: Shown = Shown { metric: "freedom", label: "Degrees of freedom", unit: "", digits: 1 };
const CAPTION: &str =
    "SL-DAIS with a full-rank Gaussian base against that Gaussian; both continue one fit of the Gaussian.";

fn is_base(series: &Series<'_>) -> bool {
    series.shape() == Some(&FamilyConfig::FullRank)
}

/// Number of inducing points, and true if hyperparameters are learned with the annealed path.
fn process(series: &Series<'_>) -> (usize, bool) {
    match series.target() {
        Target::SparseProcess(config) => (config.inducing, config.joint),
        _ => (0, false),
    }
}

fn by_points(results: &Results) -> Gains<'_> {
    let name = |series: &Series<'_>| match process(series) {
        (points, true) => format!("{points} points, joint"),
        (points, false) => format!("{points} points, fixed"),
    };
    Gains::new(results, is_base, name)
}

fn by_set(results: &Results) -> Gains<'_> {
    let name = |series: &Series<'_>| match (series.target().label(), process(series).1) {
        (label, true) => format!("{label}, joint"),
        (label, false) => format!("{label}, fixed"),
    };
    Gains::new(results, is_base, name)
}

/// Gains of regressions, a row for each number of inducing points.
pub(crate) fn regressions(results: &Results) -> Vec<FigureFile> {
    vec![by_points(results).plate(&[ELBO, LPD], "Gaussian", CAPTION)]
}

/// Gains of classifications, a row for each data set.
pub(crate) fn classifications(results: &Results) -> Vec<FigureFile> {
    vec![by_set(results).plate(&[ELBO, ACCURACY], "Gaussian", CAPTION)]
}

/// Bounds and predictions of regressions.
pub(crate) fn regression_tables(results: &Results) -> Vec<Sheet> {
    vec![
        by_points(results).sheet("Sparse processes with Student t errors", &[ELBO, LPD, FREEDOM, QUADRATURE]),
    ]
}

/// Bounds and predictions of classifications.
pub(crate) fn classification_tables(results: &Results) -> Vec<Sheet> {
    vec![by_set(results).sheet("Classification by sparse processes", &[ELBO, LPD, ACCURACY, QUADRATURE])]
}

/// Lower end of the interval of the gain at the most inducing points less that at the fewest, paired over replicates.
fn gain_grows(results: &Results, is_joint: bool) -> Finding {
    let gains = by_points(results);
    let ours = || gains.others().filter(|series| process(series).1 == is_joint);
    let ends = (ours().min_by_key(|series| process(series)), ours().max_by_key(|series| process(series)));
    let (Some(fewest), Some(most)) = ends else {
        return Finding::too_little("no fits of annealed paths");
    };
    let (low, high) = (gains.differences(fewest, "elbo"), gains.differences(most, "elbo"));
    let growth = high.iter().filter_map(|(replicate, gain)| Some(gain - low.get(replicate)?));
    let what = format!(
        "end nearer to zero of the 90 % interval of the gain with {} inducing points less that with {}, nats",
        process(most).0,
        process(fewest).0
    );
    sure(growth.collect(), what)
}

/// Lower end of the interval of the gain in accuracy on the set with the largest gain of the bound, with hyperparameters learned
/// jointly.
fn accuracy_follows_the_bound(results: &Results) -> Finding {
    let gains = by_set(results);
    let bound =
        |series: &&Series<'_>| gains.gain(series, "elbo").map_or(f64::NEG_INFINITY, |gain| gain.value);
    let joint = gains.others().filter(|series| process(series).1);
    let Some(largest) = joint.max_by(|a, b| bound(a).total_cmp(&bound(b))) else {
        return Finding::too_little("no fits of annealed paths");
    };
    let what = format!(
        "end nearer to zero of the 90 % interval of the gain in accuracy on {}",
        largest.target().label()
    );
    sure(gains.differences(largest, "accuracy").into_values().collect(), what)
}

/// Finding that the mean of some values is positive: if their interval contains zero there is not enough evidence.
fn sure(values: Vec<f64>, what: String) -> Finding {
    match interval(values) {
        Some(found) if found.replicates >= ENOUGH && found.low > 0.0 => {
            Finding::at_least(found.low, 0.0, what)
        }
        Some(found) if found.replicates >= ENOUGH && found.high < 0.0 => {
            Finding::at_least(found.high, 0.0, what)
        }
        Some(found) => {
            Finding::too_little(format!("{what}: [{:.4}, {:.4}] contains zero", found.low, found.high))
        }
        None => Finding::too_little(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::task::Task;

    /// Rows in which annealed paths gain `of(place)` in bound and accuracy, at a number of inducing points or the place of a set.
    fn rows(of: fn(usize) -> f64) -> impl Fn(&Task, u64, u64) -> Vec<(&'static str, f64)> {
        move |task, replicate, _| {
            let Some(Target::SparseProcess(config)) = task.fit().map(|fit| &fit.target) else {
                unreachable!("the files have nothing else")
            };
            let place = config.inducing + config.data.len();
            let is_annealed = task.variant().contains("RAND");
            let gain = if is_annealed { of(place) + 0.001 * replicate as f64 } else { 0.0 };
            vec![("elbo", 3.0 * replicate as f64 + gain), ("accuracy", 0.1 * replicate as f64 + gain)]
        }
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        // Growth with the number of inducing points is judged for learned and for fixed hyperparameters.
        for (id, claims) in [("sl-dais/tab3-gp-regression", 2), ("sl-dais/tab4-gp-classification", 1)] {
            let found = |preset, of| checks(id, preset, rows(of));
            assert_eq!(found(PresetName::Default, |place| place as f64), vec![Agree; claims], "{id}");
            assert_eq!(
                found(PresetName::Default, |place| -1.0 - place as f64),
                vec![Disagree; claims],
                "{id}"
            );
            assert_eq!(found(PresetName::Quick, |place| place as f64), vec![TooLittle; claims], "{id}");
        }
        let flat = |task: &Task, replicate: u64, step: u64| {
            let sign = if replicate.is_multiple_of(2) { 1.0 } else { -1.0 };
            let mut row = rows(|place| place as f64)(task, replicate, step);
            let is_annealed = task.variant().contains("RAND");
            let Some(fit) = task.fit() else { unreachable!() };
            let Target::SparseProcess(config) = &fit.target else { unreachable!() };
            let gain = if is_annealed { sign * config.inducing as f64 } else { 0.0 };
            row[0].1 = gain;
            row
        };
        assert_eq!(checks("sl-dais/tab3-gp-regression", PresetName::Default, flat), [TooLittle; 2]);
    }
}
