//! Mode coverage: modes that are kept or lost during training.

use mcsa_plot::{Axis, Figure, Layer, Panel};

use crate::catalog::Target;
use crate::claims::{Check, ENOUGH, Finding, greatest, least};
use crate::figures::FigureFile;
use crate::figures::curves::{by_method, status};
use crate::look;
use crate::results::{Results, Series};

/// Methods, from top to bottom.
const KINDS: [&str; 4] = ["pmcsa", "jsa", "msc-rb", "elbo"];

/// Share of draws in the second mode for each replicate: a column for each start and schedule, a row for each dimension.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let mut panels = Vec::new();
    for dim in [2, 10] {
        for (mean, start) in [(0.0, "wide"), (-4.0, "narrow")] {
            for schedule in ["defended", "tempered"] {
                let here = |series: &Series<'_>| {
                    matches!(series.target(), Target::Modes { dim: d, .. } if *d == dim)
                        && series.is_from(mean, schedule)
                };
                let title = format!("*d* = {dim}, {start}, {schedule}");
                panels.push(panel(results, title, &here));
            }
        }
    }
    let mut figure = Figure::new(panels).shaped(0.8);
    (figure.columns, figure.shares_x, figure.shares_y) = (4, true, true);
    let text = "One marker a replicate, from the last iteration; the broken line is the share of the target. Wide: begun around \
                both modes; narrow: away from both, nearer to the first.";
    vec![FigureFile::new("shares", figure.captioned(format!("{text}{}", status(results))))]
}

fn panel(results: &Results, title: String, is_here: &dyn Fn(&Series<'_>) -> bool) -> Panel {
    let names = KINDS.map(|kind| look::name(kind).to_owned());
    let x = Axis::linear("Share in the second mode").spanning(-0.05, 1.05);
    let mut panel = Panel::new(x, Axis::categories("", names)).titled(title).with(Layer::vertical_rule(0.3));
    for series in results.series().iter().filter(|series| is_here(series)) {
        let Some(place) = KINDS.iter().position(|kind| *kind == series.method().kind()) else { continue };
        let shares = series.last("share");
        let places = vec![place as f64; shares.len()];
        panel = panel.with(Layer::points(shares, places).styled(by_method(series).1));
    }
    panel
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 1] = [("lost_modes_are_silent", lost_modes_are_silent)];

fn lost_modes_are_silent(results: &Results) -> Finding {
    let mut shapes = Vec::new();
    for series in results.series() {
        for (share, k_hat) in series.last("share").into_iter().zip(series.last("k_hat")) {
            if share < 0.05 {
                shapes.push(k_hat);
            }
        }
    }
    if shapes.len() < ENOUGH {
        return Finding::too_little("fewer than three fits lost the second mode");
    }
    let what = format!(
        "largest k-hat of the {} fits without the second mode; the least is {:.2}",
        shapes.len(),
        least(shapes.clone())
    );
    Finding::at_most(greatest(shapes), 0.7, what)
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict::{Agree, Disagree, TooLittle};
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;

    #[test]
    fn it_holds_fails_and_abstains() {
        let found = |share, k_hat| {
            checks("ours/flow-directions", PresetName::Default, |_, _, _| {
                vec![("share", share), ("k_hat", k_hat)]
            })
        };
        assert_eq!(found(0.0, 0.3), [Agree]);
        assert_eq!(found(0.0, 0.9), [Disagree]);
        assert_eq!(found(0.3, 0.3), [TooLittle]);
    }
}
