//! Conditional SMC with ancestor sampling: the first of two states under three ancestor rules (MSC, Alg. 4).

use mcsa_core::Seed;

use super::Plate;
use crate::as_published::{Ancestry, TwoStates};
use crate::evidence::Evidence;
use mcsa_plot::{Axis, Color, Dash, Figure, Layer, PALETTE, Panel, Style};

/// Exact density and histograms of long chains with two particles.
pub fn ancestor_weight(_: &Evidence) -> Vec<Plate> {
    let scene = TwoStates::default();
    let (mean, variance) = scene.exact();
    let scale = variance.sqrt();
    let (low, width) = (mean - 6.0 * scale, 12.0 * scale / 50.0);
    let centres: Vec<f64> = (0..50).map(|k| low + width * (f64::from(k) + 0.5)).collect();
    let density =
        |z: &f64| (-0.5 * (z - mean).powi(2) / variance).exp() / (std::f64::consts::TAU * variance).sqrt();
    let fine: Vec<f64> = (0..=400).map(|k| low + 0.125 * width * f64::from(k)).collect();
    let exact: Vec<f64> = fine.iter().map(density).collect();
    let plain = Style::series(0);
    let black = Style { color: Color::BLACK, width: 2.2, dash: Dash::Solid, ..plain };
    let x = Axis::linear("First state").spanning(low, low + 50.0 * width);
    let mut panel = Panel::new(x, Axis::linear("Density"))
        .with(Layer::line(fine, exact).styled(black).named("posterior"));
    let shown = [
        (Ancestry::Correct, "ancestors, correct weight", PALETTE[0], Dash::Long),
        (Ancestry::Printed, "ancestors, printed weight", PALETTE[1], Dash::Short),
    ];
    for (ancestry, name, color, dash) in shown {
        let states = scene.first_states(ancestry, 2, 200_000, &mut Seed::new(2).named("shown").stream(0, 0));
        let mut heights = vec![0.0; centres.len()];
        for z in &states {
            let place = ((z - low) / width) as usize;
            if let Some(height) = heights.get_mut(place).filter(|_| *z >= low) {
                *height += 1.0 / (width * states.len() as f64);
            }
        }
        let style = Style { color, dash, width: 1.3, ..plain };
        panel = panel.with(Layer::line(centres.clone(), heights).styled(style).named(name));
    }
    let caption = "Two states, two particles; 200 000 sweeps each, in 50 cells. The printed weight draws the state towards the \
                   prior, for it leaves out the observation.";
    vec![Plate::new("first-state", Figure::new(vec![panel]).wide(120.0).captioned(caption))]
}
