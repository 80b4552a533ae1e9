//! A chain whose guide moves.

use std::fmt;

use mcsa::Stream;

use crate::claims::{Case, atoms::softmax};
use crate::{Instance, Square, distance};

/// A target and several guides on the same atoms, a start and a number of steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Guides {
    pub(super) target: Vec<f64>,
    pub(super) guides: Vec<Vec<f64>>,
    pub(super) steps: usize,
    pub(super) start: usize,
}

impl Guides {
    /// Independent Metropolis-Hastings under each guide, and its rate.
    fn kernels(&self) -> Option<Vec<(Square<f64>, f64)>> {
        let kernel = |guide: &Vec<f64>| {
            let instance = Instance::new(&self.target, guide, &vec![0.0; guide.len()]).ok()?;
            Some((instance.imh(), instance.rate()))
        };
        self.guides.iter().map(kernel).collect()
    }

    /// The distance from the target if step `t` uses guide `t` whatever the chain did, and the product of the rates.
    pub(super) fn scheduled(&self) -> Option<(f64, f64)> {
        let kernels = self.kernels()?;
        let (mut law, mut bound) = (self.point(), 1.0);
        for t in 0..self.steps {
            let (kernel, rate) = &kernels[t % kernels.len()];
            law = kernel.push(&law);
            bound *= rate;
        }
        Some((distance(&law, &self.target), bound))
    }

    /// The same if the guide follows the chain: at atom `z` the next step uses guide `z`. The bound is the largest
    /// rate to the number of steps.
    pub(super) fn adapted(&self) -> Option<(f64, f64)> {
        let kernels = self.kernels()?;
        let mut law = self.point();
        for _ in 0..self.steps {
            let mut next = vec![0.0; law.len()];
            for (z, p) in law.iter().enumerate() {
                let row = kernels[z % kernels.len()].0.row(z);
                next.iter_mut().zip(row).for_each(|(next, k)| *next += p * k);
            }
            law = next;
        }
        let slowest = kernels.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        Some((distance(&law, &self.target), slowest.powi(self.steps as i32)))
    }

    fn point(&self) -> Vec<f64> {
        (0..self.target.len()).map(|z| f64::from(u8::from(z == self.start))).collect()
    }
}

impl Case for Guides {
    /// Atoms, guides and steps.
    type Setting = (usize, usize, usize);

    fn draw(&(atoms, guides, steps): &Self::Setting, stream: &mut Stream) -> Self {
        let spread = if stream.uniform() < 0.5 { 0.5 } else { 1.5 };
        let mut law = || {
            let logits: Vec<f64> = (0..atoms).map(|_| spread * stream.normal()).collect();
            softmax(&logits)
        };
        let target = law();
        let guides = (0..guides).map(|_| law()).collect();
        Self { target, guides, steps, start: (atoms as f64 * stream.uniform()) as usize }
    }

    fn coordinates(&self) -> Vec<f64> {
        std::iter::once(&self.target).chain(&self.guides).flatten().map(|p| p.ln().max(-30.0)).collect()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let mut laws = coordinates.chunks(self.target.len()).map(softmax);
        let target = laws.next().unwrap_or_default();
        Self { target, guides: laws.collect(), ..*self }
    }
}

impl fmt::Display for Guides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p = {:.4?}, guides {:.4?}, t = {}, start atom {}",
            self.target,
            self.guides,
            self.steps,
            self.start + 1
        )
    }
}
