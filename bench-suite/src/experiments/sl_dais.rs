//! Annealed paths (SL-DAIS): mean ranks over data sets (Fig. 2, Tab. 2 and 7), and checks of gains (Tab. 3 to 5).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use mcsa_plot::{Axis, Figure, Layer, Panel};

use crate::catalog::{AnnealedConfig, FamilyConfig, Target};
use crate::claims::{Check, Checked, ENOUGH, Finding, LEVEL, mean};
use crate::figures::{FigureFile, status};
use crate::interval::{Interval, bootstrap};
use crate::look;
use crate::results::{Results, Series};
use crate::selector::{approach, family};
use crate::tables::{Table, in_groups, or_dash, stand_ins};

/// Metrics that are ranked, with their titles; larger values are better.
const RANKED: [(&str, &str); 3] =
    [("elbo", "ELBO"), ("lpd", "Test log predictive density"), ("accuracy", "Test accuracy")];
/// Difference of mean log predictive densities below which two methods predict alike, nats per label.
const ALIKE: f64 = 0.005;
/// Largest distance of a share of the gap from one half that counts as half of it. Ours, since the text has no numbers.
const TOLERANCE: f64 = 0.1;

/// Results by data set and method. The first target of a data set counts, and methods that occur on all of these; further targets
/// and methods are variants of settings.
pub(super) struct Ranking<'r> {
    /// Series of one target of each data set: one of each common method, in the order of the file.
    sets: Vec<Vec<Series<'r>>>,
    variants: Vec<Series<'r>>,
}

/// Returns true for a family whose cost of a step does not grow with the data: all but DAIS. Chains are no family.
fn is_scalable(series: &Series<'_>) -> bool {
    series.shape().is_some() && family(series) != "posterior"
}

impl<'r> Ranking<'r> {
    pub(super) fn of(results: &'r Results) -> Self {
        let of_data =
            in_groups(results.series().into_iter().map(|series| (series.task.target().data(), series)));
        let is_first = |all: &Vec<Series<'r>>, series: &Series<'r>| series.target() == all[0].target();
        let is_alike = |a: &Series<'_>, b: &Series<'_>| a.shape() == b.shape() && a.method() == b.method();
        let is_common = |one: &Series<'_>| {
            let has =
                |all: &Vec<Series<'r>>| all.iter().any(|other| is_first(all, other) && is_alike(one, other));
            of_data.iter().all(|(_, all)| has(all))
        };
        let (mut sets, mut variants) = (Vec::new(), Vec::new());
        for (_, all) in &of_data {
            let is_kept = |series: &Series<'r>| is_first(all, series) && is_common(series);
            let (kept, others): (Vec<_>, Vec<_>) = all.iter().cloned().partition(is_kept);
            sets.extend(Some(kept).filter(|kept| !kept.is_empty()));
            variants.extend(others);
        }
        Self { sets, variants }
    }

    fn scalable(&self) -> impl Iterator<Item = &Series<'r>> {
        self.sets.first().into_iter().flatten().filter(|series| is_scalable(series))
    }

    /// Mean rank over data sets of each scalable method, for every replicate with values of all methods on all sets. Rank 1 is the best;
    /// equal values share their mean rank.
    ///
    /// ```text
    /// rank_ms = 1 + #{better than m on s} + 1/2 #{others equal to m on s},   mean over s
    /// ```
    pub(super) fn ranks(&self, metric: &str) -> Vec<(String, Vec<f64>)> {
        let mut ranks: Vec<(String, Vec<f64>)> =
            self.scalable().map(|series| (approach(series), Vec::new())).collect();
        let first = self.sets.first().into_iter().flatten();
        let last = first.flat_map(|series| &series.outcomes).map(|outcome| outcome.job.replicate).max();
        for replicate in 0..=last.unwrap_or(0) {
            let values = |all: &Vec<Series<'_>>| -> Option<Vec<f64>> {
                let scalable = all.iter().filter(|series| is_scalable(series));
                scalable.map(|series| series.end(replicate, metric)).collect()
            };
            let sets: Option<Vec<Vec<f64>>> = self.sets.iter().map(values).collect();
            let Some(sets) = sets.filter(|sets| !sets.is_empty()) else { continue };
            for (place, (_, ranks)) in ranks.iter_mut().enumerate() {
                let sum: f64 = sets.iter().map(|values| rank(values, place)).sum();
                ranks.push(sum / sets.len() as f64);
            }
        }
        ranks
    }
}

/// Rank of a value among values of which larger ones are better.
pub(super) fn rank(values: &[f64], place: usize) -> f64 {
    let count = |is: fn(&f64, &f64) -> bool| values.iter().filter(|other| is(other, &values[place])).count();
    0.5 + count(|other, own| other > own) as f64 + 0.5 * count(|other, own| other == own) as f64
}

pub(super) fn figures(results: &Results) -> Vec<FigureFile> {
    let board = Ranking::of(results);
    if board.sets.is_empty() {
        return Vec::new();
    }
    let methods: Vec<&Series<'_>> = board.scalable().collect();
    let panel = |(metric, title): (&str, &str)| {
        let names = Axis::categories("", methods.iter().map(|series| approach(series)));
        let axis = Axis::linear("Mean rank").spanning(0.5, methods.len() as f64 + 0.5);
        let mut panel = Panel::new(axis, names).titled(title);
        for (row, (series, (_, ranks))) in methods.iter().zip(board.ranks(metric)).enumerate() {
            let Some(found) = bootstrap(&ranks, LEVEL) else { continue };
            let layer = Layer::intervals([[row as f64, found.value, found.low, found.high]]);
            panel = panel.with(layer.horizontal().styled(look::of(family(series)).2.solid()));
        }
        panel
    };
    let origin = stand_ins(results);
    let mut figure = Figure::new(RANKED.map(panel).into());
    if !origin.is_empty() {
        figure = figure.titled("SYNTHETIC data sets");
    }
    (figure.columns, figure.shares_y) = (3, true);
    let caption = format!(
        "Rank among the scalable methods, 1 the best, averaged over {} data sets: means over {} splits, with 90 % bootstrap intervals. The \
         number after a name is that of its steps.{origin}{}",
        board.sets.len(),
        results.replicates(),
        status(results)
    );
    vec![FigureFile::new("ranks", figure.shaped(0.75).captioned(caption))]
}

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let board = Ranking::of(results);
    let columns = RANKED.map(|(metric, _)| board.ranks(metric));
    let cell = |ranks: &[f64]| {
        or_dash(bootstrap(ranks, LEVEL).map(|Interval { value, low, high, replicates }| match replicates {
            1 => format!("{value:.2}"),
            _ => format!("{value:.2} [{low:.2}, {high:.2}]"),
        }))
    };
    let row = |place: usize| {
        let name = columns[0][place].0.clone();
        std::iter::once(name).chain(columns.iter().map(|all| cell(&all[place].1))).collect()
    };
    let head = ["Method"].into_iter().chain(RANKED.map(|(_, title)| title)).collect::<Vec<_>>().join(" | ");
    let rows = (0..columns[0].len()).map(row).collect();
    let note = "Rank among the scalable methods, 1 the best, averaged over data sets: means over splits with 90 % bootstrap intervals.";
    vec![Table::new("ranks", "Mean ranks", &head, rows, format!("{note}{}", stand_ins(results)))]
}

pub(super) const CHECKS: [(&str, Check); 9] = [
    ("surrogate_ranks_above_subsampling", |results| sl_above_ns(results, "elbo")),
    ("surrogate_predicts_above_subsampling", |results| sl_above_ns(results, "lpd")),
    ("flow_and_surrogate_rank_best", flow_and_sl_are_best),
    ("best_fit_predicts_as_chains", best_fit_as_chains),
    ("settings_decide_nothing", settings_decide_nothing),
    ("gain_grows", |results| gain_grows(results, true)),
    ("gain_grows_at_fixed_hyperparameters", |results| gain_grows(results, false)),
    ("accuracy_follows_the_bound", accuracy_follows_the_bound),
    ("half_of_the_gap", half_of_the_gap),
];

/// Finding on a number made of the mean ranks of a split: of those of NS-DAIS, of SL-DAIS, of B-NAF, and of all others.
fn of_ranks(results: &Results, metric: &str, what: &str, number: fn([&[f64]; 4]) -> f64) -> Checked {
    let ranks = Ranking::of(results).ranks(metric);
    let splits = ranks.first().map_or(0, |(_, ranks)| ranks.len());
    if splits < ENOUGH {
        return Err(format!("fewer than three splits: {what}"));
    }
    let kinds = ["NS-DAIS", "SL-DAIS", "B-NAF"];
    let values = (0..splits).map(|split| {
        let of = |is_it: &dyn Fn(&str) -> bool| -> Vec<f64> {
            ranks.iter().filter(|(name, _)| is_it(name)).map(|(_, ranks)| ranks[split]).collect()
        };
        let [naive, surrogate, flow] = kinds.map(|kind| of(&|name| name.starts_with(kind)));
        let others = of(&|name| !name.starts_with(kinds[1]) && name != kinds[2]);
        number([&naive, &surrogate, &flow, &others])
    });
    Ok(Finding::mean_above(&values.collect::<Vec<f64>>(), 0.0, what))
}

fn sl_above_ns(results: &Results, metric: &str) -> Checked {
    let what = "mean rank of NS-DAIS less that of SL-DAIS with as many steps";
    of_ranks(results, metric, what, |[naive, surrogate, ..]| mean(naive) - mean(surrogate))
}

fn flow_and_sl_are_best(results: &Results) -> Checked {
    let what =
        "best mean rank on the bound of other methods less the worse of those of the flow and of SL-DAIS";
    of_ranks(results, "elbo", what, |[_, surrogate, flow, others]| {
        let least = |ranks: &[f64]| ranks.iter().copied().fold(f64::INFINITY, f64::min);
        least(others) - least(surrogate).max(least(flow))
    })
}

/// Log predictive density of the scalable fit with the best mean less that of HMCECS: the least of all data sets.
fn best_fit_as_chains(results: &Results) -> Checked {
    let board = Ranking::of(results);
    let best_of = |all: &Vec<Series<'_>>| {
        let chains = all.iter().find(|series| series.method().kind() == "hmcecs")?;
        let gain = |series: &Series<'_>| {
            let found = bootstrap(&series.differences(chains, "lpd"), LEVEL)?;
            Some((found, format!("{} on {}", approach(series), series.place())))
        };
        let fits = all.iter().filter(|series| is_scalable(series));
        fits.filter_map(gain).max_by(|a, b| a.0.value.total_cmp(&b.0.value))
    };
    let all = board.sets.iter().filter_map(best_of);
    let worst = all.reduce(|worst, next| if next.0.value < worst.0.value { next } else { worst });
    let (found, words) =
        worst.filter(|(found, _)| found.replicates >= ENOUGH).ok_or("fewer than three splits of HMCECS")?;
    let what = format!("log predictive density of the best scalable fit less that of HMCECS: {words}");
    Ok(Finding::interval_above(found, -ALIKE, what))
}

/// Number of variants of settings in which SL-DAIS with the most steps loses a bound to NS-DAIS or to the mean field although it wins
/// with the usual settings on as many rows, or the reverse; only differences whose interval excludes zero count.
fn settings_decide_nothing(results: &Results) -> Checked {
    let board = Ranking::of(results);
    let usual: Vec<&Series<'_>> = board.sets.iter().flatten().collect();
    let (mut changed, mut compared, mut words) = (0, 0, Vec::new());
    for variant in board.variants.iter().filter(|series| family(series) == "surrogate") {
        let is_usual = |series: &&&Series<'_>| {
            series.target().data() == variant.target().data()
                && rows(series.target()) == rows(variant.target())
                && approach(series) == approach(variant)
        };
        let Some(own) = usual.iter().find(is_usual) else { continue };
        for kind in ["mean-field", "minibatch"] {
            // Sign of the difference to the rival on the same target; 0 if its interval contains zero.
            let sign = |of: &Series<'_>| {
                let is_rival = |other: &&Series<'_>| {
                    family(other) == kind
                        && other.target() == of.target()
                        && (kind == "mean-field" || is_set_as(other, of))
                };
                let rival = usual.iter().copied().chain(&board.variants).find(is_rival)?;
                let found = bootstrap(&of.differences(rival, "elbo"), LEVEL)?;
                Some(i32::from(found.low > 0.0) - i32::from(found.high < 0.0))
            };
            let (Some(there), Some(here)) = (sign(own), sign(variant)) else { continue };
            compared += 1;
            if there * here < 0 {
                changed += 1;
                words.push(format!("{} on {}", approach(variant), variant.target().title()));
            }
        }
    }
    if compared == 0 || results.replicates() < ENOUGH {
        return Err("no variants of settings, or fewer than three splits".to_owned());
    }
    let what = format!(
        "comparisons, of {compared} with other prior scales, numbers of points, first steps and rates, that have the opposite sign {}",
        words.join("; ")
    );
    Ok(Finding::at_most(f64::from(changed), 0.0, what.trim()))
}

/// Number of rows of a subset of a large set.
fn rows(target: &Target) -> Option<usize> {
    match target {
        Target::SubsetLogistic { rows, .. } => Some(*rows),
        _ => None,
    }
}

/// Returns true if two annealed paths differ in their surrogates alone.
fn is_set_as(a: &Series<'_>, b: &Series<'_>) -> bool {
    match (a.shape(), b.shape()) {
        (Some(FamilyConfig::Annealed(a)), Some(FamilyConfig::Annealed(b))) => {
            AnnealedConfig { surrogate: b.surrogate, ..a.clone() } == *b
        }
        _ => false,
    }
}

/// Gain of a metric at the end over a base family on the same target, by replicate.
fn gains(results: &Results, series: &Series<'_>, base: Base, metric: &str) -> BTreeMap<u64, f64> {
    let base = results.find(|other| other.shape().is_some_and(base) && other.target() == series.target());
    let replicates = series.outcomes.iter().map(|outcome| outcome.job.replicate);
    let gain = |replicate| {
        Some((replicate, series.end(replicate, metric)? - base.as_ref()?.end(replicate, metric)?))
    };
    replicates.filter_map(gain).collect()
}

type Base = fn(&FamilyConfig) -> bool;

const GAUSSIAN: Base = |family| *family == FamilyConfig::FullRank;
const STILL: Base = |family| matches!(family, FamilyConfig::SemiAnnealed(semi) if semi.steps == 0);

/// Series of annealed paths for a sparse process, with their numbers of inducing points.
fn annealed(results: &Results, is_joint: bool) -> Vec<(usize, Series<'_>)> {
    let process = |series: &Series<'_>| match series.target() {
        Target::SparseProcess(config) if config.joint == is_joint => Some(config.inducing),
        _ => None,
    };
    let others = results.series().into_iter().filter(|series| !series.shape().is_some_and(GAUSSIAN));
    others.filter_map(|series| Some((process(&series)?, series))).collect()
}

const NO_PATHS: &str = "no fits of annealed paths";

/// End nearer to zero of the interval of the gain at the most inducing points less that at the fewest, paired over replicates.
fn gain_grows(results: &Results, is_joint: bool) -> Checked {
    let ours = annealed(results, is_joint);
    let (few, fewest) = ours.iter().min_by_key(|(points, _)| points).ok_or(NO_PATHS)?;
    let (many, most) = ours.iter().max_by_key(|(points, _)| points).ok_or(NO_PATHS)?;
    let [low, high] = [fewest, most].map(|series| gains(results, series, GAUSSIAN, "elbo"));
    let growth = high.iter().filter_map(|(replicate, gain)| Some(gain - low.get(replicate)?));
    let what = format!(
        "end nearer to zero of the 90 % interval of the gain with {many} inducing points less that with {few}, nats"
    );
    sure(growth.collect(), what)
}

/// End nearer to zero of the interval of the gain in accuracy on the set with the largest gain of the bound, with hyperparameters
/// learned jointly.
fn accuracy_follows_the_bound(results: &Results) -> Checked {
    let gain = |series: &Series<'_>, metric| -> Vec<f64> {
        gains(results, series, GAUSSIAN, metric).into_values().collect()
    };
    let bound = |series: &Series<'_>| {
        bootstrap(&gain(series, "elbo"), LEVEL).map_or(f64::NEG_INFINITY, |gain| gain.value)
    };
    let joint = annealed(results, true);
    let largest = joint.iter().max_by(|a, b| bound(&a.1).total_cmp(&bound(&b.1)));
    let (_, largest) = largest.ok_or(NO_PATHS)?;
    let label = largest.target().label();
    sure(
        gain(largest, "accuracy"),
        format!("end nearer to zero of the 90 % interval of the gain in accuracy on {label}"),
    )
}

/// Finding that the mean of some values is positive: if their interval contains zero there is not enough evidence.
fn sure(values: Vec<f64>, what: String) -> Checked {
    let Some(found) = bootstrap(&values, LEVEL) else { return Err(what) };
    match found.replicates >= ENOUGH {
        true if found.low > 0.0 => Ok(Finding::at_least(found.low, 0.0, what)),
        true if found.high < 0.0 => Ok(Finding::at_least(found.high, 0.0, what)),
        _ => Err(format!("{what}: [{:.4}, {:.4}] contains zero", found.low, found.high)),
    }
}

/// Distance from one half of the share of the gap that most steps close, at the end of its interval that is farther away; for the
/// published form, a chain for each datum, from the longest first steps.
fn half_of_the_gap(results: &Results) -> Checked {
    let all = results.series();
    let paths = |series: &Series<'_>| match series.shape() {
        Some(FamilyConfig::SemiAnnealed(semi)) if semi.steps > 0 && !semi.shared => {
            Some((semi.steps, semi.step_size))
        }
        _ => None,
    };
    let published = all.iter().filter_map(|series| Some((paths(series)?, series)));
    let longest = published.max_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    let oracle = all.iter().find(|series| !matches!(series.shape(), Some(FamilyConfig::SemiAnnealed(_))));
    let (((steps, _), longest), oracle) = longest.zip(oracle).ok_or("no fits of the families compared")?;
    let [ours, whole] = [longest, oracle].map(|series| gains(results, series, STILL, "elbo"));
    let shares = ours.iter().filter_map(|(replicate, gain)| Some(gain / whole.get(replicate)?));
    let found = bootstrap(&shares.collect::<Vec<f64>>(), LEVEL);
    let found = found.filter(|found| found.replicates >= ENOUGH);
    let Interval { low, high, .. } = found.ok_or("too few replicates of the families compared")?;
    let distance = (low - 0.5).abs().max((high - 0.5).abs());
    let what = format!(
        "distance from 0.5 of the 90 % interval [{low:.3}, {high:.3}] of the share of the gap that {steps} steps close"
    );
    Ok(Finding::at_most(distance, TOLERANCE, what))
}
