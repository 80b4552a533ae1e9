//! Figures of answers and verdicts: errors per case, objections per witness.

use mcsa_plot::{Axis, Color, Figure, Layer, Marker, Panel, Style};

use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::results::Results;

use super::table::WITNESSES;
use super::tally::{Class, Tally, tallies};

/// Range of errors that is drawn, in multiples of the limit; others lie on its ends.
const RANGE: (f64, f64) = (0.01, 100.0);
/// Place of answers of targets without moments.
const NOWHERE: f64 = 300.0;

/// Errors of planted failures, of good targets, and objections.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let all = tallies(results);
    let is_planted = |tally: &&Tally<'_>| tally.class != Class::Good;
    let (planted, good): (Vec<_>, Vec<_>) = all.iter().partition(is_planted);
    let words = "Error of the answer of each fit: the largest error of a mean in units of 0.3 standard deviations, or of a log standard \
                 deviation in units of log 1.3, whichever is larger. Right of the line the answer is wrong. At the right edge are \
                 targets without moments, whose every answer is wrong.";
    let caption = format!("{words}{}", status(results));
    let errors = |name: &str, tallies: &[&Tally<'_>]| {
        let shape = (0.12 + 0.026 * tallies.len() as f64).max(0.3);
        FigureFile::new(name, Figure::new(vec![panel(tallies)]).wide(150.0).shaped(shape).captioned(&caption))
    };
    vec![errors("planted", &planted), errors("good", &good), objections(&all, results)]
}

fn look(yes: bool) -> Style {
    let plain = Style::series(0);
    match yes {
        true => Style { color: Color(0xD5, 0x5E, 0x00), marker: Marker::Circle, ..plain },
        false => Style { color: Color(0x00, 0x72, 0xB2), marker: Marker::Ring, ..plain },
    }
}

fn panel(tallies: &[&Tally<'_>]) -> Panel {
    let names: Vec<String> = tallies.iter().map(|tally| tally.case.title()).collect();
    let x = Axis::log("Error of the answer, 1 = wrong").spanning(0.8 * RANGE.0, 1.4 * NOWHERE);
    let mut panel = Panel::new(x, Axis::categories("", names)).with(Layer::vertical_rule(1.0));
    for (yes, name) in [(false, "no"), (true, "yes")] {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (place, tally) in tallies.iter().enumerate() {
            let runs: Vec<_> = tally.runs.iter().filter(|run| run.yes == yes).collect();
            for (k, run) in runs.iter().enumerate() {
                x.push(if run.error.is_nan() { NOWHERE } else { run.error.clamp(RANGE.0, RANGE.1) });
                // Spread within the row, so that equal errors are seen as several.
                y.push(place as f64 + 0.6 * ((k as f64 + 0.5) / runs.len() as f64 - 0.5));
            }
        }
        panel = panel.with(Layer::points(x, y).styled(look(yes).sized(2.2).faint(0.8)).named(name));
    }
    panel
}

fn objections(all: &[Tally<'_>], results: &Results) -> FigureFile {
    let names = WITNESSES.map(|(_, name)| name.to_owned());
    let x = Axis::categories("Witness", names);
    let mut panel = Panel::new(x, Axis::linear("Share of the runs, %"));
    let classes =
        [(Class::Planted, "planted failures"), (Class::Hidden, "hidden ones"), (Class::Good, "good targets")];
    for (index, (class, name)) in classes.into_iter().enumerate() {
        let ours = || all.iter().filter(move |tally| tally.class == class);
        let runs: usize = ours().map(|tally| tally.runs.len()).sum();
        for (place, (metric, _)) in WITNESSES.iter().enumerate() {
            let count: usize = ours().map(|tally| tally.objections(metric)).sum();
            if count > 0 {
                let left = place as f64 - 0.39 + 0.26 * index as f64;
                let height = 100.0 * count as f64 / runs as f64;
                let bar = Layer::bars([left, left + 0.26], [height]);
                panel = panel.with(bar.styled(Style::series(index)).named(name));
            }
        }
    }
    let caption = format!(
        "Share of the runs in which a witness objects; several may object to one fit.{}",
        status(results)
    );
    FigureFile::new("witnesses", Figure::new(vec![panel]).wide(150.0).shaped(0.5).captioned(caption))
}
