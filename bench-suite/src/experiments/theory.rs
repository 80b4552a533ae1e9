//! Claims on bias, variance and rates: searches for counterexamples over small problems, for which both sides are computed, and
//! charts.

use mcsa_plot::{Axis, Color, Dash, Figure, Layer, PALETTE, Panel, Style};
use mcsa_theory::claims::{self as theory, Effort, Examined, Finding as Found, Judgement, Standing, Witness};
use mcsa_theory::curves::{self, Chart, Curve};

use crate::claims::{Finding, Verdict};
use crate::figures::{FigureFile, doubles, escaped, spans};
use crate::results::Results;

fn judged(id: &str) -> Option<Judgement> {
    theory::all().into_iter().find(|claim| claim.id == id).map(|claim| claim.examine(Effort::BRIEF))
}

pub(crate) fn examined(id: &str) -> Finding {
    let unknown = || Finding::not_reproducible(format!("there is no claim {id}"));
    judged(id).map_or_else(unknown, |judgement| of(&judgement))
}

/// The corrected formulas of a claim; empty if there are none.
fn corrected(judgement: &Judgement, joint: &str) -> String {
    judgement.corrected.iter().map(|corrected| &*corrected.formula).collect::<Vec<&str>>().join(joint)
}

/// Converts the result of a search to a finding, with the corrected statement.
fn of(judgement: &Judgement) -> Finding {
    let Examined { formula, method, finding, .. } = &judgement.printed;
    let Found { standing, tried, .. } = finding;
    let instead = match corrected(judgement, "; and ") {
        none if none.is_empty() => none,
        formulas => format!("; instead {formulas}"),
    };
    let witness = finding.shown().filter(|_| *standing != Standing::NotCheckable);
    let Some(Witness { lhs, rhs, badness, case, .. }) = witness else {
        return Finding::not_reproducible(format!("{formula}: {method}{instead}"));
    };
    let (verdict, number, reason) = match standing {
        Standing::Violated => {
            (Verdict::Disagree, *badness, format!("{lhs:.5} against {rhs:.5} at {case}{instead}"))
        }
        _ => (
            Verdict::Agree,
            finding.worst_badness().unwrap_or(f64::NAN),
            format!("the worst of {tried} problems, left side over right ({standing})"),
        ),
    };
    let reason = format!("{formula}: {reason}");
    Finding { verdict, number, reason, evidence: String::new() }
}

/// A figure for each chart, with the verdict of a search in its caption.
pub(super) fn figures(_: &Results) -> Vec<FigureFile> {
    curves::all().iter().map(|chart| FigureFile::new(chart.name, figure(chart))).collect()
}

fn figure(chart: &Chart) -> Figure {
    let caption = match judged(chart.claim) {
        Some(judgement) => {
            let place = escaped(&format!("{}, {}", judgement.paper.key, judgement.place));
            format!("{place}: {} ({}). {}", chart.claim, judgement.standing(), chart.sight)
        }
        None => chart.sight.to_owned(),
    };
    let is_cloud = chart.name == "jensen-gap";
    let axis = |label: &str, is_log| match is_log {
        true => Axis::log(label),
        false => Axis::linear(label),
    };
    let abscissae = chart.curves[0].points.iter().map(|point| point.0 as u64).collect::<Vec<u64>>();
    let x = axis(chart.x, is_cloud || doubles(&abscissae));
    let y = axis(chart.y, is_cloud || spans_decades(&chart.curves));
    let mut panel = Panel::new(x, y);
    if is_cloud {
        let ends = [3e-4, 1.0].map(|at| (at, at));
        panel.x = panel.x.spanning(3e-4, 3.0);
        panel.y = panel.y.spanning(1e-6, 1.0);
        panel = panel.with(Layer::line(ends).styled(Style::reference()).named("gap = bound"));
    }
    for (index, curve) in chart.curves.iter().enumerate() {
        let (points, style) = (curve.points.iter().copied(), style(curve.label, index));
        let layer = match is_cloud {
            true => Layer::points(points).styled(style.sized(2.2).faint(0.7)),
            false => Layer::line(points).styled(style),
        };
        panel = panel.with(layer.named(curve.label));
    }
    Figure::new(vec![panel]).captioned(caption)
}

/// Style of a curve. The quantity itself is broad and black, so that a bound that it attains is visible on top of it.
fn style(label: &str, index: usize) -> Style {
    let plain = Style::series(index);
    let of = |color: Color, dash: Dash, width: f64| Style { color, dash, width, ..plain };
    match label {
        "printed" => of(PALETTE[1], Dash::Short, 1.3),
        "corrected" => of(PALETTE[0], Dash::Long, 1.3),
        "limit" | "1/*N*" => of(Color::GREY, Dash::Dotted, 1.3),
        "exact" | "exact, worst start" | "surrogate" | "to independent copies" => {
            of(Color::BLACK, Dash::Solid, 2.2)
        }
        "exact likelihood" | "to a stationary path" => of(PALETTE[2], Dash::Solid, 1.3),
        _ => plain,
    }
}

/// Returns true if all ordinates are positive, and some curve that is not a bound varies more than thirtyfold.
fn spans_decades(curves: &[Curve]) -> bool {
    let varies = |curve: &Curve, times| spans(curve.points.iter().map(|point| point.1), times);
    let is_bound = |curve: &Curve| matches!(curve.label, "printed" | "corrected");
    curves.iter().all(|curve| varies(curve, 0.0))
        && curves.iter().any(|curve| !is_bound(curve) && varies(curve, 30.0))
}

/// Printed formula, verdict and corrected formulas of a claim, for tables.
pub(crate) fn cells(id: &str) -> [String; 3] {
    let of = |judgement: Judgement| {
        let verdict = judgement.standing().to_string().to_lowercase();
        [judgement.printed.formula.clone(), verdict, corrected(&judgement, "; ")]
    };
    judged(id).map(of).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::tests::entry;

    fn judgement(standing: Standing, witness: Option<(f64, f64)>) -> Judgement {
        let witness = witness.map(|(lhs, rhs)| {
            let (badness, refutes) = (lhs / rhs, lhs > rhs);
            Witness { lhs, rhs, badness, refutes, identity: false, case: "a case".into() }
        });
        let mut judgement = judged("000-T2").unwrap();
        judgement.printed.finding = Found { standing, worst: witness, examples: Vec::new(), tried: 7 };
        judgement
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let holds = of(&judgement(Standing::Tight, Some((1.0, 1.0))));
        assert_eq!((holds.verdict, holds.number), (Verdict::Agree, 1.0));
        let fails = of(&judgement(Standing::Violated, Some((3.0, 2.0))));
        assert_eq!((fails.verdict, fails.number), (Verdict::Disagree, 1.5));
        assert!(fails.reason.contains("a case"), "{}", fails.reason);
        assert_eq!(of(&judgement(Standing::NotCheckable, None)).verdict, Verdict::NotReproducible);
        assert_eq!(examined("no such claim").verdict, Verdict::NotReproducible);
    }

    #[test]
    fn every_chart_has_its_claim() {
        let files = ["ours/theory", "pmcsa/tab-rates"].map(|id| entry(id).text);
        for chart in mcsa_theory::curves::all() {
            let listed = format!("theory = \"{}\"", chart.claim);
            assert!(files.iter().any(|text| text.contains(&listed)), "{}", chart.claim);
        }
    }
}
