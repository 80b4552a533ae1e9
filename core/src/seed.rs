//! Seeds of random streams, and the addresses of streams under one seed: a stream is a pure function of seed, lane and step (ChaCha8).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::chacha::Generator;
use crate::{Error, Stream};

/// Base-2 logarithm of the number of blocks reserved for one step: `2^28` blocks of 64 bytes, `2^31` 64-bit draws.
const STEP_BLOCKS_LOG2: u32 = 28;

/// The nonce from which child seeds are derived; it is not allowed as a lane.
pub(crate) const CHILDREN: u64 = u64::MAX;

/// Address of a stream: a nonce of ChaCha8, and a range of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// ChaCha's nonce: the lane.
    pub nonce: u64,
    /// The first 64-byte block.
    pub first_block: u64,
    /// The number of blocks reserved for the step.
    pub blocks: u64,
}

impl Address {
    /// The address of a lane at a step.
    ///
    /// # Panics
    /// If `step >= 2^36`, or `lane` is `u64::MAX`, which is reserved for [`Seed::child`](Seed::child).
    pub fn of(lane: u64, step: u64) -> Self {
        assert!(step < 1 << (64 - STEP_BLOCKS_LOG2), "a step is less than 2^36");
        assert!(lane != CHILDREN, "the last lane derives children");
        Self { nonce: lane, first_block: step << STEP_BLOCKS_LOG2, blocks: 1 << STEP_BLOCKS_LOG2 }
    }
}

/// Seed of random streams: a key of ChaCha8.
///
/// [`stream`](Seed::stream) is a pure function of `(seed, lane, step)`: the lane is the nonce and the
/// step fixes the high bits of the block counter, so two lanes or two steps cannot share a block.
/// A checkpoint therefore stores no generator, results do not depend on the number of threads,
/// and one step can be replayed alone.
///
/// Replicates use seeds made by [`child`](Seed::child), never a shifted counter. Children of one seed with different indices always
/// have different keys; elsewhere in the tree of seeds, keys differ unless two of 256 bits collide.
///
/// ```
/// use mcsa_core::Seed;
/// let replicate = Seed::new(1).child(7);
/// assert_eq!(replicate.stream(0, 3).uniform(), replicate.stream(0, 3).uniform());
/// assert_ne!(replicate.stream(0, 3).uniform(), replicate.stream(1, 3).uniform());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed([u64; 4]);

impl Seed {
    /// Seed made of a number. Different numbers give different seeds.
    pub const fn new(number: u64) -> Self {
        Self([number, 0x6d63_7361_2053_6565, 0x6420_6f66_2061_2074, 0x7265_6520_6f66_206b])
    }

    /// Child seed number `index`, for a replicate, a job or a part of a program.
    ///
    /// Three words of its key are the output of ChaCha8 under the parent's key at block `index`; the fourth is a bijection of
    /// `index`, so that children with different indices always differ.
    pub fn child(self, index: u64) -> Self {
        let first_block = index & (u64::MAX >> 1);
        let mut words = Generator::at(self.key(), Address { nonce: CHILDREN, first_block, blocks: 1 });
        let mut word = || words.next_u64();
        let (a, b, c) = (word(), word(), word());
        Self([a, b, c, scramble(index) ^ self.0[3].rotate_left(17)])
    }

    /// Child seed for a part of a program, by a hash of its name.
    pub fn named(self, name: &str) -> Self {
        self.child(crate::checksum(name.bytes()) | 1 << 63)
    }

    /// The stream of a lane at a step, which starts at the address [`Address::of`]`(lane, step)`.
    pub fn stream(self, lane: u64, step: u64) -> Stream {
        Stream::at(self.key(), Address::of(lane, step))
    }

    /// The streams of lanes `0..lanes` at a step.
    pub fn streams(self, lanes: usize, step: u64) -> Vec<Stream> {
        (0..lanes as u64).map(|lane| self.stream(lane, step)).collect()
    }

    /// The key as 32-bit words, low halves first.
    fn key(self) -> [u32; 8] {
        std::array::from_fn(|i| (self.0[i / 2] >> (32 * (i % 2))) as u32)
    }
}

/// Finaliser of SplitMix64 (Steele, Lea & Flood 2014), a bijection of 64-bit words.
const fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed({self})")
    }
}

impl std::str::FromStr for Seed {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = || Error::invalid(format!("{text:?} is not a seed: 64 hexadecimal digits expected"));
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(refuse());
        }
        let mut words = [0; 4];
        for (k, word) in words.iter_mut().enumerate() {
            *word = u64::from_str_radix(&text[16 * k..16 * (k + 1)], 16).map_err(|_| refuse())?;
        }
        Ok(Self(words))
    }
}

impl Serialize for Seed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chacha::tests::by_bytes;
    use proptest::prelude::*;
    use rand::Rng;

    proptest! {
        #[test]
        fn no_two_addresses_share_a_block(a in 0..(1_u64 << 36), b in 0..(1_u64 << 36), lane in 0..u64::MAX, other in 0..u64::MAX) {
            let (x, y) = (Address::of(lane, a), Address::of(other, b));
            // The counter does not wrap, so a step is an interval; two intervals of one nonce meet only if equal.
            prop_assert!(x.first_block.checked_add(x.blocks - 1).is_some());
            let apart = x.first_block.abs_diff(y.first_block) >= x.blocks;
            prop_assert_eq!(x.nonce != y.nonce || apart, (lane, a) != (other, b));
        }

        #[test]
        fn a_stream_reads_exactly_its_address(lane in 0..u64::MAX, step in 0..(1_u64 << 36)) {
            let seed = Seed::new(5);
            let key: Vec<u8> = seed.0.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut stream = seed.stream(lane, step);
            for word in by_bytes(key, Address::of(lane, step), 40) {
                prop_assert_eq!(stream.next_u64(), word);
            }
        }

        #[test]
        fn brothers_differ(a: u64, b: u64) {
            prop_assert_eq!(a == b, Seed::new(1).child(a).0[3] == Seed::new(1).child(b).0[3]);
        }

        #[test]
        fn a_seed_survives_text(number: u64, index: u64) {
            let seed = Seed::new(number).child(index);
            prop_assert_eq!(seed.to_string().parse::<Seed>().unwrap(), seed);
        }
    }

    #[test]
    fn the_last_step_ends_where_the_counter_ends() {
        let last = Address::of(0, (1 << 36) - 1);
        assert_eq!(last.first_block + (last.blocks - 1), u64::MAX);
    }

    #[test]
    fn broken_text_is_refused() {
        for text in ["", "12", &"g".repeat(64), &"é".repeat(32)] {
            assert!(text.parse::<Seed>().is_err(), "{text}");
        }
    }
}
