//! Cases with a free weight.

use std::fmt;

use mcsa_core::Stream;

use super::atoms::short;
use super::{Atoms, Searchable, Setting};

/// Atoms and a weight `v > 0` that need not be the weight of an atom, for claims about functions of a weight.
#[derive(Debug, Clone, PartialEq)]
pub struct AtWeight {
    /// Target, guide and counts.
    pub atoms: Atoms,
    /// The weight `v`.
    pub v: f64,
}

/// Bound on `|log v|`: weights are within a factor `e^8` of 1.
const FARTHEST: f64 = 8.0;

impl Searchable for AtWeight {
    type Setting = Setting;

    /// Half of the cases have the weight of the start, which is often `w*`.
    fn draw(setting: &Setting, stream: &mut Stream) -> Self {
        let atoms = Atoms::draw(setting, stream);
        let v = (2.0 * stream.normal()).clamp(-FARTHEST, FARTHEST).exp();
        let v = if stream.uniform() < 0.5 { atoms.problem.w()[atoms.start] } else { v };
        Self { atoms, v }
    }

    fn coordinates(&self) -> Vec<f64> {
        let mut coordinates = self.atoms.coordinates();
        coordinates.push(self.v.ln());
        coordinates
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let (atoms, log_v) = coordinates.split_at(coordinates.len() - 1);
        let log_v = if log_v[0].is_finite() { log_v[0].clamp(-FARTHEST, FARTHEST) } else { 0.0 };
        Self { atoms: self.atoms.at(atoms), v: log_v.exp() }
    }
}

impl fmt::Display for AtWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, weight {}", self.atoms, short(self.v))
    }
}
