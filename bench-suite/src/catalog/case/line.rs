//! Densities of one coordinate beside standard normal ones, most of them planted failures.

use std::f64::consts::{PI, TAU};

use mcsa_core::numeric::scalar::ln_gamma;
use mcsa_core::{Gradient, LogDensity};

use super::margin::{Margin, Margins};
use super::truth::Truth;

/// Target with independent coordinates: the first has the density of a [`Line`], the others are standard normal.
pub(super) struct FirstCoordinate {
    pub(super) dim: usize,
    pub(super) line: Line,
}

/// Density on the line.
#[derive(Debug, Clone, Copy)]
pub(super) enum Line {
    /// `N(0, 1)` that is `exp(height)` times as high beyond 1.
    Step { height: f64 },
    /// Constant: improper.
    Flat,
    /// `(1 + z^2)^(-1/2)`: improper, by a logarithm.
    LogTail,
    /// Student t.
    Student { freedom: f64 },
}

/// Mass of the standard normal law beyond 1.
const BEYOND: f64 = 0.158_655_253_931_457_05;

impl Line {
    /// Log density and its slope; at the step the slope is that of the normal density.
    fn at(self, z: f64) -> (f64, f64) {
        match self {
            Self::Step { height } => (-0.5 * (z * z + TAU.ln()) + if z > 1.0 { height } else { 0.0 }, -z),
            Self::Flat => (0.0 * z, 0.0),
            Self::LogTail => (-0.5 * (z * z).ln_1p(), -z / (1.0 + z * z)),
            Self::Student { freedom: nu } => {
                let log_peak = ln_gamma(0.5 * (nu + 1.0)) - ln_gamma(0.5 * nu) - 0.5 * (nu * PI).ln();
                (log_peak - 0.5 * (nu + 1.0) * (z * z / nu).ln_1p(), -(nu + 1.0) * z / (nu + z * z))
            }
        }
    }

    /// Mean and standard deviation, if they exist.
    fn moments(self) -> Option<(f64, f64)> {
        match self {
            Self::Step { height } => {
                // Mass and density of the standard normal law beyond 1, and at 1.
                let (beyond, at, lift) = (BEYOND, (-0.5_f64).exp() / TAU.sqrt(), height.exp());
                let mass = 1.0 - beyond + lift * beyond;
                let mean = at * (lift - 1.0) / mass;
                let square = (1.0 - beyond - at + lift * (beyond + at)) / mass;
                Some((mean, (square - mean * mean).sqrt()))
            }
            Self::Student { freedom } if freedom > 2.0 => Some((0.0, (freedom / (freedom - 2.0)).sqrt())),
            Self::Flat | Self::LogTail | Self::Student { .. } => None,
        }
    }
}

impl FirstCoordinate {
    /// Log normaliser, unless the density is improper.
    pub(super) fn log_normaliser(&self) -> Option<f64> {
        let first = match self.line {
            Line::Step { height } => (1.0 + height.exp_m1() * BEYOND).ln(),
            Line::Student { .. } => 0.0,
            Line::Flat | Line::LogTail => return None,
        };
        Some(first + 0.5 * (self.dim - 1) as f64 * TAU.ln())
    }

    /// Margins, if the line is a Student t.
    pub(super) fn margins(&self) -> Option<Margins> {
        let Line::Student { freedom } = self.line else { return None };
        Some(Margins::first(Margin::student(freedom), Margin::standard(), self.dim))
    }

    pub(super) fn truth(&self) -> Truth {
        let Some((mean, sd)) = self.line.moments() else { return Truth::None };
        let (mut means, mut sds) = (vec![0.0; self.dim], vec![1.0; self.dim]);
        (means[0], sds[0]) = (mean, sd);
        Truth::Moments { means, sds }
    }
}

impl LogDensity for FirstCoordinate {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.line.at(z[0]).0 - 0.5 * z[1..].iter().map(|z| z * z).sum::<f64>()
    }
}

impl Gradient for FirstCoordinate {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(slope, z)| *slope = -z);
        gradient[0] = self.line.at(z[0]).1;
        self.log_density(z, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments by the trapezoidal rule.
    #[test]
    fn moments_are_those_of_the_density() {
        for line in [Line::Step { height: 0.0 }, Line::Step { height: 3.0 }, Line::Student { freedom: 9.0 }] {
            let mut sums = [0.0; 3];
            for k in -4_000_000..4_000_000 {
                let z = (f64::from(k) + 0.5) * 1e-4;
                let density = line.at(z).0.exp();
                (0..3).for_each(|power| sums[power as usize] += density * z.powi(power));
            }
            let mean = sums[1] / sums[0];
            let sd = (sums[2] / sums[0] - mean * mean).sqrt();
            let (expected, deviation) = line.moments().unwrap();
            assert!((mean - expected).abs() < 1e-6 && (sd - deviation).abs() < 1e-5, "{line:?} {mean} {sd}");
            let log_z = FirstCoordinate { dim: 3, line }.log_normaliser().unwrap();
            assert!(((sums[0] * 1e-4).ln() + TAU.ln() - log_z).abs() < 1e-6, "{line:?} {log_z}");
        }
    }

    #[test]
    fn slopes_are_those_of_the_density() {
        for line in [Line::Step { height: 3.0 }, Line::Flat, Line::LogTail, Line::Student { freedom: 2.0 }] {
            for z in [-2.0, 0.3, 4.0] {
                let difference = (line.at(z + 1e-5).0 - line.at(z - 1e-5).0) / 2e-5;
                assert!((line.at(z).1 - difference).abs() < 1e-8, "{line:?} at {z}");
            }
        }
    }
}
