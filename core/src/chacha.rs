//! The generator of one lane, and the first blocks of many lanes at once.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use crate::Address;
use crate::numeric::{Backend, Kernel, Register};

/// Blocks that are made side by side: the 32-bit numbers in a register of AVX-512.
const SIDE: usize = 16;

/// Blocks of each lane that are made side by side with those of other lanes: 16 draws, all that a step of a chain in a
/// dozen dimensions needs.
const AHEAD: usize = 2;

/// 64-bit words of a block.
const WORDS: usize = 8;

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// ChaCha8 at an address, one 64-bit word after the other. The first words may have been made ahead.
pub(crate) struct Generator {
    key: [u32; 8],
    address: Address,
    ahead: [[u64; WORDS]; AHEAD],
    /// The next word of those made ahead; at their end, or beyond it where `rest` goes on.
    next: usize,
    rest: ChaCha8Rng,
}

impl Generator {
    pub(crate) fn at(key: [u32; 8], address: Address) -> Self {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(key) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let rest = ChaCha8Rng::from_seed(bytes);
        let mut generator = Self { key, address, ahead: [[0; WORDS]; AHEAD], next: 0, rest };
        generator.go_to(address);
        generator
    }

    pub(crate) fn go_to(&mut self, address: Address) {
        self.address = address;
        self.next = AHEAD * WORDS + 1;
        self.rest.set_stream(address.nonce);
        self.rest.set_block_pos(address.first_block);
    }

    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        if let Some(&word) = self.ahead.as_flattened().get(self.next) {
            self.next += 1;
            return word;
        }
        if self.next == AHEAD * WORDS {
            self.next += 1;
            self.rest.set_stream(self.address.nonce);
            self.rest.set_block_pos(self.address.first_block + AHEAD as u64);
        }
        self.rest.next_u64()
    }
}

/// Lanes whose first blocks are made together.
const TOGETHER: usize = SIDE / AHEAD;

/// Moves each generator to the address beside it. Several of one key make their first blocks together.
pub(crate) fn go_to_all<'g>(moves: impl Iterator<Item = (&'g mut Generator, Address)>) {
    let mut waiting: [Option<&mut Generator>; TOGETHER] = [const { None }; TOGETHER];
    let mut blocks = Blocks::default();
    let mut count = 0;
    for (generator, address) in moves {
        if count == TOGETHER || (count > 0 && blocks.key != generator.key) {
            go_together(&mut waiting[..count], &mut blocks);
            count = 0;
        }
        generator.address = address;
        blocks.key = generator.key;
        blocks.place(count, address);
        waiting[count] = Some(generator);
        count += 1;
    }
    go_together(&mut waiting[..count], &mut blocks);
}

/// Moves those that wait to their addresses.
fn go_together(waiting: &mut [Option<&mut Generator>], blocks: &mut Blocks) {
    if let [Some(generator)] = waiting {
        return generator.go_to(generator.address);
    }
    if !waiting.is_empty() {
        Backend::best().run(Rounds(blocks));
    }
    for (i, generator) in waiting.iter_mut().flatten().enumerate() {
        blocks.read(i, &mut generator.ahead);
        generator.next = 0;
    }
}

type Row = [u32; SIDE];

/// Blocks of ChaCha8 under one key, each with a nonce and a place of its own (Bernstein 2008), word by word of all.
#[derive(Default)]
struct Blocks {
    key: [u32; 8],
    /// Words 12 to 15 before the rounds: place and nonce, low halves first.
    input: [Row; 4],
    output: [Row; 16],
}

impl Blocks {
    /// The blocks of lane `i`, from an address on.
    fn place(&mut self, i: usize, address: Address) {
        for k in 0..AHEAD {
            let (place, nonce) = (address.first_block + k as u64, address.nonce);
            let words = [place as u32, (place >> 32) as u32, nonce as u32, (nonce >> 32) as u32];
            self.input.iter_mut().zip(words).for_each(|(row, word)| row[i * AHEAD + k] = word);
        }
    }

    /// The finished blocks of lane `i`.
    fn read(&self, i: usize, blocks: &mut [[u64; WORDS]; AHEAD]) {
        for (k, block) in blocks.iter_mut().enumerate() {
            let column = i * AHEAD + k;
            for (pair, word) in self.output.as_chunks::<2>().0.iter().zip(block) {
                *word = u64::from(pair[0][column]) | u64::from(pair[1][column]) << 32;
            }
        }
    }
}

/// The eight rounds.
struct Rounds<'a>(&'a mut Blocks);

#[inline(always)]
fn quarter_round<L: Register>(l: L, [a, b, c, d]: [L::u32s; 4]) -> [L::u32s; 4] {
    let a = l.add_u32s(a, b);
    let d = l.turned::<16, 16>(l.xor_u32s(d, a));
    let c = l.add_u32s(c, d);
    let b = l.turned::<12, 20>(l.xor_u32s(b, c));
    let a = l.add_u32s(a, b);
    let d = l.turned::<8, 24>(l.xor_u32s(d, a));
    let c = l.add_u32s(c, d);
    let b = l.turned::<7, 25>(l.xor_u32s(b, c));
    [a, b, c, d]
}

impl Kernel for Rounds<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Register>(self, l: L) {
        let Blocks { key, input, output } = self.0;
        for r in 0..SIDE / L::U32_LANES {
            let start: [L::u32s; 16] = std::array::from_fn(|w| match w {
                0..4 => l.splat_u32s(CONSTANTS[w]),
                4..12 => l.splat_u32s(key[w - 4]),
                _ => L::as_simd_u32s(&input[w - 12]).0[r],
            });
            let mut state = start;
            for _ in 0..4 {
                for turn in [0, 1] {
                    for k in 0..4 {
                        let at = [k, 4 + (k + turn) % 4, 8 + (k + 2 * turn) % 4, 12 + (k + 3 * turn) % 4];
                        let quarter = quarter_round(l, at.map(|w| state[w]));
                        at.into_iter().zip(quarter).for_each(|(w, word)| state[w] = word);
                    }
                }
            }
            for (w, row) in output.iter_mut().enumerate() {
                L::as_mut_simd_u32s(row).0[r] = l.add_u32s(state[w], start[w]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(key: [u32; 8], address: Address, words: usize) -> Vec<u64> {
        let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut generator = ChaCha8Rng::from_seed(bytes.try_into().expect("eight words"));
        generator.set_stream(address.nonce);
        generator.set_block_pos(address.first_block);
        (0..words).map(|_| generator.next_u64()).collect()
    }

    fn read(generator: &mut Generator, words: usize) -> Vec<u64> {
        (0..words).map(|_| generator.next_u64()).collect()
    }

    proptest! {
        /// Any company, keys mixed, read to within and beyond the words made ahead, and moved again.
        #[test]
        fn lanes_together_have_the_bits_of_each_alone(
            keys in proptest::collection::vec((0..3_u32, any::<u64>(), 0..(1_u64 << 36)), 0..40),
            words in 0..40_usize,
        ) {
            let key = |k: u32| std::array::from_fn(|i| (k * 77 + i as u32).wrapping_mul(0x9e37_79b9));
            let mut generators: Vec<_> =
                keys.iter().map(|&(k, _, _)| Generator::at(key(k / 2), Address::of(0, 0))).collect();
            for round in 0..2 {
                let addresses: Vec<_> = keys
                    .iter()
                    .map(|&(_, lane, step)| Address::of(lane.min(u64::MAX - 1), (step + round) % (1 << 36)))
                    .collect();
                go_to_all(generators.iter_mut().zip(addresses.iter().copied()));
                for ((generator, &address), &(k, _, _)) in generators.iter_mut().zip(&addresses).zip(&keys) {
                    prop_assert_eq!(read(generator, words), reference(key(k / 2), address, words));
                }
            }
        }
    }

    #[test]
    fn a_neighbour_in_nonce_or_place_is_noticed() {
        let (key, address) = ([7; 8], Address::of(3, 9));
        let mut generators = [Generator::at(key, address), Generator::at(key, address)];
        go_to_all(generators.iter_mut().map(|generator| (generator, address)));
        let found = read(&mut generators[1], 20);
        assert_eq!(found, reference(key, address, 20));
        assert_ne!(found, reference(key, Address::of(4, 9), 20));
        assert_ne!(found, reference(key, Address { first_block: address.first_block + 1, ..address }, 20));
    }
}
