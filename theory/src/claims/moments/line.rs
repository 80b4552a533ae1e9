//! Cases on the line: atoms with positions, and a Gaussian or t on the line as the family.

use std::fmt;

use mcsa_core::Stream;

use crate::claims::atoms::{softmax, tuple};
use crate::claims::{Searchable, Sides};
use crate::{Instance, Square};

/// Target on atoms of the line, and location and scale of an approximation.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) positions: Vec<f64>,
    pub(super) target: Vec<f64>,
    pub(super) location: f64,
    pub(super) scale: f64,
    /// Degrees of freedom of the approximation; none for a Gaussian.
    pub(super) dof: Option<f64>,
}

impl Line {
    /// `E_p[f]`.
    pub(super) fn mean(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.positions.iter().zip(&self.target).map(|(z, p)| p * f(*z)).sum()
    }

    /// Mean and deviation of the target, if it is not nearly a point.
    pub(super) fn moments(&self) -> Option<(f64, f64)> {
        let mean = self.mean(|z| z);
        let deviation = self.mean(|z| (z - mean).powi(2)).sqrt();
        (deviation > 0.05).then_some((mean, deviation))
    }

    /// Independent Metropolis-Hastings between the atoms, guided by the Gaussian with these moments.
    pub(super) fn chain(&self, location: f64, scale: f64) -> Option<Square<f64>> {
        let logits: Vec<f64> =
            self.positions.iter().map(|z| -0.5 * ((z - location) / scale).powi(2)).collect();
        let zeros = vec![0.0; logits.len()];
        Some(Instance::new(&self.target, &softmax(&logits), &zeros).ok()?.imh())
    }

    /// Weight of a point in the step, `u = (nu + 1)/(nu + r^2)`, and 1 for a Gaussian, from the squared radius.
    pub(super) fn weight(&self, square: f64) -> f64 {
        self.dof.map_or(1.0, |nu| (nu + 1.0) / (nu + square))
    }

    pub(super) fn square(&self, z: f64) -> f64 {
        ((z - self.location) / self.scale).powi(2)
    }

    /// Log density, up to a constant of the family.
    pub(super) fn log_density(&self, z: f64) -> f64 {
        let fall = match self.dof {
            Some(nu) => (nu + 1.0) * (self.square(z) / nu).ln_1p(),
            None => self.square(z),
        };
        -self.scale.ln() - 0.5 * fall
    }

    /// `E_q[f(r^2)]` by the trapezoidal rule: for a t on the logit of `nu / (nu + r^2)`, which is Beta(nu/2, 1/2).
    pub(super) fn expectation(&self, f: impl Fn(f64) -> f64) -> f64 {
        let (mut total, mut sum) = (0.0, 0.0);
        for k in -400..=400 {
            let x = 0.25 * f64::from(k);
            let (mass, square) = match self.dof {
                Some(nu) => {
                    let log_mass = -0.5 * nu * (-x).exp().ln_1p() - 0.5 * x.exp().ln_1p();
                    (log_mass.exp(), nu * (-x).exp())
                }
                None => ((-0.5 * x * x).exp(), x * x),
            };
            if mass > 0.0 {
                total += mass;
                sum += mass * f(square);
            }
        }
        sum / total
    }
}

/// Number of atoms and degrees of freedom.
pub(super) type Sizes = (usize, Option<f64>);

impl Searchable for Line {
    type Setting = Sizes;

    fn draw(&(atoms, dof): &Sizes, stream: &mut Stream) -> Self {
        let spread = [0.3, 1.0, 3.0][(3.0 * stream.uniform()) as usize];
        let coordinates: Vec<f64> = (0..2 * atoms + 2).map(|_| spread * stream.normal()).collect();
        let sized = Self { positions: vec![0.0; atoms], target: vec![], location: 0.0, scale: 1.0, dof };
        sized.at(&coordinates)
    }

    fn coordinates(&self) -> Vec<f64> {
        let logits = self.target.iter().map(|p| p.ln());
        self.positions.iter().copied().chain(logits).chain([self.location, self.scale.ln()]).collect()
    }

    /// Positions and location are kept within 20, and the log scale within 3.
    fn at(&self, coordinates: &[f64]) -> Self {
        let bounded = |x: f64, most: f64| if x.is_nan() { 0.0 } else { x.clamp(-most, most) };
        let (positions, rest) = coordinates.split_at(self.positions.len());
        let (logits, rest) = rest.split_at(self.positions.len());
        Self {
            positions: positions.iter().map(|z| bounded(*z, 20.0)).collect(),
            target: softmax(logits),
            location: bounded(rest[0], 20.0),
            scale: bounded(rest[1], 3.0).exp(),
            dof: self.dof,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (positions, target) = (tuple(&self.positions), tuple(&self.target));
        write!(f, "p = {target} at z = {positions}, m = {:.5}, s = {:.5}", self.location, self.scale)?;
        self.dof.map_or(Ok(()), |nu| write!(f, ", nu = {nu}"))
    }
}

/// Identity of two vectors, by the pair of entries that differ most.
pub(super) fn equal(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Sides> {
    let sides = pairs.into_iter().map(|(lhs, rhs)| Sides::equal(lhs, rhs));
    sides.max_by(|a, b| a.badness().total_cmp(&b.badness()))
}
