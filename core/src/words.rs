//! Vector registers as 32-bit and 64-bit words, for the rounds of ChaCha.

use mcsa_numeric::Backend;
use pulp::{NullaryFnOnce, Scalar, Simd};

/// Register of words of an instruction set.
pub(crate) trait Words: Simd {
    /// 32-bit numbers rotated left by `BY` bits, `REST = 32 - BY`.
    fn turned<const BY: i32, const REST: i32>(self, x: Self::u32s) -> Self::u32s;

    /// The low and the high halves of 64-bit words, in an unspecified order; [`words`](Words::words) is the inverse. If a register
    /// holds one number, the second word is ignored.
    fn halves(self, words: [Self::u64s; 2]) -> [Self::u32s; 2];

    /// The 64-bit words with the given low and high halves, the inverse of [`halves`](Words::halves).
    fn words(self, halves: [Self::u32s; 2]) -> [Self::u64s; 2];
}

/// Computation that is generic over the register.
pub(crate) trait WordKernel {
    type Output;
    fn run<L: Words>(self, lanes: L) -> Self::Output;
}

struct Call<K, L> {
    kernel: K,
    lanes: L,
}

impl<K: WordKernel, L: Words> NullaryFnOnce for Call<K, L> {
    type Output = K::Output;

    #[inline(always)]
    fn call(self) -> K::Output {
        self.kernel.run(self.lanes)
    }
}

/// Runs a kernel with the instructions of a backend, or with baseline ones if the machine does not have them.
#[inline(always)]
pub(crate) fn run<K: WordKernel>(backend: Backend, kernel: K) -> K::Output {
    match backend {
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 => {
            if let Some(lanes) = pulp::x86::V4::try_new() {
                return lanes.vectorize(Call { kernel, lanes });
            }
        }
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 => {
            if let Some(lanes) = pulp::x86::V3::try_new() {
                return lanes.vectorize(Call { kernel, lanes });
            }
        }
        _ => {}
    }
    kernel.run(Scalar)
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
