//! The path of lambda, as a bounded number of block means.

use mcsa::{Error, bits, same_length};
use mcsa_theory::diagnostics::{long_run_variance, simultaneous_quantile, split_r_hat};
use serde::{Deserialize, Serialize};

/// Blocks that are kept; when they are full, neighbours are joined and blocks become twice as long.
const ROOM: usize = 64;
/// Steps of the first blocks.
const FIRST: u64 = 16;
/// Blocks before anything is said, and between two looks.
const LEAST: usize = ROOM / 2;
const EVERY: usize = ROOM / 8;
/// Batches, in blocks, from which standard errors are taken: the largest counts.
const BATCHES: [usize; 3] = [1, 2, 4];
const LONGEST: usize = 4;
/// The confidence at which all intervals hold.
const CONFIDENCE: f64 = 0.95;
/// Split R-hat up to which blocks pass for stationary (Welandawe et al. 2022).
const DRIFT: f64 = 1.1;
/// How much larger the long-run variance may look in batches of four blocks than in single blocks.
const MEMORY: f64 = 2.0;

/// Means of consecutive blocks of iterates, the last iterate of each, and how long a chain stayed in it. `2 x 64 + 1` numbers per
/// parameter, whatever the length of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Iterates {
    length: u64,
    blocks: usize,
    filled: u64,
    looked: bool,
    #[serde(with = "bits::vector")]
    sum: Vec<f64>,
    /// Block means, the blocks of a parameter one after the other.
    #[serde(with = "bits::vector")]
    means: Vec<f64>,
    #[serde(with = "bits::vector")]
    ends: Vec<f64>,
    /// The longest stay that was under way in each block, and whose.
    stays: Vec<(u64, usize)>,
    stay: (u64, usize),
}

/// What a trailing window of blocks shows, in units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sight {
    pub(crate) blocks: usize,
    pub(crate) r_hat: f64,
    pub(crate) half_width: f64,
    pub(crate) parameter: usize,
    pub(crate) bend: f64,
    /// Long-run variance in the longest batches over that in blocks, on average over parameters.
    pub(crate) memory: f64,
}

/// Quantiles that were asked for: a quantile costs more than all else in a look.
#[derive(Debug)]
pub(crate) struct Quantiles {
    count: usize,
    known: [f64; ROOM],
}

impl Quantiles {
    pub(crate) fn of(count: usize) -> Self {
        Self { count, known: [f64::NAN; ROOM] }
    }

    fn at(&mut self, freedom: usize) -> f64 {
        if self.known[freedom].is_nan() {
            self.known[freedom] = simultaneous_quantile(CONFIDENCE, self.count, freedom as f64);
        }
        self.known[freedom]
    }
}

impl Sight {
    pub(crate) fn drifts(&self) -> bool {
        // Written so that NaN drifts.
        !(self.r_hat < DRIFT)
    }

    pub(crate) fn remembers(&self) -> bool {
        !(self.memory < MEMORY)
    }
}

impl Iterates {
    pub(crate) fn new(num_params: usize) -> Self {
        Self {
            length: FIRST,
            blocks: 0,
            filled: 0,
            looked: true,
            sum: vec![0.0; num_params],
            means: vec![0.0; num_params * ROOM],
            ends: vec![0.0; num_params * ROOM],
            stays: vec![(0, 0); ROOM],
            stay: (0, 0),
        }
    }

    pub(crate) fn check(&self, num_params: usize) -> Result<(), Error> {
        same_length("sums of iterates", num_params, self.sum.len())
            .and_then(|()| same_length("block means", num_params * ROOM, self.means.len()))
            .and_then(|()| same_length("block ends", num_params * ROOM, self.ends.len()))
            .and_then(|()| same_length("stays", ROOM, self.stays.len()))
            .and_then(|()| match self.blocks < ROOM && self.filled < self.length {
                true => Ok(()),
                false => Err(Error::invalid("more blocks than there is room for: the file is damaged")),
            })
            .map_err(|error| error.within("Iterates"))
    }

    /// Steps of a block.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Steps of the longest batch.
    pub(crate) fn longest_batch(&self) -> u64 {
        self.length * LONGEST as u64
    }

    /// Takes up an iterate, and the chain that has stayed longest.
    pub(crate) fn note(&mut self, params: &[f64], oldest: Option<(usize, u64)>) {
        self.sum.iter_mut().zip(params).for_each(|(sum, param)| *sum += param);
        if let Some((chain, age)) = oldest.filter(|(_, age)| *age > self.stay.0) {
            self.stay = (age, chain);
        }
        self.filled += 1;
        if self.filled < self.length {
            return;
        }
        let block = self.blocks;
        for (j, (sum, param)) in self.sum.iter_mut().zip(params).enumerate() {
            self.means[j * ROOM + block] = *sum / self.length as f64;
            self.ends[j * ROOM + block] = *param;
            *sum = 0.0;
        }
        self.stays[block] = std::mem::take(&mut self.stay);
        (self.blocks, self.filled, self.looked) = (block + 1, 0, false);
        if self.blocks == ROOM {
            self.join();
        }
    }

    fn join(&mut self) {
        for j in 0..self.sum.len() {
            let (means, ends) =
                (&mut self.means[j * ROOM..(j + 1) * ROOM], &mut self.ends[j * ROOM..(j + 1) * ROOM]);
            for k in 0..ROOM / 2 {
                means[k] = 0.5 * (means[2 * k] + means[2 * k + 1]);
                ends[k] = ends[2 * k + 1];
            }
        }
        for k in 0..ROOM / 2 {
            self.stays[k] = self.stays[2 * k].max(self.stays[2 * k + 1]);
        }
        (self.blocks, self.length) = (ROOM / 2, 2 * self.length);
    }

    /// Whether it is time to look: at block counts that grow with the run, once each.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = !self.looked && self.blocks >= LEAST && self.blocks.is_multiple_of(EVERY);
        self.looked = true;
        due
    }

    /// Trailing windows with their R-hat: all blocks, three quarters and half of them; none before there are blocks enough.
    fn windows(&self) -> impl Iterator<Item = (usize, f64)> {
        let quarters = if self.blocks < LEAST { &[][..] } else { &[4, 3, 2][..] };
        quarters.iter().map(|quarters| {
            let blocks = self.blocks * quarters / 4 / LONGEST * LONGEST;
            (blocks, self.drift(blocks))
        })
    }

    /// Whether some window passes for stationary.
    pub(crate) fn rests(&self) -> bool {
        self.windows().any(|(_, r_hat)| r_hat < DRIFT)
    }

    /// The blocks of the shortest window.
    pub(crate) fn recent(&self) -> usize {
        self.blocks / 2 / LONGEST * LONGEST
    }

    /// Of the windows without drift the one whose mean is known best; or else what the one that drifts least shows. `None` before there
    /// are blocks enough.
    pub(crate) fn sight(&self, units: &[f64], quantiles: &mut Quantiles) -> Option<Sight> {
        let before = |a: &Sight, b: &Sight| match (a.drifts(), b.drifts()) {
            (true, true) => a.r_hat < b.r_hat,
            (true, false) => false,
            (false, true) => true,
            (false, false) => a.half_width + a.bend < b.half_width + b.bend,
        };
        let sights = self.windows().map(|window| self.sight_of(window, units, quantiles));
        sights.reduce(|best, other| if before(&other, &best) { other } else { best })
    }

    /// The largest split R-hat of a parameter's blocks; a parameter that never moved has none.
    fn drift(&self, blocks: usize) -> f64 {
        let each = |j: usize| split_r_hat(&[self.trailing(&self.means, j, blocks)]);
        (0..self.sum.len()).map(each).fold(f64::NAN, f64::max)
    }

    /// The mean of the last blocks.
    pub(crate) fn average_into(&self, blocks: usize, average: &mut [f64]) {
        for (j, average) in average.iter_mut().enumerate() {
            *average = self.trailing(&self.means, j, blocks).iter().sum::<f64>() / blocks as f64;
        }
    }

    /// How well the mean of the last blocks is known, in `units` per parameter.
    fn sight_of(&self, (blocks, r_hat): (usize, f64), units: &[f64], quantiles: &mut Quantiles) -> Sight {
        let quantiles = BATCHES.map(|batch| quantiles.at(blocks / batch - 1));
        let mut sight = Sight { blocks, r_hat, half_width: 0.0, parameter: 0, bend: 0.0, memory: f64::NAN };
        let (mut memory, mut moving) = (0.0, 0.0);
        for (j, unit) in units.iter().enumerate() {
            let means = self.trailing(&self.means, j, blocks);
            let variances = BATCHES.map(|batch| long_run_variance(means, batch));
            // A parameter that never moved has no error.
            if variances.iter().any(|variance| variance.is_nan()) {
                continue;
            }
            let error = |k: usize| quantiles[k] * (variances[k] / blocks as f64).sqrt() / unit;
            let half_width = (0..BATCHES.len()).map(error).fold(0.0, f64::max);
            if half_width > sight.half_width {
                (sight.half_width, sight.parameter) = (half_width, j);
            }
            let spread = long_run_variance(self.trailing(&self.ends, j, blocks), 1) / (unit * unit);
            sight.bend = sight.bend.max(std::f64::consts::SQRT_2 * spread);
            memory += variances[BATCHES.len() - 1] / variances[0];
            moving += 1.0;
        }
        Sight { memory: memory / moving, ..sight }
    }

    /// The longest stay in the last blocks, and whose.
    pub(crate) fn longest_stay(&self, blocks: usize) -> (u64, usize) {
        let recent = self.stays[self.blocks - blocks..self.blocks].iter().copied();
        recent.fold(self.stay, |longest, stay| if stay.0 > longest.0 { stay } else { longest })
    }

    fn trailing<'s>(&self, values: &'s [f64], j: usize, blocks: usize) -> &'s [f64] {
        &values[j * ROOM + self.blocks - blocks..j * ROOM + self.blocks]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa::Seed;

    #[test]
    fn blocks_are_means_whatever_was_joined() {
        let mut iterates = Iterates::new(1);
        let steps = 5_000_u64;
        (1..=steps).for_each(|t| iterates.note(&[t as f64], Some((3, t % 7))));
        assert_eq!(iterates.length(), 128);
        assert_eq!(iterates.blocks as u64, steps / 128);
        for (k, mean) in iterates.means[..iterates.blocks].iter().enumerate() {
            assert_eq!(*mean, 128.0 * k as f64 + 64.5);
            assert_eq!(iterates.ends[k], 128.0 * (k + 1) as f64);
        }
        assert_eq!(iterates.longest_stay(8), (6, 3));
    }

    fn path(steps: u64, drift: f64, phi: f64) -> Iterates {
        let (mut iterates, mut stream, mut x) = (Iterates::new(2), Seed::new(1).stream(0, 0), 0.0);
        for t in 0..steps {
            x = phi * x + (1.0 - phi * phi).sqrt() * stream.normal();
            iterates.note(&[x + drift * t as f64, 1.0], None);
        }
        iterates
    }

    /// White noise of variance one: a standard error of `1 / sqrt(n)`, times the quantile. The second parameter never moves and
    /// says nothing.
    #[test]
    fn the_error_of_white_noise_is_known() {
        let iterates = path(20_000, 0.0, 0.0);
        let sight = iterates.sight(&[1.0, 1.0], &mut Quantiles::of(2)).unwrap();
        let n = iterates.length() as f64 * sight.blocks as f64;
        assert!((0.7..2.0).contains(&(sight.half_width * n.sqrt() / 2.4)), "{sight:?} {n}");
        assert!(!sight.drifts() && !sight.remembers() && sight.parameter == 0, "{sight:?}");
        assert!((0.6..1.8).contains(&(sight.bend / 2.0_f64.sqrt())), "{sight:?}");
    }

    /// The twins: a drift is seen, and a memory longer than blocks.
    #[test]
    fn drift_and_memory_are_seen() {
        let drifting = path(20_000, 1e-3, 0.0);
        assert!(drifting.sight(&[1.0, 1.0], &mut Quantiles::of(2)).unwrap().drifts() && !drifting.rests());
        let remembering = path(4_000, 0.0, 0.998);
        let sight = remembering.sight(&[1.0, 1.0], &mut Quantiles::of(2)).unwrap();
        assert!(sight.drifts() || sight.remembers(), "{sight:?}");
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
        assert_eq!(Iterates::new(1).sight(&[1.0], &mut Quantiles::of(1)), None);
    }
}
