use bytemuck::Pod;
use pulp::{Scalar, Simd};

/// Logical accumulators of every reduction: 32 on every instruction set, so that the order of summation is one.
pub(crate) const BLOCK: usize = 32;

/// `1.5 * 2^52 + 2046`: added to a small float, its low mantissa bits hold the nearest integer plus 2046
/// (twice the exponent bias, so that half of it is a biased exponent again).
pub(crate) const ROUND: f64 = 6_755_399_441_055_744.0 + 2046.0;

/// The vocabulary the kernels are written in: [`Simd`] plus the few operations it lacks.
///
/// `fma` contracts where the machine can and is `a * b + c` where it cannot: enough for polynomials. `exact_fma` is
/// one rounding everywhere, and slow where it is emulated: for error terms.
///
/// Comparisons with NaN are false; `at_least` and `at_most` let NaN in their second argument through.
pub(crate) trait Lanes: Simd {
    /// `BLOCK` numbers held in registers.
    type Block: Pod + AsRef<[Self::f64s]> + AsMut<[Self::f64s]>;

    fn at_least(self, low: f64, x: Self::f64s) -> Self::f64s;
    fn at_most(self, high: f64, x: Self::f64s) -> Self::f64s;
    fn shl_52(self, x: Self::u64s) -> Self::u64s;
    fn shr_52(self, x: Self::u64s) -> Self::u64s;
    fn shr_1(self, x: Self::u64s) -> Self::u64s;

    /// `p * 2^k` with one rounding, `k = t - ROUND`, `-1076 <= k <= 1024`, `p` in `[1/2, 2)`.
    #[inline(always)]
    fn scale(self, p: Self::f64s, t: Self::f64s, _k: Self::f64s) -> Self::f64s {
        let sum = self.bits(t);
        let first = self.shr_1(sum);
        let second = self.sub_u64s(sum, first);
        let first = self.from_bits(self.shl_52(first));
        let second = self.from_bits(self.shl_52(second));
        self.mul_f64s(self.mul_f64s(p, first), second)
    }

    // Pulp's own forms of the next six are `#[inline]` only, and a call not inlined passes its vectors through memory.

    #[inline(always)]
    fn bits(self, x: Self::f64s) -> Self::u64s {
        pulp::cast(x)
    }
    #[inline(always)]
    fn from_bits(self, x: Self::u64s) -> Self::f64s {
        pulp::cast(x)
    }
    #[inline(always)]
    fn choose(self, mask: Self::m64s, yes: Self::f64s, no: Self::f64s) -> Self::f64s {
        pulp::cast(self.select_u64s(mask, pulp::cast(yes), pulp::cast(no)))
    }
    #[inline(always)]
    fn negated(self, x: Self::f64s) -> Self::f64s {
        pulp::cast(self.xor_u64s(pulp::cast(x), self.splat_u64s(1 << 63)))
    }
    #[inline(always)]
    fn magnitude(self, x: Self::f64s) -> Self::f64s {
        pulp::cast(self.and_u64s(pulp::cast(x), self.splat_u64s(!(1 << 63))))
    }
    /// `-|x|`.
    #[inline(always)]
    fn nonpositive(self, x: Self::f64s) -> Self::f64s {
        pulp::cast(self.or_u64s(pulp::cast(x), self.splat_u64s(1 << 63)))
    }

    #[inline(always)]
    fn num(self, x: f64) -> Self::f64s {
        self.splat_f64s(x)
    }

    #[inline(always)]
    fn fma(self, a: Self::f64s, b: Self::f64s, c: Self::f64s) -> Self::f64s {
        self.mul_add_e_f64s(a, b, c)
    }

    /// `c - a * b`, contracted where the machine can.
    #[inline(always)]
    fn fnma(self, a: Self::f64s, b: Self::f64s, c: Self::f64s) -> Self::f64s {
        self.negate_mul_add_e_f64s(a, b, c)
    }

    #[inline(always)]
    fn exact_fma(self, a: Self::f64s, b: Self::f64s, c: Self::f64s) -> Self::f64s {
        self.mul_add_f64s(a, b, c)
    }

    /// Horner's rule, coefficients from the constant up.
    #[inline(always)]
    fn horner(self, x: Self::f64s, coefficients: &[f64]) -> Self::f64s {
        let mut rest = coefficients.iter().rev();
        let mut p = self.num(rest.next().copied().unwrap_or(0.0));
        for &c in rest {
            p = self.fma(p, x, self.num(c));
        }
        p
    }

    /// `2^j` for `t = j + ROUND`, `-1022 <= j <= 1023`.
    #[inline(always)]
    fn power_of_two(self, t: Self::f64s) -> Self::f64s {
        let biased = self.sub_u64s(self.bits(t), self.splat_u64s(1023));
        self.from_bits(self.shl_52(biased))
    }
}

impl Lanes for Scalar {
    type Block = [f64; BLOCK];

    #[inline(always)]
    fn at_least(self, low: f64, x: f64) -> f64 {
        if x < low { low } else { x }
    }
    #[inline(always)]
    fn at_most(self, high: f64, x: f64) -> f64 {
        if x > high { high } else { x }
    }
    #[inline(always)]
    fn shl_52(self, x: u64) -> u64 {
        x << 52
    }
    #[inline(always)]
    fn shr_52(self, x: u64) -> u64 {
        x >> 52
    }
    #[inline(always)]
    fn shr_1(self, x: u64) -> u64 {
        x >> 1
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, Lanes};
    use pulp::x86::{V3, V4};
    use pulp::{f64x4, f64x8, u64x4, u64x8};

    // The x86 minimum and maximum return their second operand when either is NaN.

    impl Lanes for V3 {
        type Block = [f64x4; BLOCK / 4];

        #[inline(always)]
        fn at_least(self, low: f64, x: f64x4) -> f64x4 {
            self.max_f64x4(self.splat_f64x4(low), x)
        }
        #[inline(always)]
        fn at_most(self, high: f64, x: f64x4) -> f64x4 {
            self.min_f64x4(self.splat_f64x4(high), x)
        }
        #[inline(always)]
        fn shl_52(self, x: u64x4) -> u64x4 {
            self.shl_const_u64x4::<52>(x)
        }
        #[inline(always)]
        fn shr_52(self, x: u64x4) -> u64x4 {
            self.shr_const_u64x4::<52>(x)
        }
        #[inline(always)]
        fn shr_1(self, x: u64x4) -> u64x4 {
            self.shr_const_u64x4::<1>(x)
        }
    }

    impl Lanes for V4 {
        type Block = [f64x8; BLOCK / 8];

        #[inline(always)]
        fn at_least(self, low: f64, x: f64x8) -> f64x8 {
            self.max_f64x8(self.splat_f64x8(low), x)
        }
        #[inline(always)]
        fn at_most(self, high: f64, x: f64x8) -> f64x8 {
            self.min_f64x8(self.splat_f64x8(high), x)
        }
        #[inline(always)]
        fn shl_52(self, x: u64x8) -> u64x8 {
            self.shl_const_u64x8::<52>(x)
        }
        #[inline(always)]
        fn shr_52(self, x: u64x8) -> u64x8 {
            self.shr_const_u64x8::<52>(x)
        }
        #[inline(always)]
        fn shr_1(self, x: u64x8) -> u64x8 {
            self.shr_const_u64x8::<1>(x)
        }
        #[inline(always)]
        fn scale(self, p: f64x8, _t: f64x8, k: f64x8) -> f64x8 {
            pulp::cast(self.avx512f._mm512_scalef_pd(pulp::cast(p), pulp::cast(k)))
        }
    }
}
