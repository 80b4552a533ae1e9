//! Random stream of one lane at one step: uniform and normal draws, and discrete decisions.

use std::convert::Infallible;

use faer::MatMut;
use rand::{Rng, TryRng};

use crate::chacha::{self, Generator};
use crate::{Address, ColumnsMut, Script, normal};

/// Random stream: continuous draws, and the methods through which a kernel takes discrete decisions.
///
/// Not `Clone`: two copies of a stream would yield identical numbers and so be dependent unnoticed. Continuous draws are
/// [`uniform`](Stream::uniform) and [`normal`](Stream::normal); discrete decisions are [`accept`](Stream::accept),
/// [`choose`](Stream::choose), [`index`](Stream::index) and [`uniform_between`](Stream::uniform_between), which a [`Script`] can
/// replay branch by branch. A stream is also a [`rand::Rng`], so that `rand_distr` can draw from it. In a stream made by a script
/// every continuous draw is an error, because it has no finite list of outcomes.
pub struct Stream(Source);

const CONTINUOUS: &str = "a continuous draw has no finite list of outcomes: take decisions by accept, choose, index or uniform_between";

enum Source {
    // Boxed: a generator with its buffer is a kilobyte, a script is a pointer.
    Generator(Box<Generator>),
    Script(Script),
}

impl Stream {
    /// Memory of a stream in numbers of eight bytes, for checks of sizes.
    pub const NUMBERS: usize = (size_of::<Generator>() + size_of::<Self>()).div_ceil(8);

    pub(crate) fn at(key: [u32; 8], address: Address) -> Self {
        Self(Source::Generator(Box::new(Generator::at(key, address))))
    }

    /// Moves to another address under the present seed, without allocating. A scripted stream has no address and does not change.
    pub fn go_to(&mut self, address: Address) {
        if let Source::Generator(generator) = &mut self.0 {
            generator.go_to(address);
        }
    }

    /// Moves stream `j` of `lanes` to the address of lane `j` at `step`. Equivalent to [`go_to`](Stream::go_to) for each stream,
    /// and faster.
    ///
    /// ```
    /// use mcsa_core::{Seed, Stream};
    /// let mut lanes = Seed::new(1).streams(3, 0);
    /// Stream::go_to_step(&mut lanes, 9);
    /// assert_eq!(lanes[2].uniform(), Seed::new(1).stream(2, 9).uniform());
    /// ```
    ///
    /// # Panics
    /// If `step >= 2^36`.
    pub fn go_to_step(lanes: &mut [Self], step: u64) {
        chacha::go_to_all(lanes.iter_mut().zip(0..).filter_map(|(stream, lane)| match &mut stream.0 {
            Source::Generator(generator) => Some((&mut **generator, Address::of(lane, step))),
            Source::Script(_) => None,
        }));
    }

    /// Uniform on the open interval `(0, 1)`: an odd multiple of `2^-53`.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * f64::from_bits(0x3cb0_0000_0000_0000)
    }

    /// Standard normal, by a ziggurat sampler of this crate whose values do not change between releases without notice.
    pub fn normal(&mut self) -> f64 {
        match &mut self.0 {
            Source::Generator(generator) => normal::draw(generator),
            Source::Script(script) => {
                script.fault(CONTINUOUS);
                0.0
            }
        }
    }

    /// Fills `out` with standard normals, with the values of repeated calls of [`normal`](Stream::normal).
    pub fn normals_into(&mut self, out: &mut [f64]) {
        match &mut self.0 {
            Source::Generator(generator) => normal::fill(generator, out),
            Source::Script(_) => out.iter_mut().for_each(|x| *x = self.normal()),
        }
    }

    /// `true` with probability `min(1, exp(log_alpha))`; NaN is never accepted.
    ///
    /// Always consumes one uniform, so that later draws do not depend on the outcome.
    pub fn accept(&mut self, log_alpha: f64) -> bool {
        match &mut self.0 {
            Source::Generator(_) => {
                let uniform = self.uniform();
                // 1 - 1/u <= ln u <= u - 1 decides most moves without the logarithm.
                uniform - 1.0 < log_alpha || (1.0 - 1.0 / uniform < log_alpha && uniform.ln() < log_alpha)
            }
            Source::Script(script) => {
                let yes = if log_alpha.is_nan() { 0.0 } else { log_alpha.min(0.0).exp() };
                script.decide([1.0 - yes, yes].into_iter()) == 1
            }
        }
    }

    /// Uniform on `(0, 1)`, for a caller whose decision is a step function of the uniform that changes at `cuts` alone.
    ///
    /// A script replays one number in each interval between neighbouring cuts. Cuts may come in any order and lie outside the
    /// interval; without a script the iterator is not evaluated.
    ///
    /// ```
    /// let thirds = [1.0 / 3.0, 2.0 / 3.0];
    /// let branches = mcsa_core::enumerate(1, 9, |lanes| (3.0 * lanes[0].uniform_between(thirds)) as usize).unwrap();
    /// assert_eq!(branches.iter().map(|b| b.outcome).collect::<Vec<_>>(), [0, 1, 2]);
    /// assert!(branches.iter().all(|b| (b.probability - 1.0 / 3.0).abs() < 1e-15));
    /// ```
    #[inline]
    pub fn uniform_between(&mut self, cuts: impl IntoIterator<Item = f64>) -> f64 {
        match &mut self.0 {
            Source::Generator(_) => self.uniform(),
            Source::Script(script) => between(script, cuts.into_iter().collect()),
        }
    }

    /// Uniform on the integers `0..count`, at a cost that does not grow with `count`; `None` if `count` is 0.
    pub fn index(&mut self, count: usize) -> Option<usize> {
        if count == 0 {
            return None;
        }
        let generator = match &mut self.0 {
            Source::Generator(generator) => generator,
            Source::Script(script) => {
                return Some(script.decide((0..count).map(|_| 1.0 / count as f64)));
            }
        };
        // Multiply and shift, rejecting the few words that would make some integers more likely (Lemire 2019).
        let count = count as u64;
        let refused = count.wrapping_neg() % count;
        loop {
            let product = u128::from(generator.next_u64()) * u128::from(count);
            if product as u64 >= refused {
                return Some((product >> 64) as usize);
            }
        }
    }

    /// Index `k` with probability proportional to `exp(log_weights[k])`, or `None` if no weight is positive.
    ///
    /// NaN counts as weight zero. If some log weights are `+inf`, one of these is chosen, with equal probabilities.
    pub fn choose(&mut self, log_weights: &[f64]) -> Option<usize> {
        let top = log_weights.iter().fold(f64::NEG_INFINITY, |top, &w| top.max(w));
        if top == f64::NEG_INFINITY {
            return None;
        }
        let weight = |w: f64| match w {
            w if w.is_nan() => 0.0,
            w if w == top => 1.0,
            w => (w - top).exp(),
        };
        // The weights of a few components are computed once, not again in the search.
        let mut few = [0.0; FEW_WEIGHTS];
        few.iter_mut().zip(log_weights).for_each(|(few, &w)| *few = weight(w));
        let weight = |k: usize| if k < FEW_WEIGHTS { few[k] } else { weight(log_weights[k]) };
        let total: f64 = (0..log_weights.len()).map(weight).sum();
        match &mut self.0 {
            Source::Generator(_) => {
                let mut left = self.uniform() * total;
                let mut last = None;
                for (k, w) in (0..log_weights.len()).map(weight).enumerate() {
                    if w > 0.0 {
                        last = Some(k);
                        if left < w {
                            break;
                        }
                        left -= w;
                    }
                }
                last
            }
            Source::Script(script) => Some(script.decide((0..log_weights.len()).map(|k| weight(k) / total))),
        }
    }
}

/// Number of weights of [`Stream::choose`] that are kept.
const FEW_WEIGHTS: usize = 8;

/// The midpoint of an interval between neighbouring cuts; the script decides which interval.
#[cold]
fn between(script: &mut Script, mut ends: Vec<f64>) -> f64 {
    ends.retain(|&cut| cut > 0.0 && cut < 1.0);
    ends.extend([0.0, 1.0]);
    ends.sort_by(f64::total_cmp);
    let taken = script.decide(ends.windows(2).map(|pair| pair[1] - pair[0]));
    ends[taken] + 0.5 * (ends[taken + 1] - ends[taken])
}

impl Script {
    /// Streams that take their decisions from this script, in the order in which the code calls them.
    pub fn streams(&self, lanes: usize) -> Vec<Stream> {
        (0..lanes).map(|_| Stream(Source::Script(self.clone()))).collect()
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next_u64() >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(match &mut self.0 {
            Source::Generator(generator) => generator.next_u64(),
            Source::Script(script) => {
                script.fault(CONTINUOUS);
                1 << 63
            }
        })
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

/// Calls `draw(stream, j, column j)` for each column in order: with `c` columns and `l` lanes, lane `j` draws
/// columns `j c/l .. (j+1) c/l`.
///
/// # Panics
/// If the lanes do not divide the columns.
pub fn each_column(
    lanes: &mut [Stream],
    mut z: MatMut<'_, f64>,
    mut draw: impl FnMut(&mut Stream, usize, &mut [f64]),
) {
    let columns = z.ncols();
    if columns == 0 {
        return;
    }
    assert!(columns.is_multiple_of(lanes.len()), "lanes divide the columns");
    let per_lane = columns / lanes.len();
    for j in 0..columns {
        draw(&mut lanes[j / per_lane], j, z.column_mut(j));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn uniforms_are_inside_the_open_interval() {
        let mut stream = Seed::new(1).stream(0, 0);
        assert!((0..100_000).map(|_| stream.uniform()).all(|u| 0.0 < u && u < 1.0));
        let smallest = 0.5 * f64::from_bits(0x3cb0_0000_0000_0000);
        let largest = (((1_u64 << 52) - 1) as f64 + 0.5) * f64::from_bits(0x3cb0_0000_0000_0000);
        assert!(0.0 < smallest && largest < 1.0);
    }

    #[test]
    fn going_to_an_address_equals_starting_there() {
        let mut moved = Seed::new(2).stream(5, 5);
        moved.normal();
        moved.go_to(Address::of(1, 9));
        assert_eq!(moved.normal().to_bits(), Seed::new(2).stream(1, 9).normal().to_bits());
    }

    #[test]
    fn impossible_choices_are_none_and_nan_is_never_chosen() {
        let mut stream = Seed::new(3).stream(0, 0);
        assert_eq!(stream.choose(&[]), None);
        assert_eq!(stream.choose(&[f64::NEG_INFINITY, f64::NAN]), None);
        for _ in 0..100 {
            assert_eq!(stream.choose(&[f64::NAN, -800.0, f64::NEG_INFINITY]), Some(1));
            assert_eq!(stream.choose(&[0.0, f64::INFINITY]), Some(1));
            assert!(!stream.accept(f64::NAN));
            assert!(!stream.accept(f64::NEG_INFINITY));
            assert!(stream.accept(0.0));
        }
    }

    /// Frequencies of seven integers within 5 standard errors at this fixed seed (false alarm below 1e-5), and exact probabilities
    /// by enumeration.
    #[test]
    fn indices_are_equally_likely() {
        let mut stream = Seed::new(5).stream(0, 0);
        let (n, mut hits) = (70_000, [0.0; 7]);
        (0..n).for_each(|_| hits[stream.index(7).unwrap()] += 1.0);
        assert!(
            hits.iter().all(|hits| (hits - 10_000.0_f64).abs() < 5.0 * (10_000.0 * 6.0 / 7.0_f64).sqrt())
        );
        assert_eq!(stream.index(0), None);
        assert_eq!(stream.index(1), Some(0));
        let branches = crate::enumerate(1, 10, |lanes| lanes[0].index(4)).unwrap();
        assert!(branches.iter().enumerate().all(|(k, b)| b.outcome == Some(k) && b.probability == 0.25));
    }

    /// With any number of weights the choice is the first one whose cumulated weight exceeds the uniform times their total.
    #[test]
    fn choices_are_those_of_cumulated_weights() {
        for count in [1, 7, 8, 9, 30] {
            let log_weights: Vec<f64> = (0..count).map(|k| f64::from(k).sin()).collect();
            let (mut stream, mut uniforms) = (Seed::new(6).stream(0, 0), Seed::new(6).stream(0, 0));
            let total: f64 = log_weights.iter().map(|w| w.exp()).sum();
            for _ in 0..500 {
                let (mut left, mut expected) = (uniforms.uniform() * total, 0);
                while left >= log_weights[expected].exp() {
                    left -= log_weights[expected].exp();
                    expected += 1;
                }
                assert_eq!(stream.choose(&log_weights), Some(expected), "{count}");
            }
        }
    }

    /// Also where a point falls outside its rectangle, about once in a hundred draws, and beyond the words computed ahead.
    #[test]
    fn many_normals_are_those_of_repeated_calls() {
        let (mut many, mut one) = (Seed::new(7).stream(0, 0), Seed::new(7).stream(0, 0));
        for count in (0..40).chain([500, 1, 129, 4_000]) {
            let mut found = vec![f64::NAN; count];
            many.normals_into(&mut found);
            assert!(found.iter().all(|x| x.to_bits() == one.normal().to_bits()), "{count}");
        }
        // Twin: streams that are one word apart.
        assert_ne!(many.normal(), (one.uniform(), one.normal()).1);
    }
}
