//! Log evidence of stochastic volatility models of exchange rates (MSC, Fig. 3).

use mcsa_plot::{Axis, Color, Figure, Layer, Marker, PALETTE, Panel, Style};

use crate::catalog::{First, Target};
use crate::claims::resampling::{mean, median};
use crate::claims::{Check, Finding};
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::look;
use crate::results::{Results, Series};
use crate::store::Outcome;
use crate::tables::Sheet;
use mcsa_diagnostics::quantile;

/// Differences for each currency: estimated by a common filter, and as published.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let mut names: Vec<String> = Vec::new();
    for difference in differences(results, First::Level, "log_z") {
        names.push(difference.currency);
    }
    if names.is_empty() {
        names.push("cad".into());
    }
    let mut panels = Vec::new();
    let rows = [
        (First::Level, "first state at the level", (-4.0, 10.0)),
        (First::Zero, "first state at 0, as printed", (-8.0, 20.0)),
    ];
    let scores = [("log_z", "one filter for both"), ("log_z_as_published", "filters as published")];
    for (first, place, (low, high)) in rows {
        for (score, filters) in scores {
            let y = Axis::categories("", names.iter().map(|name| name.to_uppercase()));
            let x = Axis::linear("log *Z* of MSC less that of SMC, nats").spanning(low, high);
            let mut panel = Panel::new(x, y).titled(format!("{place}; {filters}"));
            panel = panel.with(Layer::vertical_rule(0.0));
            let (mut fits, mut middles) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
            for difference in differences(results, first, score) {
                let Some(row) = names.iter().position(|name| *name == difference.currency) else { continue };
                let mut values = difference.values.clone();
                fits.0.extend(&values);
                fits.1.extend(values.iter().map(|_| row as f64));
                middles.0.push(quantile(&mut values, 0.5));
                middles.1.push(row as f64);
            }
            let style = Style { color: PALETTE[0], marker: Marker::Circle, ..Style::series(0) };
            let each = Style { color: Color::GREY, marker: Marker::Ring, ..Style::series(0) };
            panel = panel
                .with(Layer::points(fits.0, fits.1).styled(each.sized(2.4)).named("a fit"))
                .with(Layer::points(middles.0, middles.1).styled(style.sized(4.0)).named("median"));
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).shaped(0.85);
    (figure.columns, figure.shares_y, figure.shares_legend) = (2, true, true);
    let caption = format!(
        "{} fits of each currency. To the right of the line MSC has learned more. The filters' own errors are below 0.2. Data: {}.{}",
        results.replicates(),
        data(results).unwrap_or_else(|| "none yet".into()).replace('_', "\\_"),
        status(results)
    );
    vec![FigureFile::new("differences", figure.captioned(caption))]
}

/// A row for each currency: log evidence at the last theta, with its Monte Carlo error and its spread over fits.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let row = |series: &Series<'_>| {
        let Target::FxVolatility { data, series: currency, first } = series.target() else { return None };
        let first = if *first == First::Level { "level" } else { "0" };
        let score = |name: &str| {
            let values = series.last(name);
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let filters = series.last(&format!("{name}_error"));
            let filters = filters.iter().map(|error| error * error).sum::<f64>() / count;
            match values.is_empty() {
                true => "–".to_owned(),
                false => {
                    format!("{mean:.2} ± {:.2} (fits {:.2})", filters.sqrt(), (square / (count - 1.0)).sqrt())
                }
            }
        };
        let method = look::name(series.method().kind()).to_owned();
        Some(vec![
            data.clone(),
            currency.clone(),
            first.to_owned(),
            method,
            score("log_z"),
            score("log_z_as_published"),
        ])
    };
    let head = ["Data", "Currency", "First state", "Method", "log Z, same filter", "log Z, as published"];
    vec![Sheet {
        name: "evidence".to_owned(),
        title: "Results at what was learned".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: results.series().iter().filter_map(row).collect(),
        note: "In nats: mean over fits, after ± the Monte Carlo error of one fit's estimate, in brackets the standard deviation of \
               fits from different seeds."
            .to_owned(),
    }]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 6] = [
    ("higher_in_the_middle", |results| middle(results, First::Level, "log_z")),
    ("higher_on_average", |results| average(results, First::Level, "log_z")),
    ("several_are_clear", |results| several(results, First::Level, "log_z")),
    ("higher_as_published", |results| middle(results, First::Level, "log_z_as_published")),
    ("higher_from_zero", |results| middle(results, First::Zero, "log_z")),
    ("higher_from_zero_as_published", |results| middle(results, First::Zero, "log_z_as_published")),
];

/// Number of currencies in either data set.
const CURRENCIES: usize = 18;
/// Smallest number of steps after which a fit counts as converged.
const STEPS: u64 = 2_000;

/// One currency: its name and, for each replicate, the log evidence under MSC minus that under SMC.
struct Difference {
    currency: String,
    values: Vec<f64>,
}

/// Name of the data set that was fitted: the published one, if present.
fn data(results: &Results) -> Option<String> {
    let has = |name: &&str| results.find(|series| series.target().data() == Some(name)).is_some();
    ["fx_fed_h10_18", "fx_ecb_18"].iter().find(|name| has(name)).map(|name| (*name).to_owned())
}

/// Differences for each currency, from fits with the given mean of the first state and the given metric.
fn differences(results: &Results, first: First, name: &str) -> Vec<Difference> {
    let Some(data) = data(results) else { return Vec::new() };
    let all = results.series();
    let place = |target: &Target| match target {
        Target::FxVolatility { data: of, series, first: at } => {
            (*of == data && *at == first).then(|| series.clone())
        }
        _ => None,
    };
    let difference = |ours: &Series<'_>| {
        let currency = place(ours.target())?;
        let theirs = all.iter().find(|s| s.target() == ours.target() && s.method().kind() == "smc")?;
        let value = |a: &&Outcome| {
            let same = theirs.outcomes.iter().find(|b| b.job.replicate == a.job.replicate)?;
            let end = |o: &Outcome| match o.ended.failure {
                Some(_) => None,
                None => o.rows.last()?.values.get(name).copied(),
            };
            Some(end(a)? - end(same)?)
        };
        Some(Difference { currency, values: ours.outcomes.iter().filter_map(value).collect() })
    };
    all.iter().filter(|series| series.method().kind() == "msc").filter_map(difference).collect()
}

impl Difference {
    /// Mean over replicates divided by its standard error, because the spread of fits differs much between currencies.
    fn in_errors(&self) -> f64 {
        let (count, centre) = (self.values.len() as f64, mean(&self.values));
        let square: f64 = self.values.iter().map(|value| (value - centre).powi(2)).sum();
        centre / (square / (count - 1.0) / count).sqrt()
    }
}

/// Mean difference of each currency; a finding in its place if a currency is missing or fits are too short. Currencies are
/// resampled, because the claims are about them and they differ by more than five fits of one currency show.
fn means(results: &Results, first: First, name: &str) -> Result<Vec<f64>, Finding> {
    let is_long = |s: &Series<'_>| s.outcomes.iter().all(|o| o.rows.last().is_some_and(|r| r.step >= STEPS));
    let found = differences(results, first, name);
    if found.len() < CURRENCIES || !results.series().iter().all(is_long) {
        let what = format!("{} of {CURRENCIES} currencies with {STEPS} steps", found.len());
        return Err(Finding::too_little(what));
    }
    Ok(found.iter().map(|difference| mean(&difference.values)).collect())
}

fn middle(results: &Results, first: First, name: &str) -> Finding {
    let what = "median of the currencies' mean differences in nats, currencies resampled";
    of_means(results, first, name, median, what)
}

fn average(results: &Results, first: First, name: &str) -> Finding {
    let what = "mean of the currencies' mean differences in nats, currencies resampled";
    of_means(results, first, name, mean, what)
}

fn of_means(
    results: &Results,
    first: First,
    name: &str,
    statistic: fn(&[f64]) -> f64,
    what: &str,
) -> Finding {
    match means(results, first, name) {
        Ok(means) => Finding::at_least_of(&[means], |columns| statistic(&columns[0]), 0.0, what),
        Err(finding) => finding,
    }
}

/// Finding on currencies whose difference exceeds three standard errors.
fn several(results: &Results, first: First, name: &str) -> Finding {
    if let Err(finding) = means(results, first, name) {
        return finding;
    }
    let errors: Vec<f64> = differences(results, first, name).iter().map(Difference::in_errors).collect();
    if errors.iter().any(|error| error.is_nan()) {
        return Finding::too_little("no spread over replicates");
    }
    let clear = |sign: f64| errors.iter().filter(|error| sign * **error > 3.0).count();
    let what = format!(
        "currencies above zero by three of their standard errors; {} are below by as much",
        clear(-1.0)
    );
    Finding::at_least(clear(1.0) as f64, 3.0, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::task::Task;

    fn verdicts(preset: PresetName, gain: f64, noise: f64) -> Vec<Verdict> {
        // Fits of one currency vary as much as currencies do.
        let rows = |task: &Task, replicate: u64, _: u64| {
            let Target::FxVolatility { series, .. } = task.target() else { panic!("a currency") };
            let spread = series.bytes().map(u64::from).sum::<u64>() % 5 + replicate % 5;
            let value =
                if task.method().kind() == "msc" { gain + noise * (spread as f64 - 4.0) } else { 0.0 };
            vec![("log_z", value), ("log_z_as_published", value)]
        };
        checks("msc/fig3-exchange-rates", preset, rows)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        assert_eq!(verdicts(PresetName::Default, 1.0, 0.1), [Agree; 6]);
        assert_eq!(verdicts(PresetName::Default, -1.0, 0.1), [Disagree; 6]);
        assert_eq!(verdicts(PresetName::Quick, 1.0, 0.1), [TooLittle; 6]);
        assert_eq!(verdicts(PresetName::Default, f64::NAN, 0.1), [TooLittle; 6]);
        let noisy = verdicts(PresetName::Default, 0.1, 3.0);
        assert_eq!(noisy[0], TooLittle);
    }

    /// Values 1 and 3: mean 2, standard error 1.
    #[test]
    fn errors_are_those_of_the_mean() {
        let difference = Difference { currency: String::new(), values: vec![1.0, 3.0] };
        assert_eq!(difference.in_errors(), 2.0);
    }
}
