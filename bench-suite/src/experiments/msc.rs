//! Markovian score climbing (MSC): scales and means of probit regressions (Fig. 2 and 4), evidence of exchange rates (Fig. 3).

use mcsa_plot::{Axis, Figure, Layer, Panel, Style, Summary};

use crate::catalog::{First, Target};
use crate::claims::{Check, Checked, Columns, Finding, greatest, least, mean, median};
use crate::figures::FigureFile;
use crate::figures::curves::{columns, status};
use crate::look;
use crate::metric::Vector;
use crate::results::{Results, Series};
use crate::store::Row;

/// Smallest number of steps after which a probit regression counts as converged.
const STEPS: u64 = 10_000;
/// Data sets of probit regressions, with their titles.
const SETS: [(&str, &str); 3] =
    [("pima", "pima"), ("ionosphere", "ionosphere"), ("heart_cleveland", "heart")];
const HEART: &str = "heart_cleveland";

/// Checks of the claims on scales.
pub(super) const SCALES: [(&str, Check); 4] = [
    ("larger_on_heart", |results| scales(results, HEART, 1.0)),
    ("larger_on_ionosphere", |results| scales(results, "ionosphere", 1.0)),
    ("smaller_on_pima", |results| scales(results, "pima", -1.0)),
    ("closer_scales", closer_scales),
];
/// Checks of the claims on numbers of candidates.
pub(super) const CANDIDATES: [(&str, Check); 3] = [
    ("varies_less_on_heart", |results| varies_less(results, HEART)),
    ("is_off", |results| is_off(results, HEART)),
    ("varies_less_on_ionosphere", |results| varies_less(results, "ionosphere")),
];
/// Checks of the claims on exchange rates.
pub(super) const EVIDENCE: [(&str, Check); 6] = [
    ("higher_in_the_middle", |results| higher(results, First::Level, "log_z", ("median", median))),
    ("higher_on_average", |results| higher(results, First::Level, "log_z", ("mean", mean))),
    ("several_are_clear", several_are_clear),
    ("higher_as_published", |results| {
        higher(results, First::Level, "log_z_as_published", ("median", median))
    }),
    ("higher_from_zero", |results| higher(results, First::Zero, "log_z", ("median", median))),
    ("higher_from_zero_as_published", |results| {
        higher(results, First::Zero, "log_z_as_published", ("median", median))
    }),
];

fn is_long(series: &Series<'_>) -> bool {
    series.fit().is_some_and(|fit| fit.steps >= STEPS)
}

/// `log sigma` of one method minus that of another, in a column for each coordinate, a row for each split.
fn log_ratios(results: &Results, set: &str, [ours, theirs]: [&str; 2]) -> Result<Columns, String> {
    let all = results.of_target(set);
    let column = |kind: &str, k: usize| {
        let found = all.iter().find(|series| series.method().kind() == kind && is_long(series));
        found.map(|series| series.last_entries(Vector::LogScales, k)).filter(|values| !values.is_empty())
    };
    let ratios = |k: usize| {
        let (ours, theirs) = (column(ours, k)?, column(theirs, k)?);
        (ours.len() == theirs.len())
            .then(|| ours.iter().zip(theirs).map(|(a, b)| a - b).collect::<Vec<f64>>())
    };
    let columns: Columns = (0..).map_while(ratios).collect();
    match columns.is_empty() {
        true => Err(format!("no fits of {set} with {STEPS} steps")),
        false => Ok(columns),
    }
}

/// Differences of log scales for each coordinate; the other figures are in the file.
pub(super) fn log_scales(results: &Results) -> Vec<FigureFile> {
    let panels = SETS.iter().map(|&(set, title)| {
        let columns = log_ratios(results, set, ["msc-rb", "snis"]).unwrap_or_default();
        let x = Axis::linear("Weight").spanning(-0.7, columns.len().max(1) as f64 - 0.3);
        let panel = Panel::new(x, Axis::linear("log *σ*_{MSC} − log *σ*_{IS}")).titled(title);
        let at: Vec<f64> = (0..columns.len()).map(|k| k as f64).collect();
        let summaries: Vec<Summary> = columns.iter().map(|column| Summary::of(column)).collect();
        let style = results.find(|series| series.method().kind() == "msc-rb");
        let style = style.map_or(Style::series(0), |series| look::style(series.method()));
        panel.with(Layer::horizontal_rule(0.0)).with(Layer::boxes(at, summaries).styled(style))
    });
    let mut figure = Figure::new(panels.collect()).shaped(0.26);
    figure.columns = 1;
    let caption = format!(
        "{} splits; boxes from the first to the third quartile. Above zero, importance sampling has the smaller scale. Weight 0 is \
         the intercept.{}",
        results.replicates(),
        status(results)
    );
    vec![FigureFile::new("log-scale", figure.captioned(caption))]
}

/// Finding on the median over coordinates of medians over splits.
fn scales(results: &Results, set: &str, sign: f64) -> Checked {
    let columns = log_ratios(results, set, ["msc-rb", "snis"])?;
    let minus = if sign > 0.0 { "" } else { "minus the " };
    let what =
        format!("{minus}median over coordinates of log sigma under MSC less that under importance sampling");
    let middle =
        |columns: &[Vec<f64>]| median(&columns.iter().map(|column| median(column)).collect::<Vec<f64>>());
    Ok(Finding::at_least_of(&columns, |columns| sign * middle(columns), 0.0, &what))
}

/// Numbers of several groups of columns, whose sizes are given.
fn grouped(columns: &[Vec<f64>], sizes: &[usize], number: impl Fn(&[Vec<f64>]) -> f64) -> Vec<f64> {
    let mut rest = columns;
    let next = |size: &usize| {
        let (group, others) = rest.split_at(*size);
        rest = others;
        number(group)
    };
    sizes.iter().map(next).collect()
}

fn closer_scales(results: &Results) -> Checked {
    let (mut columns, mut sizes) = (Columns::new(), Vec::new());
    for (set, _) in SETS {
        for kind in ["snis", "msc-rb"] {
            let found = log_ratios(results, set, [kind, "ep"])?;
            sizes.push(found.len());
            columns.extend(found);
        }
    }
    // Error of a method: median over coordinates and splits of the absolute difference of log scales.
    let off = |columns: &[Vec<f64>]| {
        median(&columns.iter().flatten().map(|ratio| ratio.abs()).collect::<Vec<f64>>())
    };
    let gain =
        |columns: &[Vec<f64>]| least(grouped(columns, &sizes, off).chunks(2).map(|pair| pair[0] - pair[1]));
    let what = "median distance of log sigma from expectation propagation: that of importance sampling less that of MSC, least \
                over sets";
    Ok(Finding::at_least_of(&columns, gain, 0.0, what))
}

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
    let exact = by_candidates(results, set, "ep").into_iter().next()?;
    let first = |vector| exact.last_vectors(vector).first().map(|values| values.to_vec());
    let (means, log_scales) = (first(Vector::Means)?, first(Vector::LogScales)?);
    let coordinates = means.iter().zip(&log_scales).enumerate();
    let mut all: Vec<(usize, f64, f64)> = coordinates.map(|(k, (mean, log))| (k, *mean, log.exp())).collect();
    all.sort_by(|a, b| a.2.total_cmp(&b.2));
    (all.len() >= 3).then(|| [all[0], all[all.len() / 2], all[all.len() - 1]])
}

/// Fitted means against the number of candidates: a row for each data set, a column for each of three coordinates.
pub(super) fn means(results: &Results) -> Vec<FigureFile> {
    let mut panels = Vec::new();
    for (set, title) in [SETS[2], SETS[1]] {
        let three = representatives(results, set).unwrap_or([(0, f64::NAN, f64::NAN); 3]);
        for (k, exact, scale) in three {
            let label = format!("Mean of weight {k}");
            let mut panel = Panel::new(Axis::log("*S*").spanning(1.7, 130.0), Axis::linear(label))
                .titled(format!("{title}, *σ* = {scale:.3}"))
                .with(Layer::horizontal_rule(exact).named("EP"));
            for (kind, name, shift) in [("msc-rb", "MSC", 0.96), ("snis", look::name("snis"), 1.04)] {
                let all = by_candidates(results, set, kind);
                let style = all.last().map_or(Style::series(0), |series| look::style(series.method()));
                let [at, value, low, high] = columns(all.iter().map(|series| {
                    let values = series.last_entries(Vector::Means, k);
                    let (count, mean) = (values.len() as f64, mean(&values));
                    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
                    let deviation = (square / (count - 1.0).max(1.0)).sqrt();
                    [shift * candidates(series) as f64, mean, mean - deviation, mean + deviation]
                }));
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

/// For each of the three coordinates: fitted means, in a column for each number of candidates, with exact mean and scale.
fn fitted(results: &Results, set: &str, kind: &str) -> Result<[(Columns, f64, f64); 3], String> {
    let series = by_candidates(results, set, kind);
    let three = representatives(results, set).filter(|_| series.len() >= 3 && series.iter().all(is_long));
    let columns = |k: usize| series.iter().map(|s| s.last_entries(Vector::Means, k)).collect::<Columns>();
    let absent = || format!("no fits of {set} with {STEPS} steps and three numbers of candidates");
    Ok(three.ok_or_else(absent)?.map(|(k, mean, scale)| (columns(k), mean, scale)))
}

/// Range of the means over replicates.
fn range(columns: &[Vec<f64>]) -> f64 {
    let means = || columns.iter().map(|column| mean(column));
    greatest(means()) - least(means())
}

/// Finding on the second largest of three gains, which is positive if two of them are.
fn varies_less(results: &Results, set: &str) -> Checked {
    let (ours, theirs) = (fitted(results, set, "msc-rb")?, fitted(results, set, "snis")?);
    let sizes: Vec<usize> = ours.iter().chain(&theirs).map(|(columns, ..)| columns.len()).collect();
    let scales = ours.each_ref().map(|(_, _, scale)| *scale);
    let columns: Columns = ours.into_iter().chain(theirs).flat_map(|(columns, ..)| columns).collect();
    let gain = |columns: &[Vec<f64>]| {
        let ranges = grouped(columns, &sizes, range);
        let mut gains = [0, 1, 2].map(|k| (ranges[3 + k] - ranges[k]) / scales[k]);
        gains.sort_by(f64::total_cmp);
        if gains.iter().any(|gain| gain.is_nan()) { f64::NAN } else { gains[1] }
    };
    let ranges = grouped(&columns, &sizes, range);
    let listed: Vec<String> = (0..3)
        .map(|k| format!("{:.3} and {:.3}", ranges[k] / scales[k], ranges[3 + k] / scales[k]))
        .collect();
    let what = format!(
        "range over S of the fitted mean in posterior scales, MSC and importance sampling: {}; the middle of three gains",
        listed.join(", ")
    );
    Ok(Finding::at_least_of(&columns, gain, 0.0, &what))
}

fn is_off(results: &Results, set: &str) -> Checked {
    let found = fitted(results, set, "snis")?;
    let scales = found.each_ref().map(|(_, exact, scale)| (*exact, *scale));
    let columns: Columns = found.into_iter().map(|(mut columns, ..)| columns.swap_remove(0)).collect();
    let off = |columns: &[Vec<f64>]| {
        let each = columns.iter().zip(scales).map(|(c, (exact, scale))| (mean(c) - exact).abs() / scale);
        greatest(each)
    };
    let what = "distance of the fitted mean from that of expectation propagation, in its scales, the greatest of three";
    Ok(Finding::at_least_of(&columns, off, 0.05, what))
}

/// Number of currencies in either data set.
const CURRENCIES: usize = 18;
/// Smallest number of steps after which a fit to exchange rates counts as converged.
const MONTHS: u64 = 2_000;

/// For each currency of the published data set, or of its stand-in, the log evidence under MSC less that under SMC in each replicate; an
/// error if a currency is missing or fits are too short.
fn differences(results: &Results, first: First, name: &str) -> Result<Vec<Vec<f64>>, String> {
    let all = results.series();
    let is_present = |data: &&str| all.iter().any(|series| series.target().data() == Some(data));
    let data = ["fx_fed_h10_18", "fx_ecb_18"].into_iter().find(is_present);
    let is_here = |series: &Series<'_>| match series.target() {
        Target::FxVolatility { data: of, first: at, .. } => Some(of.as_str()) == data && *at == first,
        _ => false,
    };
    let difference = |ours: &Series<'_>| {
        let is_other =
            |other: &&Series<'_>| other.target() == ours.target() && other.method().kind() == "smc";
        let theirs = all.iter().find(is_other)?;
        (ours.method().kind() == "msc" && is_here(ours)).then(|| ours.differences(theirs, name))
    };
    let found: Vec<Vec<f64>> = all.iter().filter_map(difference).collect();
    let is_long = |row: Option<&Row>| row.is_some_and(|row| row.step >= MONTHS);
    match found.len() >= CURRENCIES && results.outcomes.iter().all(|one| is_long(one.rows.last())) {
        true => Ok(found),
        false => Err(format!("{} of {CURRENCIES} currencies with {MONTHS} steps", found.len())),
    }
}

/// Finding on a summary of the currencies' mean differences. Currencies are resampled, because the claims are about them and they
/// differ by more than five fits of one currency show.
fn higher(
    results: &Results,
    first: First,
    name: &str,
    (summary, statistic): (&str, fn(&[f64]) -> f64),
) -> Checked {
    let what = format!("{summary} of the currencies' mean differences in nats, currencies resampled");
    let means = differences(results, first, name)?.iter().map(|values| mean(values)).collect();
    Ok(Finding::at_least_of(&[means], |columns| statistic(&columns[0]), 0.0, &what))
}

/// Mean over replicates divided by its standard error, because the spread of fits differs much between currencies.
pub(super) fn in_errors(values: &[f64]) -> f64 {
    let (count, centre) = (values.len() as f64, mean(values));
    let square: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    centre / (square / (count - 1.0) / count).sqrt()
}

/// Finding on currencies whose difference exceeds three standard errors.
fn several_are_clear(results: &Results) -> Checked {
    let found = differences(results, First::Level, "log_z")?;
    let errors: Vec<f64> = found.iter().map(|values| in_errors(values)).collect();
    if errors.iter().any(|error| error.is_nan()) {
        return Err("no spread over replicates".to_owned());
    }
    let clear = |sign: f64| errors.iter().filter(|error| sign * **error > 3.0).count();
    let what = format!(
        "currencies above zero by three of their standard errors; {} are below by as much",
        clear(-1.0)
    );
    Ok(Finding::at_least(clear(1.0) as f64, 3.0, what))
}
