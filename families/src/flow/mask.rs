//! Masks of coupling layers.

use mcsa_core::Seed;
use serde::{Deserialize, Serialize};

use super::permutation::shuffled;

/// Set of coordinates that a coupling moves; the others stay and are the input of its network (Dinh et al. 2017, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mask {
    /// Coordinates 0, 2, 4, ..
    Even,
    /// Coordinates 1, 3, 5, ..; none in dimension one.
    Odd,
    /// A random half, the larger one if the dimension is odd.
    Random {
        /// Seed of the random half.
        seed: u64,
    },
}

impl Mask {
    /// Masks `Even`, `Odd`, `Even`, ..; in dimension one, where `Odd` moves nothing, always `Even`.
    pub fn alternating(dim: usize) -> impl Iterator<Item = Self> {
        (0..).map(move |k: usize| if dim == 1 || k.is_multiple_of(2) { Self::Even } else { Self::Odd })
    }

    /// The coordinates that stay, and those that move, each in ascending order.
    pub fn split(self, dim: usize) -> (Vec<usize>, Vec<usize>) {
        let moves: Vec<bool> = match self {
            Self::Even => (0..dim).map(|i| i.is_multiple_of(2)).collect(),
            Self::Odd => (0..dim).map(|i| !i.is_multiple_of(2)).collect(),
            Self::Random { seed } => {
                let mut moves = vec![false; dim];
                let order = shuffled(dim, &mut Seed::new(seed).named("mask").stream(0, 0));
                order[..dim.div_ceil(2)].iter().for_each(|&i| moves[i] = true);
                moves
            }
        };
        (0..dim).partition(|&i| !moves[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_split_the_coordinates() {
        assert_eq!(Mask::Even.split(5), (vec![1, 3], vec![0, 2, 4]));
        assert_eq!(Mask::Odd.split(5), (vec![0, 2, 4], vec![1, 3]));
        assert_eq!(Mask::Even.split(1), (vec![], vec![0]));
        for seed in 0..20 {
            let (stay, moved) = Mask::Random { seed }.split(7);
            assert_eq!((stay.len(), moved.len()), (3, 4));
            let mut all = [stay, moved].concat();
            all.sort_unstable();
            assert_eq!(all, (0..7).collect::<Vec<_>>());
        }
        let different =
            (0..20).map(|seed| Mask::Random { seed }.split(7)).collect::<std::collections::HashSet<_>>();
        assert!(different.len() > 5);
        assert_eq!(Mask::alternating(1).take(2).collect::<Vec<_>>(), [Mask::Even, Mask::Even]);
        assert_eq!(Mask::alternating(2).take(2).collect::<Vec<_>>(), [Mask::Even, Mask::Odd]);
    }
}
