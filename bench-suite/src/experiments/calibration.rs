//! Simulation-based calibration of `mcsa::fit`: ranks of true parameters given yes, with their bands.

use mcsa::posterior::Options;
use mcsa::{Calibration, CalibrationResult, Conclusion, Ranked};
use mcsa_core::{LogDensity, Named, Seed};
use mcsa_diagnostics::rank_error;
use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

use crate::catalog::{Case, Simulated};
use crate::claims::{Check, Checked, Finding, Verdict};
use crate::figures::{FigureFile, or_empty, status};
use crate::metric::Vector;
use crate::results::Results;
use crate::tables::{Table, in_groups, rate};

pub(super) const CHECKS: [(&str, Check); 2] = [
    ("ranks_are_uniform", |results| all_are(results, true, Conclusion::Calibrated)),
    ("another_prior_is_caught", |results| all_are(results, false, Conclusion::Wrong)),
];

/// A model, and what its ranks show; `right` is false for parameters of another prior.
struct Judged {
    title: String,
    right: bool,
    found: CalibrationResult,
}

fn judged(results: &Results) -> Result<Vec<Judged>, String> {
    let rows = results.outcomes.iter().filter_map(|one| Some((one.job.task.target().case()?, &one.rows)));
    let judge = |(case, rows): (&Case, Vec<_>)| {
        let Case::Simulated { model, prior } = case else { return Err("a case is not simulated".to_owned()) };
        let names = names(*model)?;
        let ranked = |row: &crate::store::Row| {
            let ranks = row.vectors.get(&Vector::Ranks).cloned().unwrap_or_default();
            let is_yes = row.values.get("yes") == Some(&1.0);
            let has_all = ranks.len() == names.len();
            let no = (!is_yes || !has_all).then(|| "the verdict is no".to_owned());
            Ranked { names: names.clone(), ranks, no }
        };
        let fits: Vec<Ranked> = rows.into_iter().flatten().map(ranked).collect();
        let plan =
            Calibration { data_sets: fits.len(), options: Options::default(), ..Calibration::default() };
        let found = plan.judge(&fits).map_err(|error| error.to_string())?;
        Ok(Judged { title: case.title(), right: *prior == 1.0, found })
    };
    in_groups(rows).into_iter().map(judge).collect()
}

/// Names of the quantities that are ranked.
pub(super) fn names(model: Simulated) -> Result<Vec<String>, String> {
    let mut named = Named::default();
    let (truth, target) =
        model.draw(1.0, &mut Seed::new(1).stream(0, 0)).map_err(|error| error.to_string())?;
    target.constrain(&truth, &mut named);
    Ok(named.names().iter().cloned().chain(["log density".to_owned()]).collect())
}

/// The claim that the models with a right prior, or those with another, come to one conclusion.
fn all_are(results: &Results, right: bool, claimed: Conclusion) -> Checked {
    let all: Vec<Judged> = judged(results)?.into_iter().filter(|one| one.right == right).collect();
    let count = |it: Conclusion| all.iter().filter(|one| one.found.conclusion == it).count();
    let verdict = match () {
        () if count(claimed) == all.len() && !all.is_empty() => Verdict::Agree,
        () if count(claimed) + count(Conclusion::Open) == all.len() => Verdict::TooLittle,
        () => Verdict::Disagree,
    };
    let told = all.iter().map(|one| format!("{}: {}", one.title, word(one.found.conclusion)));
    let reason = told.collect::<Vec<String>>().join("; ");
    Ok(Finding { verdict, number: count(claimed) as f64, reason, evidence: String::new() })
}

fn word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Calibrated => "calibrated",
        Conclusion::Wrong => "wrong",
        Conclusion::Open => "open",
    }
}

pub(super) fn figures(results: &Results) -> Vec<FigureFile> {
    let panels = judged(results).unwrap_or_default().iter().map(panel).collect();
    let words = "Distribution functions of the ranks of true parameters, and of their log density, among draws of fits with a yes, less \
                 that of uniform ranks. Grey: the band that holds all of them with probability 99 %, over all looks and quantities of a \
                 model. In panels with a prior times 1.5, parameters are of a prior that is 1.5 times as wide as that of the fits.";
    let axes = || [Axis::linear("Rank"), Axis::linear("Distribution function less rank")];
    let figure = Figure::new(or_empty(panels, axes())).as_multiples(4).wide(180.0).shaped(0.9);
    vec![FigureFile::new("ranks", figure.captioned(format!("{words}{}", status(results))))]
}

fn panel(one: &Judged) -> Panel {
    let CalibrationResult { names, ranks, band, .. } = &one.found;
    let count = band.count.max(1) as f64;
    let mut panel = Panel::new(Axis::linear("Rank"), Axis::linear("Distribution function less rank"));
    let ends = band.low.iter().zip(&band.high).zip(1..).map(|((low, high), k)| {
        let at = f64::from(k) / (band.low.len() + 1) as f64;
        [at, *low as f64 / count - at, *high as f64 / count - at]
    });
    panel = panel.titled(&one.title).with(Layer::band(ends).styled(Style::reference()));
    for (index, ranks) in ranks.iter().enumerate() {
        let mut sorted = ranks.clone();
        sorted.sort_by(f64::total_cmp);
        let points = sorted.into_iter().enumerate().map(|(k, rank)| (rank, (k + 1) as f64 / count - rank));
        let is_last = index + 1 == names.len();
        let (style, name) = if is_last { (1, "log density") } else { (0, "parameters") };
        panel = panel.with(Layer::line(points).styled(Style::series(style).solid()).named(name));
    }
    panel
}

/// Each model with the quantity whose ranks show the largest error.
pub(super) fn tables(results: &Results) -> Vec<Table> {
    let row = |one: &Judged| {
        let found = &one.found;
        let (yes, all) = (found.band.count, found.band.count + found.noes.len());
        let size = |ranks: &Vec<f64>| {
            let (bias, factor) = rank_error(ranks);
            bias.abs() / found.plan.bias + factor.ln().abs() / found.plan.factor.ln()
        };
        let worst =
            (0..found.names.len()).max_by(|a, b| size(&found.ranks[*a]).total_cmp(&size(&found.ranks[*b])));
        let worst = worst.map_or_else(String::new, |i| {
            let (bias, factor) = rank_error(&found.ranks[i]);
            format!("{}: {bias:.2} sd, factor {factor:.2}", found.names[i])
        });
        let outside = found.names.iter().zip(&found.ranks).filter(|(_, ranks)| !found.band.holds(ranks));
        let outside: Vec<&str> = outside.map(|(name, _)| name.as_str()).collect();
        let (share, power) = (rate(yes, all, 1), format!("{:.0} %", 100.0 * found.power));
        let word = word(found.conclusion).to_owned();
        vec![one.title.clone(), all.to_string(), share, worst, outside.join(", "), power, word]
    };
    let head = "Model | Data sets | Yes | Largest error seen | Outside the band | Power | Conclusion";
    let note = "The error of the answer that ranks show: of a mean in standard deviations, and the factor of a standard deviation. Power: \
                probability with which an error of 0.3 standard deviations, or of a factor 1.3, in one quantity leaves the band. The \
                band is left by right answers of a model with probability 1 % at most.";
    let rows = judged(results).unwrap_or_default().iter().map(row).collect();
    vec![Table::new("ranks", "Ranks of true parameters", head, rows, note)]
}
