//! Fitted means against the number of candidates (MSC, Fig. 2).

use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

use crate::claims::resampling::{Columns, mean};
use crate::claims::{Check, Finding, greatest, least};
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::look;
use crate::metric::Vector;
use crate::results::{Results, Series};

/// A row for each data set, a column for each of three coordinates.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let mut panels = Vec::new();
    for (set, title) in [("heart_cleveland", "heart"), ("ionosphere", "ionosphere")] {
        let three = representatives(results, set).unwrap_or([(0, f64::NAN, f64::NAN); 3]);
        for (k, exact, scale) in three {
            let label = format!("Mean of weight {k}");
            let mut panel = Panel::new(Axis::log("*S*").spanning(1.7, 130.0), Axis::linear(label))
                .titled(format!("{title}, *σ* = {scale:.3}"))
                .with(Layer::horizontal_rule(exact).named("EP"));
            for (kind, shift) in [("msc-rb", 0.96), ("snis", 1.04)] {
                let (mut columns, mut style) = ([const { Vec::new() }; 4], Style::series(0));
                for series in by_candidates(results, set, kind) {
                    style = look::style(series.method());
                    let values = series.last_entries(Vector::Means, k);
                    let count = values.len() as f64;
                    let mean = values.iter().sum::<f64>() / count;
                    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
                    let deviation = (square / (count - 1.0).max(1.0)).sqrt();
                    let row = [shift * candidates(&series) as f64, mean, mean - deviation, mean + deviation];
                    columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
                }
                let [at, value, low, high] = columns;
                let name = if kind == "msc-rb" { "MSC" } else { look::name(kind) };
                panel = panel
                    .with(Layer::line(at.clone(), value.clone()).styled(style))
                    .with(Layer::intervals(at, value, low, high).styled(style).named(name));
            }
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).shaped(0.75);
    (figure.columns, figure.shares_x, figure.shares_legend) = (3, true, true);
    let caption = format!(
        "Means over {} fits with their standard deviations; σ is the posterior's scale by expectation propagation.{}",
        results.replicates(),
        status(results)
    );
    vec![FigureFile::new("means", figure.captioned(caption))]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 3] = [
    ("varies_less_on_heart", |results| varies_less(results, HEART)),
    ("is_off", |results| is_off(results, HEART)),
    ("varies_less_on_ionosphere", |results| varies_less(results, "ionosphere")),
];

/// Smallest number of steps after which a fit counts as converged.
const STEPS: u64 = 10_000;
const HEART: &str = "heart_cleveland";

/// Number of candidates, including the retained point.
fn candidates(series: &Series<'_>) -> usize {
    series.method().budget() + usize::from(series.method().kind() == "msc-rb")
}

/// Fits of a data set by one method, by increasing number of candidates.
fn by_candidates<'a>(results: &'a Results, set: &str, kind: &str) -> Vec<Series<'a>> {
    let mut all = results.of_target(set);
    all.retain(|series| series.method().kind() == kind);
    all.sort_by_key(candidates);
    all
}

/// Three coordinates, with mean and scale under expectation propagation: those with the smallest, the median and the largest
/// scale.
fn representatives(results: &Results, set: &str) -> Option<[(usize, f64, f64); 3]> {
    let exact = results.find(|series| series.target().label() == set && series.method().kind() == "ep")?;
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
fn fitted(results: &Results, set: &str, kind: &str) -> Option<[(Columns, f64, f64); 3]> {
    let series = by_candidates(results, set, kind);
    let is_long = |series: &Series<'_>| series.fit().is_some_and(|fit| fit.steps >= STEPS);
    if series.len() < 3 || !series.iter().all(is_long) {
        return None;
    }
    let columns = |k: usize| series.iter().map(|s| s.last_entries(Vector::Means, k)).collect::<Columns>();
    Some(representatives(results, set)?.map(|(k, mean, scale)| (columns(k), mean, scale)))
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
fn varies_less(results: &Results, set: &str) -> Finding {
    let (Some(ours), Some(theirs)) = (fitted(results, set, "msc-rb"), fitted(results, set, "snis")) else {
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

fn is_off(results: &Results, set: &str) -> Finding {
    let Some(found) = fitted(results, set, "snis") else { return missing(set) };
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
    use crate::claims::Verdict;
    use crate::claims::tests::checks_with_vectors;
    use crate::experiment::PresetName;
    use crate::metric::Vector;
    use crate::task::Task;

    fn verdicts(preset: PresetName, mean: impl Fn(&str, usize) -> f64) -> Vec<Verdict> {
        let rows = |task: &Task, replicate: u64, _: u64| {
            let (kind, size) = (task.method().kind(), task.method().budget());
            let noise = if kind == "ep" { 0.0 } else { 1e-4 * (replicate % 3) as f64 };
            let value = mean(kind, size) + noise;
            let vectors = vec![(Vector::Means, vec![value; 3]), (Vector::LogScales, vec![0.0, 0.1, 0.2])];
            (Vec::new(), vectors)
        };
        checks_with_vectors("msc/fig2-candidates", preset, rows)
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
