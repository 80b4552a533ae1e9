//! Independent Gaussians by the exclusive and by the inclusive divergence, the picture of the book's first chapter:
//! `cargo run -p mcsa-plot --example divergences docs/gallery/divergences.png`.

use std::error::Error;
use std::f64::consts::TAU;

use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

/// A Gaussian in two dimensions.
struct Gaussian {
    mean: [f64; 2],
    sd: [f64; 2],
    correlation: f64,
}

impl Gaussian {
    fn independent(mean: [f64; 2], sd: [f64; 2]) -> Self {
        Self { mean, sd, correlation: 0.0 }
    }

    /// Adds the ellipses at one and at two standard deviations.
    fn draw(&self, panel: Panel, style: Style, name: &str) -> Panel {
        [1.0, 2.0].into_iter().fold(panel, |panel, radius| {
            let point = |k: u32| {
                let (sin, cos) = (TAU * f64::from(k) / 120.0).sin_cos();
                let second = self.correlation * cos + (1.0 - self.correlation.powi(2)).sqrt() * sin;
                (self.mean[0] + radius * self.sd[0] * cos, self.mean[1] + radius * self.sd[1] * second)
            };
            panel.with(Layer::line((0..=120).map(point)).styled(style).named(name))
        })
    }
}

/// Ellipses of the components of p and of the two fits.
fn panel(title: &str, p: &[Gaussian], exclusive: &Gaussian, inclusive: &Gaussian) -> Panel {
    let axis = |label: &str, reach: f64| Axis::linear(label).spanning(-reach, reach);
    let panel = Panel::new(axis("*z*_{1}", 6.5), axis("*z*_{2}", 4.75)).titled(title);
    let panel = p.iter().fold(panel, |panel, part| part.draw(panel, Style::reference().solid(), "*p*"));
    let panel = exclusive.draw(panel, Style::series(0).solid(), "exclusive, KL(*q* ∥ *p*)");
    inclusive.draw(panel, Style::series(1).solid(), "inclusive, KL(*p* ∥ *q*)")
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("the path of the picture is missing")?;
    // Exclusive fits have the conditional standard deviations of p, inclusive ones the marginal ones.
    let correlation: f64 = 0.9;
    let of = Gaussian::independent;
    let p = Gaussian { correlation, ..of([0.0; 2], [1.5; 2]) };
    let narrow = of([0.0; 2], [1.5 * (1.0 - correlation.powi(2)).sqrt(); 2]);
    let ridge = panel("Two correlated parameters", &[p], &narrow, &of([0.0; 2], [1.5; 2]));
    // Between modes this far apart an exclusive fit stays at one of them; an inclusive one has the variance of both together.
    let mode = |at: f64| of([at, 0.0], [0.7; 2]);
    let wide = of([0.0; 2], [(0.49_f64 + 9.0).sqrt(), 0.7]);
    let modes = panel("Two modes", &[mode(-3.0), mode(3.0)], &mode(3.0), &wide);
    let mut figure = Figure::new(vec![ridge, modes]).shaped(0.62);
    figure.columns = 2;
    std::fs::write(path, figure.draw()?.png(150.0)?)?;
    Ok(())
}
