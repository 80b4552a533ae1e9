//! Tables of ranks, metrics, chains and variants of settings.

use super::board::{Board, RANKED, is_scalable, name};
use super::figures::origin;
use crate::catalog::{FamilyConfig, OptimizerConfig, Target};
use crate::interval::{Interval, bootstrap};
use crate::results::{Results, Series};
use crate::tables::Sheet;

/// Level of the intervals, as in claims.
const LEVEL: f64 = 0.9;

/// Mean ranks (SL-DAIS, Tab. 2 and 7), metrics of every method on every set (Fig. 4), chains, and variants of settings.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let board = Board::of(results);
    vec![ranks(&board), metrics(&board), chains(&board), variants(&board)]
}

/// A mean, with its interval if there are several values.
fn cell(values: &[f64], digits: usize) -> String {
    match bootstrap(values, LEVEL) {
        None => "–".to_owned(),
        Some(Interval { value, replicates: 1, .. }) => format!("{value:.digits$}"),
        Some(Interval { value, low, high, .. }) => {
            format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
        }
    }
}

fn mean(values: &[f64], digits: usize) -> String {
    bootstrap(values, LEVEL).map_or_else(|| "–".to_owned(), |found| format!("{:.digits$}", found.value))
}

fn sheet<const N: usize>(
    name: &'static str,
    title: &str,
    head: [&str; N],
    rows: Vec<Vec<String>>,
    note: String,
) -> Sheet {
    Sheet { name: name.to_owned(), title: title.to_owned(), head: head.map(str::to_owned).into(), rows, note }
}

fn ranks(board: &Board<'_>) -> Sheet {
    let columns = RANKED.map(|(metric, _)| board.ranks(metric));
    let row = |place: usize| {
        let name = columns[0][place].0.clone();
        std::iter::once(name).chain(columns.iter().map(|all| cell(&all[place].1, 2))).collect()
    };
    let note = "Rank among the scalable methods, 1 the best, averaged over data sets: means over splits with 90 % bootstrap intervals.";
    sheet(
        "ranks",
        "Mean ranks",
        ["Method", "ELBO", "Test log predictive density", "Test accuracy"],
        (0..columns[0].len()).map(row).collect(),
        format!("{note}{}", origin(board)),
    )
}

/// The series of a kind of family.
fn family<'s, 'r>(all: &'s [Series<'r>], kind: &str) -> Option<&'s Series<'r>> {
    all.iter().find(|series| series.shape().is_some_and(|family| family.kind() == kind))
}

/// Log evidence, estimated by importance sampling at the full-rank fit, less the bound: what a better method could gain.
fn room(all: &[Series<'_>], series: &Series<'_>) -> Vec<f64> {
    let Some(full) = family(all, "full-rank") else { return Vec::new() };
    let replicates = series.outcomes.iter().map(|outcome| outcome.job.replicate);
    replicates.filter_map(|r| Some(full.end(r, "log_z")? - series.end(r, "elbo")?)).collect()
}

fn metrics(board: &Board<'_>) -> Sheet {
    let row = |label: &str, all: &[Series<'_>], series: &Series<'_>| {
        let base = family(all, "mean-field").filter(|base| base.task != series.task);
        // Splits differ more than methods, and not all methods have all splits.
        let value = |metric: &str, digits| match base {
            Some(base) => cell(&series.differences(base, metric), digits),
            None => mean(&series.last(metric), digits),
        };
        let last = |metric: &str, digits| mean(&series.last(metric), digits);
        vec![
            label.to_owned(),
            name(series),
            value("elbo", 2),
            mean(&room(all, series), 2),
            last("k_hat", 2),
            value("lpd", 4),
            value("accuracy", 4),
            last("zero_steps", 1),
            last("terms", 0),
            last("seconds", 1),
            (series.outcomes.len() - series.failures()).to_string(),
        ]
    };
    let rows =
        board.sets.iter().flat_map(|(label, all)| all.iter().map(move |series| row(label, all, series)));
    let note = "The mean field: means over splits. Bounds, densities and accuracies of the others: differences to it, paired over splits, with \
                90 % bootstrap intervals. Room: log evidence, estimated by importance sampling at the full-rank fit, less the bound; the \
                estimate can be relied on where the k-hat of the full-rank fit is below 0.7. The number after a name is that of its steps.";
    sheet(
        "metrics",
        "Bounds and predictions",
        [
            "Data set",
            "Method",
            "ELBO, nats",
            "Room, nats",
            "k-hat",
            "Test log predictive density",
            "Test accuracy",
            "Steps of size zero",
            "Likelihood terms",
            "Seconds",
            "Splits",
        ],
        rows.collect(),
        format!("{note}{}", origin(board)),
    )
}

fn chains(board: &Board<'_>) -> Sheet {
    let row = |label: &str, series: &Series<'_>| {
        let worst = |metric: &str, digits: usize, of: fn(f64, f64) -> f64| {
            series.last(metric).into_iter().reduce(of).map_or("–".to_owned(), |x| format!("{x:.digits$}"))
        };
        vec![
            label.to_owned(),
            name(series),
            worst("r_hat", 3, f64::max),
            worst("bulk_ess", 0, f64::min),
            worst("divergences", 0, f64::max),
            mean(&series.last("terms"), 0),
            mean(&series.last("seconds"), 1),
        ]
    };
    let of_set = |(label, all): &(String, Vec<Series<'_>>)| {
        let chains = all.iter().filter(|series| series.method().sampling().is_some());
        chains.map(|series| row(label, series)).collect::<Vec<_>>()
    };
    let note = "R-hat, effective sample size and divergences: the worst of all coordinates and splits. Costs: means over splits. NUTS-CS draws \
                from the posterior of a coreset, HMCECS from a perturbed posterior: neither is exact.";
    sheet(
        "chains",
        "Chains",
        ["Data set", "Method", "R-hat", "Bulk ESS", "Divergences", "Likelihood terms", "Seconds"],
        board.sets.iter().flat_map(of_set).collect(),
        format!("{note}{}", origin(board)),
    )
}

/// Scale of the prior of a target.
fn prior(target: &Target) -> Option<f64> {
    match target {
        Target::SubsetLogistic { prior_scale, .. } => Some(*prior_scale),
        _ => None,
    }
}

/// Points of a surrogate, or rows of a minibatch.
fn points(series: &Series<'_>) -> String {
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) if annealed.points > 0 => annealed.points.to_string(),
        _ => "–".to_owned(),
    }
}

/// Size of the first step of a path at the start of a fit.
fn first_step(series: &Series<'_>) -> String {
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => annealed.step_size.to_string(),
        _ => "–".to_owned(),
    }
}

/// Rates of a fit in its first step and in its last.
fn rates(series: &Series<'_>) -> String {
    match (series.rule(), series.fit()) {
        (Some(OptimizerConfig::Adam(adam)), Some(fit)) => {
            let (first, last) = (adam.rate().at(1), adam.rate().at(fit.steps));
            if first == last { format!("{first}") } else { format!("{first} to {last:.0e}") }
        }
        _ => "–".to_owned(),
    }
}

/// All scalable fits to the data sets of variants, with their gains over the mean field on the same target.
fn variants(board: &Board<'_>) -> Sheet {
    let is_varied = |all: &Series<'_>| {
        board.variants.iter().any(|variant| variant.target().data() == all.target().data())
    };
    let usual = board.sets.iter().flat_map(|(_, all)| all).filter(|series| is_varied(series));
    let all: Vec<&Series<'_>> = usual.chain(&board.variants).filter(|series| is_scalable(series)).collect();
    let row = |series: &&Series<'_>| {
        let is_base = |other: &&&Series<'_>| {
            other.target() == series.target() && matches!(other.shape(), Some(FamilyConfig::MeanField { .. }))
        };
        let base = all.iter().find(is_base);
        let gain =
            |metric, digits| cell(&base.map_or_else(Vec::new, |b| series.differences(b, metric)), digits);
        vec![
            series.place(),
            prior(series.target()).map_or_else(|| "–".to_owned(), |scale| scale.to_string()),
            name(series),
            points(series),
            first_step(series),
            rates(series),
            gain("elbo", 2),
            gain("lpd", 4),
            mean(&series.last("zero_steps"), 1),
        ]
    };
    let note = "Differences to the mean field on the same target, paired over splits, with 90 % bootstrap intervals.";
    sheet(
        "variants",
        "Other prior scales, numbers of points, first steps and rates",
        [
            "Target",
            "Prior scale",
            "Method",
            "Points",
            "First step",
            "Rates",
            "ELBO − mean field, nats",
            "Test log predictive density − mean field",
            "Steps of size zero",
        ],
        all.iter().map(row).collect(),
        format!("{note}{}", origin(board)),
    )
}
