//! Posterior, and the distribution that minibatches lead to (MSC, Fig. 5).

use super::Plate;
use crate::claims::subset_average::{DRAWS, SIZES, SubsetAverage};
use crate::evidence::Evidence;
use mcsa_plot::{Axis, Color, Dash, Figure, Layer, PALETTE, Panel, Style};

/// A row for each size of minibatch, a column for each draw of ten data.
pub fn subset_average(_: &Evidence) -> Vec<Plate> {
    let plain = Style::series(0);
    let (black, blue) = (
        Style { color: Color::BLACK, dash: Dash::Short, width: 1.3, ..plain },
        Style { color: PALETTE[0], dash: Dash::Solid, width: 1.6, ..plain },
    );
    let mut panels = Vec::new();
    for size in SIZES {
        for draw in 0..DRAWS {
            // The smallest minibatch has the widest distribution and determines the range of its column.
            let grid = SubsetAverage::drawn(draw, SIZES[0]).grid();
            let laws = SubsetAverage::drawn(draw, size);
            let of = |density: &dyn Fn(f64) -> f64| grid.iter().map(|&z| density(z)).collect::<Vec<f64>>();
            let title = format!("*m* = {size}, data {}: distance {:.3}", draw + 1, laws.distance());
            let x = Axis::linear("*z*").spanning(grid[0], grid[grid.len() - 1]);
            let panel = Panel::new(x, Axis::linear("Density"))
                .titled(title)
                .with(
                    Layer::line(grid.clone(), of(&|z| laws.density(z))).styled(blue).named("subset average"),
                )
                .with(Layer::line(grid.clone(), of(&|z| laws.posterior(z))).styled(black).named("posterior"));
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).shaped(0.42);
    (figure.columns, figure.shares_y, figure.shares_legend) = (DRAWS, true, true);
    let caption = "Exact: mixtures of 45, 252 and 10 normal laws. Distance is total variation. Ten data from the model, drawn twice.";
    vec![Plate::new("densities", figure.captioned(caption))]
}
