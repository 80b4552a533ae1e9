//! Conditional SMC with ancestor sampling: the first of two states under three ancestor rules (MSC, Alg. 4).

use mcsa_core::Seed;
use mcsa_plot::{Axis, Color, Dash, Figure, Layer, PALETTE, Panel, Style};

use crate::claims::{Check, Finding};
use crate::figures::FigureFile;
use crate::results::Results;
use crate::tables::Sheet;
use mcsa_catalogue::published_rules::{Ancestry, TwoStates};

/// Exact density and histograms of long chains with two particles.
pub(crate) fn figures(_: &Results) -> Vec<FigureFile> {
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
    vec![FigureFile::new("first-state", Figure::new(vec![panel]).wide(120.0).captioned(caption))]
}

/// A row for each rule and number of particles.
pub(crate) fn tables(_: &Results) -> Vec<Sheet> {
    let rules = [
        (Ancestry::Kept, "kept"),
        (Ancestry::Correct, "sampled, correct weight"),
        (Ancestry::Printed, "sampled, printed weight"),
    ];
    let mut rows = Vec::new();
    for particles in [2, 10] {
        for (ancestry, name) in rules {
            let found = moments(ancestry, particles);
            rows.push(vec![
                name.to_owned(),
                particles.to_string(),
                format!("{:.3}", found.mean),
                format!("{:.3} ± {:.3}", found.variance, found.error),
                format!("{:.3}", found.exact.0),
                format!("{:.3}", found.exact.1),
            ]);
        }
    }
    let head = ["Ancestor", "Particles", "Mean", "Variance", "Exact mean", "Exact variance"];
    vec![Sheet {
        name: "moments".to_owned(),
        title: "The first of two states".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
        note: "200 000 sweeps each; errors are standard errors.".to_owned(),
    }]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 3] = [
    ("printed_is_invariant", |_| invariant(&moments(Ancestry::Printed, 2))),
    ("correct_is_invariant", |_| invariant(&moments(Ancestry::Correct, 2))),
    ("printed_is_still_off", |_| still_off(&moments(Ancestry::Printed, 10))),
];

/// Number of sweeps from which moments are estimated.
const SWEEPS: usize = 200_000;

/// Estimated mean and variance of the first state, standard error of the variance, and exact mean and variance.
struct Moments {
    mean: f64,
    variance: f64,
    error: f64,
    exact: (f64, f64),
}

fn moments(ancestry: Ancestry, particles: usize) -> Moments {
    let scene = TwoStates::default();
    let mut stream = Seed::new(1).named("ancestors").stream(0, 0);
    of(&scene.first_states(ancestry, particles, SWEEPS, &mut stream), scene.exact())
}

/// Moments with a standard error from means over blocks of 400 sweeps, far longer than the autocorrelation time.
fn of(states: &[f64], exact: (f64, f64)) -> Moments {
    let count = states.len() as f64;
    let mean = states.iter().sum::<f64>() / count;
    let square = |z: &f64| (z - mean).powi(2);
    let variance = states.iter().map(square).sum::<f64>() / count;
    let blocks: Vec<f64> =
        states.chunks(400).map(|block| block.iter().map(square).sum::<f64>() / block.len() as f64).collect();
    let spread = blocks.iter().map(|block| (block - variance).powi(2)).sum::<f64>();
    let number = blocks.len() as f64;
    Moments { mean, variance, error: (spread / (number - 1.0) / number).sqrt(), exact }
}

fn invariant(found: &Moments) -> Finding {
    let off = (found.variance - found.exact.1).abs() / found.error;
    let what = format!(
        "variance of the first state {:.3}, exactly {:.3}: off by so many standard errors",
        found.variance, found.exact.1
    );
    Finding::at_most(off, 5.0, what)
}

fn still_off(found: &Moments) -> Finding {
    let what =
        format!("variance of the first state {:.3} over {:.3}, less one", found.variance, found.exact.1);
    Finding::at_least(found.variance / found.exact.1 - 1.0, 0.05, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;

    #[test]
    fn they_hold_fail_and_abstain() {
        let found = |variance: f64| Moments { mean: 1.0, variance, error: 0.001, exact: (1.0, 0.157) };
        assert_eq!(invariant(&found(0.158)).verdict, Verdict::Agree);
        assert_eq!(invariant(&found(0.293)).verdict, Verdict::Disagree);
        assert_eq!(invariant(&found(f64::NAN)).verdict, Verdict::TooLittle);
        assert_eq!(still_off(&found(0.17)).verdict, Verdict::Agree);
        assert_eq!(still_off(&found(0.158)).verdict, Verdict::Disagree);
        assert_eq!(still_off(&found(f64::NAN)).verdict, Verdict::TooLittle);
    }

    /// Independent draws with variance 4: the error of the variance of `n` is `4 sqrt(2 / n)`.
    #[test]
    fn errors_are_those_of_the_definition() {
        let mut stream = Seed::new(1).stream(0, 0);
        let states: Vec<f64> = (0..100_000).map(|_| 3.0 + 2.0 * stream.normal()).collect();
        let found = of(&states, (3.0, 4.0));
        assert!((found.error / (4.0 * (2.0 / 1e5_f64).sqrt()) - 1.0).abs() < 0.3, "{}", found.error);
        assert!((found.variance - 4.0).abs() < 5.0 * found.error);
    }
}
