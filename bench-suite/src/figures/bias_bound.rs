//! Bounds of the bias against the divergence (MCMC-SE, Fig. 2).

use mcsa_theory::bounds::mcmc_se;

use super::Plate;
use crate::catalog::Method;
use crate::claims::bias_bound::{CURVES, at};
use crate::evidence::Evidence;
use crate::look;
use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};

/// All curves in one panel; the printed bound of Theorem 1 dotted.
pub fn bias_bound(_: &Evidence) -> Vec<Plate> {
    let divergences: Vec<f64> = (0..=100).map(|k| 0.1 * f64::from(k)).collect();
    let mut panel = Panel::new(
        Axis::linear("KL(*p* ∥ *q*) = log *w\\**"),
        Axis::linear("Bound of the bias, in units of *L*").spanning(0.0, 1.05),
    );
    for (kind, n) in CURVES {
        let method = match kind {
            "pmcsa" => Method::Pmcsa { chains: n },
            "jsa" => Method::Jsa { transitions: n },
            _ => Method::Msc { fresh: n - 1 },
        };
        let dash = if n == 2 { Dash::Short } else { Dash::Solid };
        let style = Style { dash, ..look::style(&method) };
        let bound: Vec<f64> = divergences.iter().map(|kl| at(kind, n, *kl)).collect();
        let name = if kind == "pmcsa" {
            "pMCSA, any *N*".to_owned()
        } else {
            format!("{}, *N* = {n}", look::name(kind))
        };
        panel = panel.with(Layer::line(divergences.clone(), bound).named(name).styled(style));
        if (kind, n) == ("jsa", 8) {
            let printed = divergences
                .iter()
                .map(|kl| mcmc_se::sequential_bias_as_printed(1.0, kl.exp(), n))
                .collect::<Vec<_>>();
            let (x, y): (Vec<f64>, Vec<f64>) =
                divergences.iter().copied().zip(printed).filter(|(_, bound)| *bound >= 0.0).unzip();
            let dotted = Style { dash: Dash::Dotted, ..style };
            panel = panel.with(Layer::line(x, y).named("JSA, *N* = 8, as printed").styled(dotted));
        }
    }
    let caption = "Computed from the formulas. The printed bound of one chain lacks its remainder, and is negative below \
                   log 4.";
    vec![Plate::new("bound", Figure::new(vec![panel]).wide(110.0).captioned(caption))]
}
