//! The three numbers of the README as a picture: `cargo run -p mcsa-plot --example three_numbers docs/gallery/three-numbers.png`.

use std::error::Error;

use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

/// Milliseconds to 1,000 effective draws, verdict excluded, of `mcsa` and of nutpie (`docs/anchors.md`). Where chains are the answer, it is the whole
/// call.
const TIMES: [(&str, f64, Option<f64>); 6] = [
    ("pima", 8.8, None),
    ("pima, standardised", 4.5, Some(327.0)),
    ("german, whole call", 2_160.0, Some(10_826.0)),
    ("german, standardised", 16.0, Some(983.0)),
    ("eight schools", 6.0, Some(42.0)),
    ("pima, probit", 4.6, Some(3_297.0)),
];
/// Wrong answers that passed, of 4,519 fits of planted failures with weighted draws (`docs/book/src/verdict.md`).
const PASSED: [(&str, f64); 2] = [("verdict", 0.0), ("k-hat", 858.0)];
/// Printed statements of five papers (`docs/book/src/errata.md`).
const STATEMENTS: [(&str, f64); 3] = [("hold", 71.0), ("fail", 39.0), ("not checked", 3.0)];

/// A bar for each count, with the counts in its name.
fn counts(title: &str, label: &str, of: &[(&str, f64)]) -> Panel {
    let names = of.iter().map(|(name, count)| format!("{name}: {count}"));
    let panel = Panel::new(Axis::categories("", names), Axis::linear(label)).titled(title);
    of.iter().enumerate().fold(panel, |panel, (k, (_, count))| {
        let middle = k as f64;
        panel.with(Layer::bar([middle - 0.3, middle + 0.3], *count).styled(Style::series(k)))
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("the path of the picture is missing")?;
    let points = |times: &[Option<f64>]| {
        let placed = times.iter().enumerate().filter_map(|(k, time)| Some(((*time)?, k as f64)));
        Layer::points(placed.collect::<Vec<_>>())
    };
    let names = TIMES.iter().map(|(name, ..)| *name);
    let times = Panel::new(Axis::log("milliseconds to 1,000 effective draws"), Axis::categories("", names))
        .titled("How fast")
        .with(points(&TIMES.map(|row| Some(row.1))).styled(Style::series(0)).named("mcsa, verdict excluded"))
        .with(
            points(&TIMES.map(|row| row.2))
                .styled(Style::series(1))
                .named("nutpie (on pima it did not converge)"),
        );
    let passed = counts("How often right", "wrong answers that passed, of 4,519", &PASSED);
    let statements = counts("Claims of the papers", "statements, of 113", &STATEMENTS);
    let mut figure = Figure::new(vec![times, passed, statements]).shaped(0.7);
    figure.columns = 3;
    std::fs::write(path, figure.wide(260.0).draw()?.png(150.0)?)?;
    Ok(())
}
