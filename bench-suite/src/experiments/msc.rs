//! Markovian score climbing (MSC): scales and means of probit regressions (Fig. 2 and 4), evidence of exchange rates (Fig. 3), and what
//! is computed when it is drawn: ancestors in conditional SMC (Alg. 4), and the distribution that minibatches lead to (Fig. 5).

use mcsa_catalogue::published_rules::{Ancestry, TwoStates};
use mcsa_core::{Seed, numeric};
use mcsa_plot::{Axis, Color, Dash, Figure, Layer, PALETTE, Panel, Style, Summary};

use crate::catalog::{FirstState, Target};
use crate::claims::{Check, Checked, Columns, Finding, greatest, least, mean, median};
use crate::figures::{FigureFile, status};
use crate::look;
use crate::metric::Vector;
use crate::results::{Results, Series};
use crate::store::Row;
use crate::tables::Table;

/// Smallest number of steps after which a probit regression counts as converged.
const STEPS: u64 = 10_000;
/// Data sets of probit regressions, with their titles.
const SETS: [(&str, &str); 3] =
    [("pima", "pima"), ("ionosphere", "ionosphere"), ("heart_cleveland", "heart")];
const HEART: &str = "heart_cleveland";

pub(super) const CHECKS: [(&str, Check); 20] = [
    ("larger_on_heart", |results| scales(results, HEART, 1.0)),
    ("larger_on_ionosphere", |results| scales(results, "ionosphere", 1.0)),
    ("smaller_on_pima", |results| scales(results, "pima", -1.0)),
    ("closer_scales", closer_scales),
    ("varies_less_on_heart", |results| varies_less(results, HEART)),
    ("is_off", |results| is_off(results, HEART)),
    ("varies_less_on_ionosphere", |results| varies_less(results, "ionosphere")),
    ("higher_in_the_middle", |results| higher(results, FirstState::Level, "log_z", ("median", median))),
    ("higher_on_average", |results| higher(results, FirstState::Level, "log_z", ("mean", mean))),
    ("several_are_clear", several_are_clear),
    ("several_are_clear_of_filters", several_are_clear_of_filters),
    ("higher_as_published", |results| {
        higher(results, FirstState::Level, "log_z_as_published", ("median", median))
    }),
    ("higher_from_zero", |results| higher(results, FirstState::Zero, "log_z", ("median", median))),
    ("higher_from_zero_as_published", |results| {
        higher(results, FirstState::Zero, "log_z_as_published", ("median", median))
    }),
    ("printed_is_invariant", |_| Ok(invariant(&moments(Ancestry::Printed, 2)))),
    ("correct_is_invariant", |_| Ok(invariant(&moments(Ancestry::Correct, 2)))),
    ("printed_is_still_off", |_| Ok(still_off(&moments(Ancestry::Printed, 10)))),
    ("closer", |_| Ok(closer(&distances()))),
    ("wider", |_| Ok(wider(&all(|subset| subset.ratio().max(subset.modes() as f64), 2)))),
    ("other", |_| Ok(other(&all(SubsetAverage::distance, 9)))),
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
        let boxes = columns.iter().enumerate().map(|(k, column)| (k as f64, Summary::of(column)));
        let style = results.find(|series| series.method().kind() == "msc-rb");
        let style = style.map_or(Style::series(0), |series| look::style(series.method()));
        panel.with(Layer::horizontal_rule(0.0)).with(Layer::boxes(boxes).styled(style))
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
                let row = |series: &Series<'_>| {
                    let values = series.last_entries(Vector::Means, k);
                    let (count, mean) = (values.len() as f64, mean(&values));
                    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
                    let deviation = (square / (count - 1.0).max(1.0)).sqrt();
                    [shift * candidates(series) as f64, mean, mean - deviation, mean + deviation]
                };
                let rows: Vec<[f64; 4]> = all.iter().map(row).collect();
                panel = panel
                    .with(Layer::line(rows.iter().map(|[at, mean, ..]| (*at, *mean))).styled(style))
                    .with(Layer::intervals(rows).styled(style).named(name));
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

const CURRENCIES: usize = 18;
/// Smallest number of steps after which a fit to exchange rates counts as converged.
const MONTHS: u64 = 2_000;

/// For each currency of the published data set, or of its stand-in, the log evidence under MSC less that under SMC in each replicate; an
/// error if a currency is missing or fits are too short.
fn differences(results: &Results, first: FirstState, name: &str) -> Result<Vec<Vec<f64>>, String> {
    paired(results, first, |ours, theirs| ours.differences(theirs, name))
}

/// For each currency numbers of its fits by MSC and by SMC; an error as for [`differences`].
fn paired(
    results: &Results,
    first: FirstState,
    of: impl Fn(&Series<'_>, &Series<'_>) -> Vec<f64>,
) -> Result<Vec<Vec<f64>>, String> {
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
        (ours.method().kind() == "msc" && is_here(ours)).then(|| of(ours, theirs))
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
    first: FirstState,
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

fn several_are_clear(results: &Results) -> Checked {
    let found = differences(results, FirstState::Level, "log_z")?;
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

/// As published: one fit per currency, judged by the errors of its two filters alone. Each replicate of all currencies is one such figure.
fn several_are_clear_of_filters(results: &Results) -> Checked {
    let in_filter_errors = |ours: &Series<'_>, theirs: &Series<'_>| {
        let number = |replicate| {
            let [log_z, error] = ["log_z", "log_z_error"]
                .map(|name| Some((ours.end(replicate, name)?, theirs.end(replicate, name)?)));
            let ((a, b), (of_a, of_b)) = (log_z?, error?);
            Some((a - b) / f64::hypot(of_a, of_b))
        };
        ours.outcomes.iter().filter_map(|outcome| number(outcome.job.replicate)).collect()
    };
    let found = paired(results, FirstState::Level, in_filter_errors)?;
    if found.iter().flatten().any(|value| value.is_nan()) {
        return Err("a fit without a number".to_owned());
    }
    let figures = found.iter().map(Vec::len).min().unwrap_or(0);
    let clear = |sign: f64| -> Vec<f64> {
        let count = |r: usize| found.iter().filter(|values| sign * values[r] > 3.0).count();
        (0..figures).map(|r| count(r) as f64).collect()
    };
    let (above, below) = (clear(1.0), clear(-1.0));
    let what = format!(
        "currencies above zero by three errors of their filters, the median of {figures} figures with one fit per currency, {} to {} of them; \
         {} are below by as much",
        least(above.iter().copied()),
        greatest(above.iter().copied()),
        median(&below)
    );
    Ok(Finding::at_least(median(&above), 3.0, what))
}

pub(super) fn first_state(_: &Results) -> Vec<FigureFile> {
    let scene = TwoStates::default();
    let (mean, variance) = scene.exact();
    let scale = variance.sqrt();
    let (low, width) = (mean - 6.0 * scale, 12.0 * scale / 50.0);
    let centres: Vec<f64> = (0..50).map(|k| low + width * (f64::from(k) + 0.5)).collect();
    let density =
        |z: f64| (-0.5 * (z - mean).powi(2) / variance).exp() / (std::f64::consts::TAU * variance).sqrt();
    let fine = (0..=400).map(|k| low + 0.125 * width * f64::from(k)).map(|z| (z, density(z)));
    let plain = Style::series(0);
    let black = Style { color: Color::BLACK, width: 2.2, dash: Dash::Solid, ..plain };
    let x = Axis::linear("First state").spanning(low, low + 50.0 * width);
    let mut panel =
        Panel::new(x, Axis::linear("Density")).with(Layer::line(fine).styled(black).named("posterior"));
    let shown = [
        (Ancestry::Correct, "ancestors, correct weight", PALETTE[0], Dash::Long),
        (Ancestry::Printed, "ancestors, printed weight", PALETTE[1], Dash::Short),
    ];
    for (ancestry, name, color, dash) in shown {
        let states = scene.first_states(ancestry, 2, 200_000, &mut Seed::new(2).named("shown").stream(0, 0));
        let mut heights = vec![0.0; centres.len()];
        for z in &states {
            let place = ((z - low) / width) as usize;
            if let Some(height) = heights.get_mut(place).filter(|_| *z >= low) {
                *height += 1.0 / (width * states.len() as f64);
            }
        }
        let style = Style { color, dash, width: 1.3, ..plain };
        panel = panel.with(Layer::line(centres.iter().copied().zip(heights)).styled(style).named(name));
    }
    let caption = "Two states, two particles; 200 000 sweeps each, in 50 cells. The printed weight draws the state towards the \
                   prior, for it leaves out the observation.";
    vec![FigureFile::new("first-state", Figure::new(vec![panel]).wide(120.0).captioned(caption))]
}

pub(super) fn moments_table(_: &Results) -> Vec<Table> {
    let rules = [
        (Ancestry::Kept, "kept"),
        (Ancestry::Correct, "sampled, correct weight"),
        (Ancestry::Printed, "sampled, printed weight"),
    ];
    let row = |(particles, (ancestry, name)): (usize, (Ancestry, &str))| {
        let found = moments(ancestry, particles);
        vec![
            name.to_owned(),
            particles.to_string(),
            format!("{:.3}", found.mean),
            format!("{:.3} ± {:.3}", found.variance, found.error),
            format!("{:.3}", found.exact.0),
            format!("{:.3}", found.exact.1),
        ]
    };
    let rows = [2, 10].into_iter().flat_map(|particles| rules.map(|rule| row((particles, rule)))).collect();
    let head = "Ancestor | Particles | Mean | Variance | Exact mean | Exact variance";
    let note = "200 000 sweeps each; errors are standard errors.";
    vec![Table::new("moments", "The first of two states", head, rows, note)]
}

const SWEEPS: usize = 200_000;

/// Estimated mean and variance of the first state, standard error of the variance, and exact mean and variance.
struct Moments {
    mean: f64,
    variance: f64,
    error: f64,
    exact: (f64, f64),
}

fn moments(ancestry: Ancestry, particles: usize) -> Moments {
    let scene = TwoStates::default();
    let mut stream = Seed::new(1).named("ancestors").stream(0, 0);
    of(&scene.first_states(ancestry, particles, SWEEPS, &mut stream), scene.exact())
}

/// Moments with a standard error from means over blocks of 400 sweeps, far longer than the autocorrelation time.
fn of(states: &[f64], exact: (f64, f64)) -> Moments {
    let count = states.len() as f64;
    let mean = states.iter().sum::<f64>() / count;
    let square = |z: &f64| (z - mean).powi(2);
    let variance = states.iter().map(square).sum::<f64>() / count;
    let blocks: Vec<f64> =
        states.chunks(400).map(|block| block.iter().map(square).sum::<f64>() / block.len() as f64).collect();
    let spread = blocks.iter().map(|block| (block - variance).powi(2)).sum::<f64>();
    let number = blocks.len() as f64;
    Moments { mean, variance, error: (spread / (number - 1.0) / number).sqrt(), exact }
}

fn invariant(found: &Moments) -> Finding {
    let off = (found.variance - found.exact.1).abs() / found.error;
    let what = format!(
        "variance of the first state {:.3}, exactly {:.3}: off by so many standard errors",
        found.variance, found.exact.1
    );
    Finding::at_most(off, 5.0, what)
}

fn still_off(found: &Moments) -> Finding {
    let what =
        format!("variance of the first state {:.3} over {:.3}, less one", found.variance, found.exact.1);
    Finding::at_least(found.variance / found.exact.1 - 1.0, 0.05, what)
}

/// A row for each size of minibatch, a column for each draw of ten data.
pub(super) fn densities(_: &Results) -> Vec<FigureFile> {
    let plain = Style::series(0);
    let (black, blue) = (
        Style { color: Color::BLACK, dash: Dash::Short, width: 1.3, ..plain },
        Style { color: PALETTE[0], dash: Dash::Solid, width: 1.6, ..plain },
    );
    let mut panels = Vec::new();
    for size in SIZES {
        for draw in 0..DRAWS {
            // The smallest minibatch has the widest distribution and determines the range of its column.
            let grid = SubsetAverage::drawn(draw, SIZES[0]).grid();
            let laws = SubsetAverage::drawn(draw, size);
            let line = |density: &dyn Fn(f64) -> f64| Layer::line(grid.iter().map(|&z| (z, density(z))));
            let title = format!("*m* = {size}, data {}: distance {:.3}", draw + 1, laws.distance());
            let x = Axis::linear("*z*").spanning(grid[0], grid[grid.len() - 1]);
            let panel = Panel::new(x, Axis::linear("Density"))
                .titled(title)
                .with(line(&|z| laws.density(z)).styled(blue).named("subset average"))
                .with(line(&|z| laws.posterior(z)).styled(black).named("posterior"));
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).shaped(0.42);
    (figure.columns, figure.shares_y, figure.shares_legend) = (DRAWS, true, true);
    let caption = "Exact: mixtures of 45, 252 and 10 normal laws. Distance is total variation. Ten data from the model, drawn twice.";
    vec![FigureFile::new("densities", figure.captioned(caption))]
}

/// Sizes of minibatches, of ten data.
const SIZES: [usize; 3] = [2, 5, 9];
const DRAWS: usize = 2;

/// Posterior of the mean of ten data, and the distribution p~ that minibatches of `size` lead to.
///
/// ```text
/// z ~ N(0, 1),  x_i ~ N(z, 1)        p~(z) ∝ p(z) sum_M p(x_M | z)^(n/m)     over the C(n, m) subsets of m of n
/// p~ = sum_M W_M N(n mean(x_M) / (1 + n), 1 / (1 + n)),    log W_M = n^2 mean(x_M)^2 / (2 (1 + n)) - n/(2 m) sum_M x^2 + const
/// ```
/// (MSC, Prop. 2)
struct SubsetAverage {
    mean: f64,
    means: Vec<f64>,
    weights: Vec<f64>,
    precision: f64,
}

impl SubsetAverage {
    /// Draws ten data from the model; `draw` is the number of the data set.
    fn drawn(draw: usize, size: usize) -> Self {
        let mut stream = Seed::new(5).named("subset average").stream(draw as u64, 0);
        let z = stream.normal();
        let data: Vec<f64> = (0..10).map(|_| z + stream.normal()).collect();
        Self::of(&data, size)
    }

    /// For given data, at most 20.
    fn of(data: &[f64], size: usize) -> Self {
        let (count, precision) = (data.len() as f64, 1.0 + data.len() as f64);
        let (mut means, mut weights) = (Vec::new(), Vec::new());
        for subset in (0..1_u32 << data.len()).filter(|subset| subset.count_ones() as usize == size) {
            let members = || data.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1).map(|(_, x)| *x);
            let (sum, squares) = members().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
            let mean = sum / size as f64;
            means.push(count * mean / precision);
            weights.push(0.5 * (count * count * mean * mean / precision - count / size as f64 * squares));
        }
        let total = numeric::log_sum_exp(&weights);
        weights.iter_mut().for_each(|weight| *weight = (*weight - total).exp());
        Self { mean: data.iter().sum::<f64>() / precision, means, weights, precision }
    }

    fn part(&self, z: f64, mean: f64) -> f64 {
        (self.precision / std::f64::consts::TAU).sqrt() * (-0.5 * self.precision * (z - mean).powi(2)).exp()
    }

    fn posterior(&self, z: f64) -> f64 {
        self.part(z, self.mean)
    }

    fn density(&self, z: f64) -> f64 {
        self.means.iter().zip(&self.weights).map(|(mean, weight)| weight * self.part(z, *mean)).sum()
    }

    /// Evaluation points: 801 points whose range leaves out less than 1e-9 of either density.
    fn grid(&self) -> Vec<f64> {
        let reach = 6.5 / self.precision.sqrt();
        let heavy = self.means.iter().zip(&self.weights).filter(|(_, weight)| **weight > 1e-12);
        let means = heavy.map(|(mean, _)| *mean).chain([self.mean]);
        let (low, high) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
            (low.min(mean - reach), high.max(mean + reach))
        });
        (0..=800).map(|k| low + (high - low) * f64::from(k) / 800.0).collect()
    }

    /// Total variation distance between posterior and p~, by the trapezoidal rule.
    fn distance(&self) -> f64 {
        let grid = self.grid();
        let width = grid[1] - grid[0];
        0.5 * width * grid.iter().map(|&z| (self.posterior(z) - self.density(z)).abs()).sum::<f64>()
    }

    /// Standard deviation of p~ divided by that of the posterior.
    fn ratio(&self) -> f64 {
        let parts = || self.means.iter().zip(&self.weights);
        let centre: f64 = parts().map(|(mean, weight)| weight * mean).sum();
        let between: f64 = parts().map(|(mean, weight)| weight * (mean - centre).powi(2)).sum();
        (1.0 + self.precision * between).sqrt()
    }

    /// Number of modes of p~ on the grid that exceed a hundredth of its maximum.
    fn modes(&self) -> usize {
        let heights: Vec<f64> = self.grid().into_iter().map(|z| self.density(z)).collect();
        let top = greatest(heights.iter().copied());
        heights.windows(3).filter(|w| w[1] > w[0] && w[1] >= w[2] && w[1] > 0.01 * top).count()
    }
}

fn all(number: fn(&SubsetAverage) -> f64, size: usize) -> Vec<f64> {
    (0..DRAWS).map(|draw| number(&SubsetAverage::drawn(draw, size))).collect()
}

fn distances() -> Vec<[f64; 3]> {
    (0..DRAWS).map(|draw| SIZES.map(|size| SubsetAverage::drawn(draw, size).distance())).collect()
}

fn closer(distances: &[[f64; 3]]) -> Finding {
    let falls = distances.iter().flat_map(|d| [d[0] - d[1], d[1] - d[2]]);
    let listed: Vec<String> =
        distances.iter().map(|d| format!("{:.3}, {:.3}, {:.3}", d[0], d[1], d[2])).collect();
    let what = format!("total variation with 2, 5 and 9 of ten: {}; its least fall", listed.join("; and "));
    Finding::at_least(least(falls), 0.0, what)
}

fn wider(ratios: &[f64]) -> Finding {
    Finding::at_least(
        least(ratios.iter().copied()),
        1.2,
        "ratio of scales or number of modes, the least of the draws",
    )
}

fn other(distances: &[f64]) -> Finding {
    Finding::at_least(least(distances.iter().copied()), 0.01, "total variation, the least of the draws")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;

    #[test]
    fn chains_are_invariant_or_not() {
        let found = |variance: f64| Moments { mean: 1.0, variance, error: 0.001, exact: (1.0, 0.157) };
        assert_eq!(invariant(&found(0.158)).verdict, Verdict::Agree);
        assert_eq!(invariant(&found(0.293)).verdict, Verdict::Disagree);
        assert_eq!(invariant(&found(f64::NAN)).verdict, Verdict::TooLittle);
        assert_eq!(still_off(&found(0.17)).verdict, Verdict::Agree);
        assert_eq!(still_off(&found(0.158)).verdict, Verdict::Disagree);
        assert_eq!(still_off(&found(f64::NAN)).verdict, Verdict::TooLittle);
    }

    /// Independent draws with variance 4: the error of the variance of `n` is `4 sqrt(2 / n)`.
    #[test]
    fn errors_are_those_of_the_definition() {
        let mut stream = Seed::new(1).stream(0, 0);
        let states: Vec<f64> = (0..100_000).map(|_| 3.0 + 2.0 * stream.normal()).collect();
        let found = of(&states, (3.0, 4.0));
        assert!((found.error / (4.0 * (2.0 / 1e5_f64).sqrt()) - 1.0).abs() < 0.3, "{}", found.error);
        assert!((found.variance - 4.0).abs() < 5.0 * found.error);
    }

    /// With all ten data p~ is the posterior; for two data, one at a time, the mixture is computed by hand: weights `∝ exp(2
    /// x^2 / 3 - x^2)`.
    #[test]
    fn mixtures_by_hand() {
        let whole = SubsetAverage::of(&[0.3, -1.0, 2.0], 3);
        assert!(whole.distance() < 1e-12 && (whole.ratio() - 1.0).abs() < 1e-12 && whole.modes() == 1);
        let pair = SubsetAverage::of(&[0.0, 3.0], 1);
        let odds = (-3.0_f64).exp();
        assert!((pair.weights[1] / pair.weights[0] - odds).abs() < 1e-12);
        assert!((pair.means[1] - 2.0).abs() < 1e-12 && (pair.mean - 1.0).abs() < 1e-12);
        let count = |size| SubsetAverage::drawn(0, size).means.len();
        assert_eq!(SIZES.map(count), [45, 252, 10]);
        let grid = pair.grid();
        let mass: f64 = grid.iter().map(|&z| pair.density(z)).sum::<f64>() * (grid[1] - grid[0]);
        assert!((mass - 1.0).abs() < 1e-8, "{mass}");
    }

    #[test]
    fn minibatches_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let verdicts =
            |d: [f64; 3], ratio: f64| [closer(&[d]).verdict, wider(&[ratio]).verdict, other(&[d[2]]).verdict];
        assert_eq!(verdicts([0.5, 0.3, 0.1], 2.0), [Agree; 3]);
        assert_eq!(verdicts([0.1, 0.3, 0.001], 1.0), [Disagree; 3]);
        assert_eq!(verdicts([0.5, f64::NAN, f64::NAN], f64::NAN), [TooLittle; 3]);
    }
}
