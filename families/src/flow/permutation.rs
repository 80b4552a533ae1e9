//! Permutations of coordinates.

use mcsa_core::{Error, Seed, Stream};
use serde::{Deserialize, Serialize};

use super::bijection::{At, Bijection, Direction, Sweep};

/// Permutation of coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Permutation {
    /// Reversed order.
    Reverse,
    /// Random order, all permutations equally likely.
    Random {
        /// Seed of the permutation.
        seed: u64,
    },
}

impl Permutation {
    /// Indices `source` such that `y_i = x_source[i]`.
    pub fn sources(self, dim: usize) -> Vec<usize> {
        match self {
            Self::Reverse => (0..dim).rev().collect(),
            Self::Random { seed } => shuffled(dim, &mut Seed::new(seed).named("permutation").stream(0, 0)),
        }
    }
}

/// Random permutation of `0..count` (Fisher & Yates).
pub(super) fn shuffled(count: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let chosen = stream.index(last + 1).expect("there is something to choose from");
        order.swap(last, chosen);
    }
    order
}

/// Permutation of a given dimension: `y_i = x_source[i]`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    /// Indices as [`Permutation::sources`] gives them.
    pub(super) sources: Vec<usize>,
}

impl Order {
    /// `x_i <- x_source[i]` of each point, or the inverse.
    fn apply(&self, direction: Direction, points: &mut [f64], work: &mut [f64]) {
        let dim = self.sources.len();
        for x in points.chunks_exact_mut(dim) {
            let before = &mut work[..dim];
            before.copy_from_slice(x);
            for (i, &source) in self.sources.iter().enumerate() {
                match direction {
                    Direction::Forward => x[i] = before[source],
                    Direction::Inverse => x[source] = before[i],
                }
            }
        }
    }
}

impl Bijection for Order {
    fn num_params(&self) -> usize {
        0
    }

    fn tape_len(&self) -> usize {
        0
    }

    fn work_len(&self, _: usize) -> usize {
        self.sources.len()
    }

    fn start(&self, _: &mut Stream, _: &mut Vec<f64>) -> Result<(), Error> {
        Ok(())
    }

    fn forward(&self, _: At<'_>, x: &mut [f64], _: &mut [f64], _: &mut [f64], work: &mut [f64]) {
        self.apply(Direction::Forward, x, work);
    }

    fn inverse(&self, _: At<'_>, y: &mut [f64], _: &mut [f64], _: &mut [f64], work: &mut [f64]) {
        self.apply(Direction::Inverse, y, work);
    }

    fn backward(&self, _: At<'_>, sweep: Sweep<'_>, d: &mut [f64], _: Option<&mut [f64]>, work: &mut [f64]) {
        let back = match sweep.direction {
            Direction::Forward => Direction::Inverse,
            Direction::Inverse => Direction::Forward,
        };
        self.apply(back, d, work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_permutations_and_functions_of_their_seed() {
        assert_eq!(Permutation::Reverse.sources(3), [2, 1, 0]);
        for seed in 0..10 {
            let mut order = Permutation::Random { seed }.sources(9);
            assert_eq!(order, Permutation::Random { seed }.sources(9));
            order.sort_unstable();
            assert_eq!(order, (0..9).collect::<Vec<_>>());
        }
    }
}
