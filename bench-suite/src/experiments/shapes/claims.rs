//! Claims on families of different shape.

use crate::catalog::FamilyConfig;
use crate::claims::{Check, ENOUGH, Finding, greatest, least};
use crate::interval::bootstrap;
use crate::results::Results;

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 9] = [
    ("mean_field_stays_above", mean_field_stays_above),
    ("flow_is_exact", flow_is_exact),
    ("nearer_on_banana", |results| gain(results, "banana", 0.1)),
    ("nearer_on_moons", |results| gain(results, "moons", 0.1)),
    ("nearer_on_funnel", |results| gain(results, "funnel", 0.1)),
    ("close_on_schools", |results| gain(results, "eight-schools", -0.02)),
    ("close_on_pima", |results| gain(results, "pima", -0.02)),
    ("accepts_more", accepts_more),
    ("learns", learns),
];

const MISSING: &str = "no fits of the families compared";
const FLOWS: [&str; 2] = ["affine-flow", "spline-flow"];
const OTHERS: [&str; 3] = ["mean-field", "full-rank", "student-t"];

fn values(results: &Results, target: &str, family: &str, name: &str) -> Vec<f64> {
    let is_it = |shape: &FamilyConfig| shape.kind() == family;
    let series = results.of_target(target).into_iter().find(|series| series.shape().is_some_and(is_it));
    series.map(|series| series.last(name)).unwrap_or_default()
}

/// Lower end, mean and upper end of the divergence at the end.
fn end(results: &Results, target: &str, family: &str) -> Option<(f64, f64, f64)> {
    let values = values(results, target, family, "kl");
    let interval = bootstrap(&values, 0.8).filter(|interval| interval.replicates >= ENOUGH)?;
    Some((interval.low, interval.value, interval.high))
}

fn mean_field_stays_above(results: &Results) -> Finding {
    let Some((low, _, _)) = end(results, "correlated-gaussian", "mean-field") else {
        return Finding::too_little(MISSING);
    };
    Finding::at_least(low, 4.0, "lower end of the 80 % interval of the mean divergence, nats")
}

fn flow_is_exact(results: &Results) -> Finding {
    let ends = FLOWS.map(|kind| end(results, "correlated-gaussian", kind).map(|(_, mean, _)| mean));
    let Some(best) = ends.into_iter().flatten().reduce(f64::min) else { return Finding::too_little(MISSING) };
    Finding::at_most(best, 0.01, "mean divergence of the better flow, nats")
}

/// Finding on the divergence of the best other family minus that of the better flow.
fn gain(results: &Results, target: &str, by: f64) -> Finding {
    let best = |kinds: &[&str]| {
        let ends = kinds.iter().map(|kind| end(results, target, kind).map(|(_, mean, _)| mean));
        ends.flatten().reduce(f64::min)
    };
    let (Some(flow), Some(other)) = (best(&FLOWS), best(&OTHERS)) else {
        return Finding::too_little(MISSING);
    };
    let what = format!(
        "mean divergence of the best other family, {other:.4}, less that of the better flow, {flow:.4}, nats"
    );
    Finding::at_least(other - flow, by, what)
}

fn accepts_more(results: &Results) -> Finding {
    let mut gains = Vec::new();
    for target in ["banana", "moons", "correlated-gaussian", "funnel", "eight-schools", "pima"] {
        for flow in FLOWS {
            let (Some((_, ours, _)), Some((_, plain, _))) =
                (end(results, target, flow), end(results, target, "mean-field"))
            else {
                continue;
            };
            let mean = |family| {
                let all = values(results, target, family, "acceptance");
                all.iter().sum::<f64>() / all.len() as f64
            };
            if ours < plain {
                gains.push(mean(flow) - mean("mean-field"));
            }
        }
    }
    if gains.is_empty() {
        return Finding::too_little(MISSING);
    }
    Finding::at_least(least(gains), 0.0, "least gain in the mean acceptance at the end")
}

fn learns(results: &Results) -> Finding {
    let mut worst = Vec::new();
    for target in ["banana", "moons"] {
        for series in results.of_target(target) {
            let steps = series.steps();
            let is_flow = series.shape().is_some_and(|shape| FLOWS.contains(&shape.kind()));
            let (Some(&last), true) = (steps.last(), is_flow) else { continue };
            let moved = |name: &str| Some(series.median_at(last, name)? - series.median_at(last / 4, name)?);
            if let (Some(acceptance), Some(bound)) = (moved("acceptance"), moved("log_weight_bound")) {
                worst.push(greatest([-acceptance, bound]));
            }
        }
    }
    if worst.is_empty() {
        return Finding::too_little(MISSING);
    }
    let what = "greatest of the losses of acceptance and the gains of the log of the largest weight";
    Finding::at_most(greatest(worst), 0.0, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::task::Task;

    /// Divergence, acceptance and largest weight of a flow or another family on a target, at a fraction of all steps.
    type Said = fn(bool, &str, f64) -> [f64; 3];

    fn verdicts(preset: PresetName, said: Said) -> Vec<Verdict> {
        let rows = |task: &Task, _: u64, step: u64| {
            let Task::Fit(fit) = task else { unreachable!("the file has nothing else") };
            let is_flow = FLOWS.contains(&fit.family.kind());
            let target = fit.target.label();
            let [kl, acceptance, bound] = said(is_flow, target, step as f64 / fit.steps as f64);
            vec![("kl", kl), ("acceptance", acceptance), ("log_weight_bound", bound)]
        };
        checks("ours/flow-families", preset, rows)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let as_said: Said = |is_flow, _, part| if is_flow { [0.005, part, -part] } else { [4.5, 0.1, 1.0] };
        // A flow with a smaller divergence although its chains accept less is worse than both.
        let otherwise: Said = |is_flow, target, part| match (is_flow, target) {
            (true, "banana") => [0.95, 0.1 - part, part],
            (true, _) => [3.5, 0.1 - part, part],
            (false, "banana") => [1.0, 0.9, 1.0],
            (false, _) => [3.0, 0.9, 1.0],
        };
        assert_eq!(verdicts(PresetName::Default, as_said), [Agree; 9]);
        assert_eq!(verdicts(PresetName::Default, otherwise), [Disagree; 9]);
        assert_eq!(verdicts(PresetName::Quick, as_said), [TooLittle; 9]);
    }
}
