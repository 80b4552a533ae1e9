//! Block means of the path of lambda, in bounded memory.

use mcsa_core::{Error, bits, same_length};
use serde::{Deserialize, Serialize};

/// Number of blocks kept; when it is reached, neighbouring blocks are joined and blocks become twice as long.
pub(crate) const ROOM: usize = 64;
/// Number of blocks in the longest batch; windows are multiples of it.
pub(crate) const LONGEST: usize = 4;
/// Number of steps in the first blocks.
const FIRST: u64 = 16;
/// Number of blocks before the first look of a rule, and between two looks.
const LEAST: usize = ROOM / 2;
const EVERY: usize = ROOM / 8;
/// Means of consecutive blocks of iterates, their sums of squares, and the longest stay of a chain in each block.
/// `2 x 64 + 3` numbers per parameter, independent of the length of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Iterates {
    /// Number of steps in a block.
    pub(crate) length: u64,
    blocks: usize,
    filled: u64,
    looked: bool,
    /// The first iterate of the current block. Sums are of differences from it, so that squares lose no digits.
    #[serde(with = "bits::vector")]
    origin: Vec<f64>,
    #[serde(with = "bits::vector")]
    sum: Vec<f64>,
    #[serde(with = "bits::vector")]
    square: Vec<f64>,
    /// Block means, parameter by parameter.
    #[serde(with = "bits::vector")]
    means: Vec<f64>,
    /// Sums of squares about the mean of each block.
    #[serde(with = "bits::vector")]
    squares: Vec<f64>,
    /// The longest stay of a chain in each block, and the index of that chain.
    stays: Vec<(u64, usize)>,
    stay: (u64, usize),
    /// The last average that a rule reported.
    stated: Option<Stated>,
}

/// An average that a rule reported after a step, and the number of steps it covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Stated {
    step: u64,
    window: u64,
    #[serde(with = "bits::vector")]
    average: Vec<f64>,
}

impl Iterates {
    pub(crate) fn new(num_params: usize) -> Self {
        Self {
            length: FIRST,
            blocks: 0,
            filled: 0,
            looked: true,
            origin: vec![0.0; num_params],
            sum: vec![0.0; num_params],
            square: vec![0.0; num_params],
            means: vec![0.0; num_params * ROOM],
            squares: vec![0.0; num_params * ROOM],
            stays: vec![(0, 0); ROOM],
            stay: (0, 0),
            stated: None,
        }
    }

    pub(crate) fn check(&self, num_params: usize) -> Result<(), Error> {
        let stated = self.stated.as_ref().map_or(num_params, |stated| stated.average.len());
        let lengths = [
            ("sums of iterates", num_params, self.sum.len()),
            ("origins of iterates", num_params, self.origin.len()),
            ("squares of iterates", num_params, self.square.len()),
            ("block means", num_params * ROOM, self.means.len()),
            ("squares of blocks", num_params * ROOM, self.squares.len()),
            ("stays", ROOM, self.stays.len()),
            ("the stated average", num_params, stated),
        ];
        (lengths.into_iter().try_for_each(|(what, expected, found)| same_length(what, expected, found)))
            .and_then(|()| match self.blocks < ROOM && self.filled < self.length {
                true => Ok(()),
                false => Err(Error::invalid("more blocks than there is room for: the file is damaged")),
            })
            .map_err(|error| error.within("Iterates"))
    }

    /// Stores the average that a rule reports after a step.
    pub(crate) fn state(&mut self, step: u64, window: u64, average: &[f64]) {
        self.stated = Some(Stated { step, window, average: average.to_vec() });
    }

    /// The average that a rule reported after step `step`, and the number of steps it covers.
    pub(crate) fn stated(&self, step: u64) -> Option<(u64, &[f64])> {
        self.stated.as_ref().filter(|s| s.step == step).map(|s| (s.window, &s.average[..]))
    }

    /// Number of parameters.
    pub(crate) fn count(&self) -> usize {
        self.sum.len()
    }

    /// Adds an iterate, and the chain that has stayed longest with the length of its stay.
    pub(crate) fn note(&mut self, params: &[f64], oldest: Option<(usize, u64)>) {
        if self.filled == 0 {
            self.origin.copy_from_slice(params);
        }
        let above = params.iter().zip(&self.origin).map(|(param, origin)| param - origin);
        for ((sum, square), above) in self.sum.iter_mut().zip(&mut self.square).zip(above) {
            *sum += above;
            *square += above * above;
        }
        if let Some((chain, age)) = oldest.filter(|(_, age)| *age > self.stay.0) {
            self.stay = (age, chain);
        }
        self.filled += 1;
        if self.filled < self.length {
            return;
        }
        let (block, length) = (self.blocks, self.length as f64);
        for (j, (sum, square)) in self.sum.iter_mut().zip(&mut self.square).enumerate() {
            self.means[j * ROOM + block] = self.origin[j] + *sum / length;
            self.squares[j * ROOM + block] = (*square - *sum * *sum / length).max(0.0);
            (*sum, *square) = (0.0, 0.0);
        }
        self.stays[block] = std::mem::take(&mut self.stay);
        (self.blocks, self.filled, self.looked) = (block + 1, 0, false);
        if self.blocks == ROOM {
            self.join();
        }
    }

    fn join(&mut self) {
        let half = 0.5 * self.length as f64;
        for (means, squares) in self.means.chunks_exact_mut(ROOM).zip(self.squares.chunks_exact_mut(ROOM)) {
            for k in 0..ROOM / 2 {
                let (a, b) = (means[2 * k], means[2 * k + 1]);
                means[k] = 0.5 * (a + b);
                squares[k] = squares[2 * k] + squares[2 * k + 1] + half * (a - b) * (a - b);
            }
        }
        for k in 0..ROOM / 2 {
            self.stays[k] = self.stays[2 * k].max(self.stays[2 * k + 1]);
        }
        (self.blocks, self.length) = (ROOM / 2, 2 * self.length);
    }

    /// True if a look is due: at block counts that grow with the run, once each.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = !self.looked && self.blocks >= LEAST && self.blocks.is_multiple_of(EVERY);
        self.looked = true;
        due
    }

    /// Trailing windows, in blocks: all, three quarters and half of them; none below the least number of blocks.
    pub(crate) fn windows(&self) -> impl Iterator<Item = usize> {
        let quarters = if self.blocks < LEAST { &[][..] } else { &[4, 3, 2][..] };
        quarters.iter().map(|quarters| self.blocks * quarters / 4 / LONGEST * LONGEST)
    }

    /// Number of blocks in the shortest window.
    pub(crate) fn recent(&self) -> usize {
        self.blocks / 2 / LONGEST * LONGEST
    }

    /// Mean of the last `blocks` blocks.
    pub(crate) fn average_into(&self, blocks: usize, average: &mut [f64]) {
        for (j, average) in average.iter_mut().enumerate() {
            *average = self.means(j, blocks).iter().sum::<f64>() / blocks as f64;
        }
    }

    /// Variance of the iterates of parameter `j` in the last `blocks` blocks.
    pub(crate) fn variance(&self, j: usize, blocks: usize) -> f64 {
        let means = self.means(j, blocks);
        let (count, length) = (blocks as f64, self.length as f64);
        let mean = means.iter().sum::<f64>() / count;
        let between: f64 = means.iter().map(|x| (x - mean) * (x - mean)).sum();
        let within: f64 = self.trailing(&self.squares, j, blocks).iter().sum();
        (within + length * between) / (length * count - 1.0)
    }

    /// Longest stay in the last `blocks` blocks, and the index of its chain.
    pub(crate) fn longest_stay(&self, blocks: usize) -> (u64, usize) {
        let recent = self.stays[self.blocks - blocks..self.blocks].iter().copied();
        recent.fold(self.stay, |longest, stay| if stay.0 > longest.0 { stay } else { longest })
    }

    /// Means of the last `blocks` blocks of parameter `j`.
    pub(crate) fn means(&self, j: usize, blocks: usize) -> &[f64] {
        self.trailing(&self.means, j, blocks)
    }

    fn trailing<'s>(&self, values: &'s [f64], j: usize, blocks: usize) -> &'s [f64] {
        &values[j * ROOM + self.blocks - blocks..j * ROOM + self.blocks]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_means_whatever_was_joined() {
        let mut iterates = Iterates::new(1);
        let steps = 5_000_u64;
        (1..=steps).for_each(|t| iterates.note(&[t as f64], Some((3, t % 7))));
        assert_eq!(iterates.length, 128);
        assert_eq!(iterates.blocks as u64, steps / 128);
        for (k, mean) in iterates.means[..iterates.blocks].iter().enumerate() {
            assert_eq!(*mean, 128.0 * k as f64 + 64.5);
            // 128 consecutive numbers: n (n^2 - 1) / 12.
            assert_eq!(iterates.squares[k], 128.0 * (128.0 * 128.0 - 1.0) / 12.0);
        }
        assert_eq!(iterates.longest_stay(8), (6, 3));
    }

    /// The variance of all iterates, whatever was joined, where blocks differ in their spread.
    #[test]
    fn variances_are_those_of_the_iterates() {
        let values: Vec<f64> =
            (0..1_280_u32).map(|t| f64::from(t * t % 97) + f64::from(t / 16 % 5).exp()).collect();
        let mut iterates = Iterates::new(1);
        values.iter().for_each(|value| iterates.note(&[*value], None));
        assert_eq!((iterates.length, iterates.blocks), (32, 40));
        for blocks in [4, 40] {
            let last = &values[values.len() - 32 * blocks..];
            let mean = last.iter().sum::<f64>() / last.len() as f64;
            let squares: f64 = last.iter().map(|x| (x - mean) * (x - mean)).sum();
            let expected = squares / (last.len() - 1) as f64;
            assert!((iterates.variance(0, blocks) / expected - 1.0).abs() < 1e-12, "{blocks}");
        }
    }

    #[test]
    fn one_looks_once_at_block_counts_that_grow() {
        let mut iterates = Iterates::new(1);
        let mut looks = Vec::new();
        for t in 1..=4_096_u64 {
            iterates.note(&[t as f64], None);
            if iterates.is_due() {
                looks.push(t);
            }
        }
        assert_eq!(looks, [512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096]);
        assert_eq!(Iterates::new(1).windows().count(), 0);
    }
}
