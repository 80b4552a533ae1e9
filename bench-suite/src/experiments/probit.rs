//! Test errors and posterior scales of probit regression (MSC, Tab. 1 and Fig. 4).

use mcsa_plot::{Axis, Figure, Layer, Panel, Style, Summary};

use crate::claims::resampling::Columns;
use crate::claims::{Check, Finding, least};
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::interval::bootstrap;
use crate::look;
use crate::metric::Vector;
use crate::published::cells;
use crate::results::{Results, Series};
use crate::tables::Sheet;
use mcsa_diagnostics::quantile;

const SETS: [(&str, &str); 3] =
    [("pima", "pima"), ("ionosphere", "ionosphere"), ("heart_cleveland", "heart")];

/// Differences of log scales for each coordinate, and test errors as a forest plot.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    vec![FigureFile::new("log-scale", differences(results)), FigureFile::new("error", errors(results))]
}

fn differences(results: &Results) -> Figure {
    let panels = SETS.iter().map(|&(set, title)| {
        let columns = log_ratios(results, set, ["msc-rb", "snis"]).unwrap_or_default();
        let count = columns.len().max(1);
        let x = Axis::linear("Weight").spanning(-0.7, count as f64 - 0.3);
        let panel = Panel::new(x, Axis::linear("log *σ*_{MSC} − log *σ*_{IS}")).titled(title);
        let at: Vec<f64> = (0..columns.len()).map(|k| k as f64).collect();
        let summaries: Vec<Summary> = columns.iter().map(|column| Summary::of(column)).collect();
        let style = results.find(|series| series.method().kind() == "msc-rb");
        let style = style.map_or(Style::series(0), |series| look::style(series.method()));
        panel.with(Layer::horizontal_rule(0.0)).with(Layer::boxes(at, summaries).styled(style))
    });
    let mut figure = Figure::new(panels.collect()).shaped(0.26);
    figure.columns = 1;
    figure.captioned(format!(
        "{} splits; boxes from the first to the third quartile. Above zero, importance sampling has the smaller scale. Weight 0 is \
         the intercept.{}",
        results.replicates(),
        status(results)
    ))
}

fn errors(results: &Results) -> Figure {
    const KINDS: [&str; 4] = ["ep", "snis", "msc-rb", "msc-prior"];
    let y = Axis::categories("", SETS.iter().map(|(_, title)| *title));
    let mut panel = Panel::new(Axis::linear("Test error"), y);
    for (index, kind) in KINDS.into_iter().enumerate() {
        let (mut columns, mut style) = ([const { Vec::new() }; 4], Style::series(0));
        for (place, (set, _)) in SETS.iter().enumerate() {
            let all = results.of_target(set);
            let Some(series) = all.iter().find(|series| series.method().kind() == kind) else { continue };
            style = look::style(series.method());
            let Some(found) = bootstrap(&series.last("error"), 0.95) else { continue };
            let values = [place as f64, found.value, found.low, found.high];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        let [at, value, low, high] = columns;
        let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, KINDS.len());
        let name = if kind == "msc-rb" { "MSC" } else { look::name(kind) };
        panel = panel.with(layer.named(name).styled(style));
    }
    Figure::new(vec![panel]).wide(120.0).captioned(format!(
        "Means over {} splits with 95 % bootstrap intervals.{}",
        results.replicates(),
        status(results)
    ))
}

/// Mean and standard deviation of the test error over splits, ours beside the printed values.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let printed = results.experiment.published.as_ref().map(|published| cells(&published.table));
    let printed = printed.and_then(Result::ok).unwrap_or_default();
    let mut rows = Vec::new();
    for series in results.series() {
        let (label, method) = (series.target().label(), series.method());
        let errors = series.last("error");
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let square: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        let cell = printed.iter().find(|cell| cell.data == label && cell.method == method.kind());
        let theirs = cell.map_or_else(String::new, |cell| {
            // The interval was computed from the standard deviation.
            let half = 0.5 * (cell.interval.high - cell.interval.low);
            let deviation = half / 1.96 * (cell.interval.replicates as f64).sqrt();
            format!("{:.3} ± {deviation:.3}", cell.interval.value)
        });
        let ours = match errors.len() {
            0 => "–".to_owned(),
            1 => format!("{mean:.3}"),
            _ => format!("{mean:.3} ± {:.3}", (square / (count - 1.0)).sqrt()),
        };
        rows.push(vec![
            label.to_owned(),
            look::name(method.kind()).to_owned(),
            ours,
            theirs,
            errors.len().to_string(),
        ]);
    }
    let head = ["Data", "Method", "Ours", "Printed", "Splits"];
    vec![Sheet {
        name: "error".to_owned(),
        title: "Test error".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
        note: "Mean and standard deviation over splits; printed are 100 splits.".to_owned(),
    }]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 4] = [
    ("larger_on_heart", |results| scales(results, "heart_cleveland", 1.0)),
    ("larger_on_ionosphere", |results| scales(results, "ionosphere", 1.0)),
    ("smaller_on_pima", |results| scales(results, "pima", -1.0)),
    ("closer_scales", closer_scales),
];

/// Smallest number of steps after which a fit counts as converged.
const STEPS: u64 = 10_000;

/// Series of a method on a data set, if its fits are long enough.
fn of<'a>(results: &'a Results, set: &str, kind: &str) -> Option<Series<'a>> {
    let series = results.find(|series| series.target().label() == set && series.method().kind() == kind)?;
    series.fit().filter(|fit| fit.steps >= STEPS)?;
    Some(series)
}

fn missing(set: &str) -> Finding {
    Finding::too_little(format!("no fits of {set} with {STEPS} steps"))
}

/// `log sigma` of one method minus that of another, in a column for each coordinate, a row for each split.
fn log_ratios(results: &Results, set: &str, kinds: [&str; 2]) -> Option<Columns> {
    let both = [of(results, set, kinds[0])?, of(results, set, kinds[1])?];
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

fn scales(results: &Results, set: &str, sign: f64) -> Finding {
    let Some(columns) = log_ratios(results, set, ["msc-rb", "snis"]) else { return missing(set) };
    let what = if sign > 0.0 {
        "median over coordinates of log sigma under MSC less that under importance sampling"
    } else {
        "minus the median over coordinates of log sigma under MSC less that under importance sampling"
    };
    Finding::at_least_of(&columns, |c| sign * middle(c), 0.0, what)
}

fn closer_scales(results: &Results) -> Finding {
    let (mut columns, mut counts) = (Columns::new(), Vec::new());
    for (set, _) in SETS {
        for kind in ["snis", "msc-rb"] {
            let Some(found) = log_ratios(results, set, [kind, "ep"]) else { return missing(set) };
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
        least(offs.chunks(2).map(|pair| pair[0] - pair[1]))
    };
    let what = "median distance of log sigma from expectation propagation: that of importance sampling less that of MSC, least \
                over sets";
    Finding::at_least_of(&columns, least_gain, 0.0, what)
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests::checks_with_vectors;
    use crate::experiment::PresetName;
    use crate::metric::Vector;
    use crate::task::Task;

    fn verdicts(preset: PresetName, log_scale: impl Fn(&str, &str) -> f64) -> Vec<Verdict> {
        checks_with_vectors("msc/tab1-probit", preset, |task: &Task, replicate, _| {
            let noise = 0.0005 * (replicate % 3) as f64;
            let scale = log_scale(task.target().label(), task.method().kind());
            (Vec::new(), vec![(Vector::LogScales, vec![scale, scale + noise, 2.0 * scale])])
        })
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let published = |set: &str, kind: &str| match (set, kind) {
            (_, "ep") => 0.0,
            ("pima", "snis") => 0.5,
            (_, "snis") => -0.5,
            ("pima", _) => 0.1,
            _ => -0.1,
        };
        let reversed = |set: &str, kind: &str| match (set, kind) {
            (_, "ep") => 0.0,
            (_, "snis") => 0.01,
            ("pima", _) => 0.2,
            _ => -0.2,
        };
        assert_eq!(verdicts(PresetName::Default, published), [Agree; 4]);
        assert_eq!(verdicts(PresetName::Default, reversed), [Disagree; 4]);
        assert_eq!(verdicts(PresetName::Quick, published), [TooLittle; 4]);
        assert_eq!(verdicts(PresetName::Default, |_, _| f64::NAN), [TooLittle; 4]);
    }
}
