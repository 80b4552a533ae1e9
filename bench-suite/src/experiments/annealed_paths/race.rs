//! SL-DAIS and chains at equal numbers of evaluations of the likelihood of one datum.

use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};

use super::titles::{targets, titled};
use crate::catalog::Method;
use crate::figures::Plate;
use crate::figures::curves::{EIGHTY, FEWEST, provenance};
use crate::look;
use crate::results::{Results, Series};

/// Metric of a row of panels, and its axis.
type Row<'a> = (&'a str, fn() -> Axis);

/// Errors of moments, bound and k-hat against passes over the rows: a column for each target.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let mut labels = targets(results);
    if labels.is_empty() {
        labels.push("pima".to_owned());
    }
    let plate = |name: &str, rows: &[Row<'_>]| {
        let mut panels = Vec::new();
        for (row, (metric, axis)) in rows.iter().enumerate() {
            for label in &labels {
                let panel = Panel::new(Axis::log("Passes over the training rows"), axis());
                let panel = if row == 0 { panel.titled(titled(label)) } else { panel };
                panels.push(with_curves(panel, results, label, metric));
            }
        }
        let mut figure =
            Figure::new(panels).shaped(0.62).captioned(format!("{TEXT} {}", provenance(results)));
        (figure.columns, figure.shares_legend) = (labels.len(), true);
        Plate::new(name, figure)
    };
    vec![
        plate(
            "moments",
            &[
                ("mean_error", || Axis::log("Error of means, posterior sd")),
                ("scale_error", || Axis::log("|log ratio of sd|")),
            ],
        ),
        plate(
            "bounds",
            &[
                ("lpd", || Axis::linear("Test log predictive density")),
                ("k_hat", || Axis::log("*k*-hat of the weights")),
            ],
        ),
    ]
}

const TEXT: &str = "One pass is an evaluation of the likelihood of every training row; those of SL-DAIS are counted by formula, each \
                    point of the surrogate twice per step of a path.";

/// Name and style of a method; of delayed acceptance by its warm steps.
fn look(series: &Series<'_>) -> (String, Style) {
    let style = look::style(series.method());
    match series.method() {
        Method::Minibatched { .. } => ("SL-DAIS".to_owned(), Style { dash: Dash::Solid, ..style }),
        Method::PmcsaDelayed { warm: 0, .. } => {
            ("pMCSA, delayed acceptance".to_owned(), Style { dash: Dash::Short, ..style })
        }
        Method::PmcsaDelayed { warm, .. } => (format!("pMCSA, delayed after {warm} steps"), style),
        other => (look::name(other.kind()).to_owned(), style),
    }
}

/// Adds medians of a metric against medians of the evaluations, in passes.
fn with_curves(mut panel: Panel, results: &Results, label: &str, metric: &str) -> Panel {
    let mut lines = Vec::new();
    for series in results.of_target(label) {
        let (steps, [low, middle, high]) = series.quantiles(metric, EIGHTY);
        let (all, [evaluations]) = series.quantiles("row_evaluations", [0.5]);
        let last = steps.last().copied().unwrap_or(0.0);
        let total = evaluations.last().copied().unwrap_or(f64::NAN);
        if steps != all || last < 1.0 {
            continue;
        }
        // The last row has spent all passes; the first has spent those of the chains' start and of a warm start.
        let passes: Vec<f64> = evaluations.iter().map(|count| count * last / total).collect();
        let is_shown = |&k: &usize| passes[k] >= 1.0 && (k == 0 || passes[k] > passes[k - 1]);
        let shown: Vec<usize> = (0..steps.len()).filter(is_shown).collect();
        let of = |column: &[f64]| shown.iter().map(|&k| column[k]).collect::<Vec<f64>>();
        let (called, style) = look(&series);
        if series.outcomes.len() >= FEWEST {
            panel = panel.with(Layer::band(of(&passes), of(&low), of(&high)).styled(style.faint(0.6)));
        }
        lines.push(Layer::line(of(&passes), of(&middle)).named(called).styled(style));
    }
    lines.into_iter().fold(panel, Panel::with)
}
