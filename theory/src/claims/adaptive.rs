//! Cases in which the guide depends on the chain's state.

use std::fmt;

use mcsa_core::Stream;

use super::atoms::tuple;
use super::{Atoms, Searchable, Setting};
use crate::{Instance, Square};

/// A target and one guide per atom: the next step uses the guide of the atom at which the chain is. The simplest dependence of
/// parameters on the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Adaptive {
    /// One problem per atom; all have the same target.
    pub problems: Vec<Instance<f64>>,
    /// Number of transitions, `n`.
    pub steps: usize,
    /// The atom at which the chain starts.
    pub start: usize,
}

impl Adaptive {
    /// A case worked out by hand: the target, and one guide per atom.
    ///
    /// # Panics
    /// If a guide is zero at an atom of the target.
    pub fn new(target: &[f64], guides: &[Vec<f64>], steps: usize, start: usize) -> Self {
        let score = vec![0.0; target.len()];
        let problem =
            |guide: &Vec<f64>| Instance::new(target, guide, &score).expect("a guide reaches the target");
        Self { problems: guides.iter().map(problem).collect(), steps, start }
    }

    /// Transition matrix of one step: row `z` is that of independent Metropolis-Hastings with the guide of atom `z`.
    pub fn transition(&self) -> Square<f64> {
        let kernels: Vec<Square<f64>> = self.problems.iter().map(Instance::imh).collect();
        Square::from_fn(kernels.len(), |z, y| kernels[z].row(z)[y])
    }

    /// Largest convergence rate over all guides.
    pub fn rate(&self) -> f64 {
        self.problems.iter().map(Instance::rate).fold(0.0, f64::max)
    }
}

impl Searchable for Adaptive {
    type Setting = Setting;

    fn draw(setting: &Setting, stream: &mut Stream) -> Self {
        let first = Atoms::draw(setting, stream);
        let mut guides = vec![first.problem.q().to_vec()];
        for _ in 1..setting.atoms {
            guides.push(Atoms::draw(setting, stream).problem.q().to_vec());
        }
        // A guide that leaves out an atom of this target is not usable: the first guide is kept.
        let mut case =
            Self::new(first.problem.pi(), &vec![guides[0].clone(); guides.len()], setting.steps, first.start);
        for (problem, guide) in case.problems.iter_mut().zip(&guides) {
            if let Ok(found) = Instance::new(first.problem.pi(), guide, first.problem.s()) {
                *problem = found;
            }
        }
        case
    }

    fn coordinates(&self) -> Vec<f64> {
        let laws = std::iter::once(self.problems[0].pi()).chain(self.problems.iter().map(Instance::q));
        laws.flatten().map(|p| p.ln().max(-40.0)).collect()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let mut laws = coordinates.chunks(self.problems.len()).map(super::atoms::softmax);
        let target = laws.next().unwrap_or_default();
        Self::new(&target, &laws.collect::<Vec<_>>(), self.steps, self.start)
    }
}

impl fmt::Display for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p = {}", tuple(self.problems[0].pi()))?;
        for (atom, problem) in (1..).zip(&self.problems) {
            write!(f, ", q = {} at atom {atom}", tuple(problem.q()))?;
        }
        write!(f, ", n = {}, start atom {}", self.steps, self.start + 1)
    }
}
