//! Cases with minibatches of data.

use std::fmt;

use mcsa_core::Stream;

use crate::claims::Searchable;
use crate::claims::atoms::{softmax, tuple};

/// A prior on a few atoms, the likelihoods of `n` data on them, and the batch size `m`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batches {
    /// The prior.
    pub(super) prior: Vec<f64>,
    /// Likelihood of each datum at every atom.
    pub(super) likelihoods: Vec<Vec<f64>>,
    /// Batch size `m`.
    pub(super) size: usize,
}

impl Batches {
    /// All sequences of `m` data, with or without repetition of a datum.
    pub(super) fn sequences(&self, replaced: bool) -> Vec<Vec<usize>> {
        let n = self.likelihoods.len();
        let sequence = |k: usize| (0..self.size).map(|j| k / n.pow(j as u32) % n).collect::<Vec<_>>();
        let distinct = |batch: &[usize]| (0..batch.len()).all(|j| !batch[..j].contains(&batch[j]));
        (0..n.pow(self.size as u32)).map(sequence).filter(|batch| replaced || distinct(batch)).collect()
    }

    /// All sets (or multisets) of `m` data, each once.
    pub(super) fn sets(&self, replaced: bool) -> Vec<Vec<usize>> {
        self.sequences(replaced).into_iter().filter(|batch| batch.is_sorted()).collect()
    }

    /// `p(z) p(x_M | z)^power` at every atom.
    fn joint(&self, batch: &[usize], power: f64) -> Vec<f64> {
        let likelihood = |z: usize| batch.iter().map(|&i| self.likelihoods[i][z]).product::<f64>();
        self.prior.iter().enumerate().map(|(z, prior)| prior * likelihood(z).powf(power)).collect()
    }

    /// Mean over batches of `p(z) p(x_M | z)^(n/m)`.
    pub(super) fn mean(&self, batches: &[Vec<usize>]) -> Vec<f64> {
        self.mean_to(batches, self.likelihoods.len() as f64 / self.size as f64)
    }

    /// Mean over batches of `p(z) p(x_M | z)^power`.
    pub(super) fn mean_to(&self, batches: &[Vec<usize>], power: f64) -> Vec<f64> {
        let mut mean = vec![0.0; self.prior.len()];
        for batch in batches {
            let joint = self.joint(batch, power);
            mean.iter_mut().zip(joint).for_each(|(m, x)| *m += x / batches.len() as f64);
        }
        mean
    }
}

/// The vector divided by its sum.
pub(super) fn normalised(mut x: Vec<f64>) -> Vec<f64> {
    let total: f64 = x.iter().sum();
    x.iter_mut().for_each(|x| *x /= total);
    x
}

impl Searchable for Batches {
    /// Number of atoms, number of data, batch size.
    type Setting = (usize, usize, usize);

    fn draw(&(atoms, data, size): &Self::Setting, stream: &mut Stream) -> Self {
        let spread = if stream.uniform() < 0.5 { 0.5 } else { 2.0 };
        let mut law = || softmax(&(0..atoms).map(|_| spread * stream.normal()).collect::<Vec<_>>());
        Self { prior: law(), likelihoods: (0..data).map(|_| law()).collect(), size }
    }

    fn coordinates(&self) -> Vec<f64> {
        std::iter::once(&self.prior).chain(&self.likelihoods).flatten().map(|p| p.ln().max(-40.0)).collect()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        let mut laws = coordinates.chunks(self.prior.len()).map(softmax);
        let prior = laws.next().unwrap_or_default();
        Self { prior, likelihoods: laws.collect(), size: self.size }
    }
}

impl fmt::Display for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "prior {}", tuple(&self.prior))?;
        for (i, likelihood) in (1..).zip(&self.likelihoods) {
            write!(f, ", l_{i} = {}", tuple(likelihood))?;
        }
        write!(f, ", m = {}", self.size)
    }
}
