//! Comparison of families of different shape: divergence, acceptance, and draws in two dimensions.

use mcsa_core::Seed;
use mcsa_data::Catalogue;
use mcsa_plot::{Axis, Color, Figure, Layer, Marker, Panel, Style};

use crate::catalog::Target;
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::look;
use crate::metric::Vector;
use crate::results::{Results, Series};

/// Draws in two dimensions; the other figures are in the file.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    vec![FigureFile::new("plane", plane(results, &targets(results)))]
}

fn targets(results: &Results) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for series in results.series() {
        if !labels.iter().any(|label| label == series.target().label()) {
            labels.push(series.target().label().to_owned());
        }
    }
    if labels.is_empty() { vec!["banana".to_owned()] } else { labels }
}

fn look(series: &Series<'_>) -> (String, Style) {
    let (name, style) = look::family(series.shape().map_or("", |shape| shape.kind()));
    (name.to_owned(), style)
}

/// Draws of the target, pale, and of every family over them, from the first replicate.
fn plane(results: &Results, labels: &[String]) -> Figure {
    let mut rows: Vec<Vec<Panel>> = Vec::new();
    for label in labels {
        let mut per_row = Vec::new();
        for series in results.of_target(label) {
            let Some(row) = series.outcomes.first().and_then(|outcome| outcome.rows.last()) else { continue };
            let (Some(x), Some(y)) = (row.vectors.get(&Vector::DrawsX), row.vectors.get(&Vector::DrawsY))
            else {
                continue;
            };
            let (name, style) = look(&series);
            let is_first = per_row.is_empty();
            let ordinate = if is_first { format!("{label}, *z*_{{2}}") } else { String::new() };
            let mut panel = Panel::new(Axis::linear("*z*_{1}"), Axis::linear(ordinate)).titled(name);
            if let Some(target) = truth(series.target()) {
                let ([low, high], points) = target;
                let (u, v): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
                let pale =
                    Style { color: Color::GREY, marker: Marker::Circle, opacity: 0.25, ..Style::reference() };
                panel = panel.with(Layer::points(u, v).styled(pale.sized(1.2)));
                panel.x = panel.x.spanning(low.0, high.0);
                panel.y = panel.y.spanning(low.1, high.1);
            }
            let dots = Style { marker: Marker::Circle, opacity: 0.75, ..style };
            per_row.push(panel.with(Layer::points(x.clone(), y.clone()).styled(dots.sized(1.4))));
        }
        rows.extend(Some(per_row).filter(|row| !row.is_empty()));
    }
    let columns = rows.first().map_or(2, |row| row.len().clamp(2, 5));
    let mut panels: Vec<Panel> = rows.into_iter().flatten().collect();
    if panels.is_empty() {
        panels.push(Panel::new(Axis::linear("*z*_{1}"), Axis::linear("*z*_{2}")));
    }
    let text = "Grey: 2000 draws of the target. Coloured: 400 draws of the fitted family, first replicate; what lies \
                outside the frame is not shown.";
    let mut figure = Figure::new(panels).captioned(format!("{text}{}", status(results))).shaped(1.0);
    figure.columns = columns;
    figure
}

/// Plot range with room for tails, and draws.
type Cloud = ([(f64, f64); 2], Vec<(f64, f64)>);

fn truth(target: &Target) -> Option<Cloud> {
    let reference = target.reference(&Catalogue::new(None), Seed::new(0)).ok()?;
    let points: Vec<(f64, f64)> = reference.points.col_iter().take(2_000).map(|z| (z[0], z[1])).collect();
    let span = |of: fn(&(f64, f64)) -> f64| {
        let low = points.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let margin = 0.15 * (high - low);
        (low - margin, high + margin)
    };
    let ((left, right), (bottom, top)) = (span(|z| z.0), span(|z| z.1));
    Some(([(left, bottom), (right, top)], points))
}
