//! ChaCha8 random number generator of one lane, and vectorised generation of the first blocks of many lanes.

use mcsa_numeric::Backend;
use pulp::{Scalar, Simd};

use crate::Address;

/// Largest number of blocks computed in parallel: the 32-bit numbers in a register of AVX-512.
const SIDE: usize = 16;

/// Fewest blocks of each lane that are computed together with those of other lanes: 16 draws, enough for a step of a chain in a
/// dozen dimensions.
const AHEAD: usize = 2;

/// 64-bit words of a block.
const WORDS: usize = 8;

/// Constants of ChaCha: the bytes of "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// One 64-bit word from each of the blocks computed in parallel.
type Row = [u64; SIDE];

/// The blocks computed in parallel, one row per word.
type Made = [Row; WORDS];

/// ChaCha8 generator that starts at an address and yields 64-bit words in order.
pub(crate) struct Generator {
    key: [u32; 8],
    nonce: u64,
    /// Index of the next block to compute, and of the first one at this address.
    block: u64,
    begun: u64,
    /// The words computed last, in the order in which they are returned.
    words: [u64; SIDE * WORDS],
    /// Index of the next word to return, and the number of computed words.
    next: usize,
    end: usize,
}

impl Generator {
    pub(crate) fn at(key: [u32; 8], address: Address) -> Self {
        let (nonce, block) = (address.nonce, address.first_block);
        Self { key, nonce, block, begun: block, words: [0; SIDE * WORDS], next: 0, end: 0 }
    }

    pub(crate) fn go_to(&mut self, address: Address) {
        (self.nonce, self.block, self.begun) = (address.nonce, address.first_block, address.first_block);
        (self.next, self.end) = (0, 0);
    }

    /// Blocks that are best computed ahead at the next address, if as many are used there as here: those that do not fill the largest
    /// register, rounded up to a power of two.
    fn ahead(&self) -> usize {
        let used = (self.block - self.begun) as usize - (self.end - self.next) / WORDS;
        (used.saturating_sub(1) % SIDE + 1).next_power_of_two().max(AHEAD)
    }

    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        if self.next == self.end {
            self.go_on();
        }
        let word = self.words[self.next % (SIDE * WORDS)];
        self.next += 1;
        word
    }

    /// The words that are computed already.
    #[inline]
    pub(crate) fn ready(&self) -> &[u64] {
        &self.words[self.next..self.end]
    }

    /// Passes over so many of the [`ready`](Self::ready) words.
    #[inline]
    pub(crate) fn skip(&mut self, words: usize) {
        self.next += words;
        debug_assert!(self.next <= self.end, "words that are ready");
    }

    /// Stores `count` blocks from `first` on as the next words.
    #[inline(always)]
    fn store(&mut self, made: &Made, first: usize, count: usize) {
        for (k, words) in self.words.as_chunks_mut::<WORDS>().0[..count].iter_mut().enumerate() {
            for (word, row) in words.iter_mut().zip(made) {
                *word = row[first + k];
            }
        }
        self.block += count as u64;
        (self.next, self.end) = (0, count * WORDS);
    }

    /// Computes the next blocks, as many as fit into one vector register and so cost as much as one.
    #[inline(never)]
    fn go_on(&mut self) {
        let places = std::array::from_fn(|i| self.block + i as u64);
        let (key, nonces) = (&self.key, [self.nonce; SIDE]);
        let mut made = [[0; SIDE]; WORDS];
        let rounds = Rounds { key, places: &places, nonces: &nonces, count: 1, out: &mut made };
        let count = run(Backend::best(), rounds);
        self.store(&made, 0, count);
    }
}

/// Number of lanes whose first blocks are computed together.
const TOGETHER: usize = SIDE / AHEAD;

/// Moves each generator to its paired address. Consecutive generators with equal keys compute their first blocks together.
pub(crate) fn go_to_all<'g>(moves: impl Iterator<Item = (&'g mut Generator, Address)>) {
    let mut waiting: [Option<&mut Generator>; TOGETHER] = [const { None }; TOGETHER];
    let (mut count, mut key, mut ahead) = (0, [0; 8], AHEAD);
    for (generator, address) in moves {
        let own = generator.ahead();
        if count > 0 && ((count + 1) * ahead.max(own) > SIDE || key != generator.key) {
            go_together(&mut waiting[..count], ahead);
            (count, ahead) = (0, own);
        }
        (ahead, key) = (ahead.max(own), generator.key);
        generator.go_to(address);
        waiting[count] = Some(generator);
        count += 1;
    }
    go_together(&mut waiting[..count], ahead);
}

/// Computes the first `ahead` blocks of the waiting generators, if there are at least two.
fn go_together(waiting: &mut [Option<&mut Generator>], ahead: usize) {
    if waiting.len() < 2 {
        return;
    }
    // A few blocks do not fill the registers of AVX-512, which are no faster than two of AVX2.
    let backend = match Backend::best() {
        Backend::Avx512 if waiting.len() * ahead <= SIDE / 2 => Backend::Avx2,
        best => best,
    };
    match ahead {
        2 => run(backend, Together::<2>(waiting)),
        4 => run(backend, Together::<4>(waiting)),
        _ => run(backend, Together::<8>(waiting)),
    }
}

/// First `A` blocks of each of some generators with one key.
struct Together<'a, 'g, const A: usize>(&'a mut [Option<&'g mut Generator>]);

impl<const A: usize> WordKernel for Together<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run<L: Words>(self, l: L) {
        let [Some(first), ..] = &*self.0 else { return };
        let key = first.key;
        let mut places = [0; SIDE];
        let mut nonces = [0; SIDE];
        for (i, generator) in self.0.iter().flatten().enumerate() {
            for k in 0..A {
                places[i * A + k] = generator.block + k as u64;
                nonces[i * A + k] = generator.nonce;
            }
        }
        let mut made = [[0; SIDE]; WORDS];
        let count = self.0.len() * A;
        Rounds { key: &key, places: &places, nonces: &nonces, count, out: &mut made }.run(l);
        for (i, generator) in self.0.iter_mut().flatten().enumerate() {
            generator.store(&made, i * A, A);
        }
    }
}

/// The eight rounds of ChaCha8 (Bernstein 2008) under one key, for blocks that each have a nonce and a place in the counter.
///
/// Running it computes the first `count` blocks, rounded up to whole registers, and returns the number of blocks computed.
struct Rounds<'a> {
    key: &'a [u32; 8],
    places: &'a Row,
    nonces: &'a Row,
    count: usize,
    out: &'a mut Made,
}

/// Number of registers of 64-bit words that hold as many numbers as one register of 32-bit words: two, or one if a register holds
/// a single number.
const fn words_step<L: Words>() -> usize {
    L::U32_LANES / L::U64_LANES
}

#[inline(always)]
fn load<L: Words>(l: L, row: &Row, r: usize) -> [L::u32s; 2] {
    let (words, step) = (L::as_simd_u64s(row).0, words_step::<L>());
    l.halves([words[step * r], words[step * r + step - 1]])
}

#[inline(always)]
fn store<L: Words>(l: L, halves: [L::u32s; 2], row: &mut Row, r: usize) {
    let (words, step) = (l.words(halves), words_step::<L>());
    let row = L::as_mut_simd_u64s(row).0;
    row[step * r] = words[0];
    if step > 1 {
        row[step * r + 1] = words[1];
    }
}

#[inline(always)]
fn quarter_round<L: Words>(l: L, [a, b, c, d]: [L::u32s; 4]) -> [L::u32s; 4] {
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

impl WordKernel for Rounds<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<L: Words>(self, l: L) -> usize {
        let Self { key, places, nonces, count, out } = self;
        let registers = count.div_ceil(L::U32_LANES);
        for r in 0..registers {
            let ([c, d], [e, f]) = (load(l, places, r), load(l, nonces, r));
            let start: [L::u32s; 16] = std::array::from_fn(|w| match w {
                0..4 => l.splat_u32s(CONSTANTS[w]),
                4..12 => l.splat_u32s(key[w - 4]),
                _ => [c, d, e, f][w - 12],
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
            for (w, row) in out.iter_mut().enumerate() {
                let (low, high) = (2 * w, 2 * w + 1);
                let halves = [l.add_u32s(state[low], start[low]), l.add_u32s(state[high], start[high])];
                store(l, halves, row, r);
            }
        }
        registers * L::U32_LANES
    }
}

/// Register of words of an instruction set.
trait Words: Simd {
    /// 32-bit numbers rotated left by `BY` bits, `REST = 32 - BY`.
    fn turned<const BY: i32, const REST: i32>(self, x: Self::u32s) -> Self::u32s;

    /// The low and the high halves of 64-bit words, in an unspecified order; [`words`](Words::words) is the inverse. If a register
    /// holds one number, the second word is ignored.
    fn halves(self, words: [Self::u64s; 2]) -> [Self::u32s; 2];

    /// The 64-bit words with the given low and high halves, the inverse of [`halves`](Words::halves).
    fn words(self, halves: [Self::u32s; 2]) -> [Self::u64s; 2];
}

mcsa_numeric::kernels! {
    /// Computation that is generic over the register.
    trait WordKernel over Words, fn run
}

impl Words for Scalar {
    #[inline(always)]
    fn turned<const BY: i32, const REST: i32>(self, x: u32) -> u32 {
        x << BY | x >> REST
    }

    #[inline(always)]
    fn halves(self, [word, _]: [u64; 2]) -> [u32; 2] {
        [word as u32, (word >> 32) as u32]
    }

    #[inline(always)]
    fn words(self, [low, high]: [u32; 2]) -> [u64; 2] {
        [u64::from(low) | u64::from(high) << 32, 0]
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Simd, Words};
    use pulp::x86::{V3, V4};
    use pulp::{u32x8, u32x16};

    const LOW: u64 = u32::MAX as u64;

    // Transposes the 2 x 2 matrix of halves of two neighbouring words; the transposition is its own inverse.
    macro_rules! halves_and_words {
        ($shl:ident, $shr:ident) => {
            #[inline(always)]
            fn halves(self, [a, b]: [Self::u64s; 2]) -> [Self::u32s; 2] {
                let low = self.or_u64s(self.and_u64s(a, self.splat_u64s(LOW)), self.$shl::<32>(b));
                let high = self.or_u64s(self.$shr::<32>(a), self.and_u64s(b, self.splat_u64s(!LOW)));
                [pulp::cast(low), pulp::cast(high)]
            }
            #[inline(always)]
            fn words(self, [low, high]: [Self::u32s; 2]) -> [Self::u64s; 2] {
                let [a, b] = self.halves([pulp::cast(low), pulp::cast(high)]);
                [pulp::cast(a), pulp::cast(b)]
            }
        };
    }

    impl Words for V3 {
        #[inline(always)]
        fn turned<const BY: i32, const REST: i32>(self, x: u32x8) -> u32x8 {
            self.or_u32s(self.shl_const_u32x8::<BY>(x), self.shr_const_u32x8::<REST>(x))
        }

        halves_and_words!(shl_const_u64x4, shr_const_u64x4);
    }

    impl Words for V4 {
        #[inline(always)]
        fn turned<const BY: i32, const REST: i32>(self, x: u32x16) -> u32x16 {
            pulp::cast(self.avx512f._mm512_rol_epi32::<BY>(pulp::cast(x)))
        }

        halves_and_words!(shl_const_u64x8, shr_const_u64x8);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{Rng, SeedableRng};

    /// Words at an address, by the generator of another crate with the bytes of a key.
    pub(crate) fn by_bytes(key: Vec<u8>, address: Address, words: usize) -> Vec<u64> {
        let mut generator = ChaCha8Rng::from_seed(key.try_into().expect("32 bytes"));
        generator.set_stream(address.nonce);
        generator.set_block_pos(address.first_block);
        (0..words).map(|_| generator.next_u64()).collect()
    }

    fn reference(key: [u32; 8], address: Address, words: usize) -> Vec<u64> {
        by_bytes(key.iter().flat_map(|word| word.to_le_bytes()).collect(), address, words)
    }

    fn read(generator: &mut Generator, words: usize) -> Vec<u64> {
        (0..words).map(|_| generator.next_u64()).collect()
    }

    proptest! {
        /// For any set of lanes with mixed keys, each read up to and beyond the words computed ahead, and moved twice.
        #[test]
        fn lanes_together_have_the_bits_of_each_alone(
            keys in proptest::collection::vec((0..3_u32, any::<u64>(), 0..(1_u64 << 36)), 0..40),
            words in 0..300_usize,
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
                for ((generator, &address), &(k, lane, _)) in generators.iter_mut().zip(&addresses).zip(&keys) {
                    let words = words >> (lane % 5);
                    prop_assert_eq!(read(generator, words), reference(key(k / 2), address, words));
                }
            }
        }
    }

    /// For every backend and several numbers of blocks, including numbers that do not fill a register.
    #[test]
    fn backends_make_the_same_blocks() {
        let key = [5; 8];
        let (places, nonces): (Row, Row) =
            (std::array::from_fn(|i| 1 << i), std::array::from_fn(|i| 77 * i as u64));
        for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
            for count in [1, 2, 7, 9, SIDE] {
                let mut out = [[0; SIDE]; WORDS];
                let rounds = Rounds { key: &key, places: &places, nonces: &nonces, count, out: &mut out };
                let made = run(backend, rounds);
                assert!((count..=SIDE).contains(&made), "{backend:?} {count} {made}");
                for i in 0..made {
                    let address = Address { nonce: nonces[i], first_block: places[i], blocks: 1 };
                    let block: Vec<u64> = out.iter().map(|row| row[i]).collect();
                    assert_eq!(block, reference(key, address, WORDS), "{backend:?}");
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
