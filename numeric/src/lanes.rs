use bytemuck::Pod;
use pulp::{Scalar, Simd};

/// Number of accumulators of a reduction: 32 on every instruction set, so that the order of summation does not depend on it.
pub(crate) const BLOCK: usize = 32;

/// Rounding constant `1.5 * 2^52 + 2046`. Added to a small float, it leaves the nearest integer plus 2046 in the low mantissa bits
/// (2046 is twice the exponent bias, so that half of the integer is a biased exponent again).
pub(crate) const ROUND: f64 = 6_755_399_441_055_744.0 + 2046.0;

const SIGN: u64 = 1 << 63;

/// SIMD operations on floats `F`, their bits `U` and masks `M`, each with an unspecified number of lanes.
///
/// `fma` is fused if the machine has the instruction and `a * b + c` otherwise, which is accurate enough for polynomials.
/// `exact_fma` rounds once on every machine and is slow where it is emulated; error terms use it.
///
/// Comparisons with NaN are false; `at_least` and `at_most` return NaN if their second argument is NaN.
pub(crate) trait Lanes: Copy {
    type F: Copy;
    type U: Copy;
    type M: Copy;

    fn num(self, x: f64) -> Self::F;
    fn int(self, x: u64) -> Self::U;
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, fused if the machine has the instruction.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `c - a * b`, fused if the machine has the instruction.
    fn fnma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `a * b + c`, rounded once.
    fn exact_fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    fn less(self, a: Self::F, b: Self::F) -> Self::M;
    fn equal(self, a: Self::F, b: Self::F) -> Self::M;
    fn choose(self, mask: Self::M, yes: Self::F, no: Self::F) -> Self::F;
    fn at_least(self, low: Self::F, x: Self::F) -> Self::F;
    fn at_most(self, high: Self::F, x: Self::F) -> Self::F;
    fn bits(self, x: Self::F) -> Self::U;
    fn float(self, x: Self::U) -> Self::F;
    fn add_bits(self, a: Self::U, b: Self::U) -> Self::U;
    fn sub_bits(self, a: Self::U, b: Self::U) -> Self::U;
    fn and(self, a: Self::U, b: Self::U) -> Self::U;
    fn or(self, a: Self::U, b: Self::U) -> Self::U;
    fn xor(self, a: Self::U, b: Self::U) -> Self::U;
    fn shl_52(self, x: Self::U) -> Self::U;
    fn shr_52(self, x: Self::U) -> Self::U;
    fn shr_1(self, x: Self::U) -> Self::U;
    /// `p * 2^k` with one rounding, `k = t - ROUND`, `-1076 <= k <= 1024`, `p` in `[1/2, 2)`.
    fn scale(self, p: Self::F, t: Self::F, k: Self::F) -> Self::F;

    #[inline(always)]
    fn negated(self, x: Self::F) -> Self::F {
        self.float(self.xor(self.bits(x), self.int(SIGN)))
    }

    /// `|x|`.
    #[inline(always)]
    fn magnitude(self, x: Self::F) -> Self::F {
        self.float(self.and(self.bits(x), self.int(!SIGN)))
    }

    /// `-|x|`.
    #[inline(always)]
    fn nonpositive(self, x: Self::F) -> Self::F {
        self.float(self.or(self.bits(x), self.int(SIGN)))
    }

    /// `|y|` with the sign of `x`.
    #[inline(always)]
    fn with_sign_of(self, y: Self::F, x: Self::F) -> Self::F {
        let sign = self.and(self.bits(x), self.int(SIGN));
        self.float(self.or(self.and(self.bits(y), self.int(!SIGN)), sign))
    }

    /// Polynomial with coefficients from the constant term up. Horner's rule on even and odd powers separately halves the latency
    /// at the cost of one operation.
    #[inline(always)]
    fn polynomial(self, x: Self::F, coefficients: &[f64]) -> Self::F {
        let n = coefficients.len();
        let square = self.mul(x, x);
        let mut last = self.num(coefficients[n - 1]);
        let mut other = self.num(coefficients[n - 2]);
        let mut i = n - 2;
        while i > 0 {
            i -= 1;
            (last, other) = (other, self.fma(last, square, self.num(coefficients[i])));
        }
        self.fma(last, x, other)
    }

    /// `2^j` for `t = j + ROUND`, `-1022 <= j <= 1023`.
    #[inline(always)]
    fn power_of_two(self, t: Self::F) -> Self::F {
        self.float(self.shl_52(self.sub_bits(self.bits(t), self.int(1023))))
    }

    /// [`Lanes::scale`] for machines without an instruction for it: a product with two factors, of which only the second can round.
    #[inline(always)]
    fn scale_in_halves(self, p: Self::F, t: Self::F) -> Self::F {
        let sum = self.bits(t);
        let first = self.shr_1(sum);
        let second = self.sub_bits(sum, first);
        let p = self.mul(p, self.float(self.shl_52(first)));
        self.mul(p, self.float(self.shl_52(second)))
    }
}

/// Vector register of an instruction set, which can be loaded from and stored to slices.
pub(crate) trait Register: Lanes<F = Self::f64s> + Simd {
    /// `BLOCK` numbers held in registers.
    type Block: Pod + AsRef<[Self::f64s]> + AsMut<[Self::f64s]>;

    /// True if there are enough registers to process four at a time beside the constants; otherwise two are processed at a time.
    const WIDE: bool;
}

// Pulp's `select_f64s`, `neg_f64s` and the transmutations are `#[inline]` only, and a call not inlined passes its
// vectors through memory: only `#[inline(always)]` operations below.
macro_rules! common {
    () => {
        type F = <Self as Simd>::f64s;
        type U = <Self as Simd>::u64s;
        type M = <Self as Simd>::m64s;

        #[inline(always)]
        fn num(self, x: f64) -> Self::F {
            self.splat_f64s(x)
        }
        #[inline(always)]
        fn int(self, x: u64) -> Self::U {
            self.splat_u64s(x)
        }
        #[inline(always)]
        fn add(self, a: Self::F, b: Self::F) -> Self::F {
            self.add_f64s(a, b)
        }
        #[inline(always)]
        fn sub(self, a: Self::F, b: Self::F) -> Self::F {
            self.sub_f64s(a, b)
        }
        #[inline(always)]
        fn mul(self, a: Self::F, b: Self::F) -> Self::F {
            self.mul_f64s(a, b)
        }
        #[inline(always)]
        fn div(self, a: Self::F, b: Self::F) -> Self::F {
            self.div_f64s(a, b)
        }
        #[inline(always)]
        fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
            self.mul_add_e_f64s(a, b, c)
        }
        #[inline(always)]
        fn fnma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
            self.negate_mul_add_e_f64s(a, b, c)
        }
        #[inline(always)]
        fn exact_fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
            self.mul_add_f64s(a, b, c)
        }
        #[inline(always)]
        fn less(self, a: Self::F, b: Self::F) -> Self::M {
            self.less_than_f64s(a, b)
        }
        #[inline(always)]
        fn equal(self, a: Self::F, b: Self::F) -> Self::M {
            self.equal_f64s(a, b)
        }
        #[inline(always)]
        fn choose(self, mask: Self::M, yes: Self::F, no: Self::F) -> Self::F {
            pulp::cast(self.select_u64s(mask, pulp::cast(yes), pulp::cast(no)))
        }
        #[inline(always)]
        fn bits(self, x: Self::F) -> Self::U {
            pulp::cast(x)
        }
        #[inline(always)]
        fn float(self, x: Self::U) -> Self::F {
            pulp::cast(x)
        }
        #[inline(always)]
        fn add_bits(self, a: Self::U, b: Self::U) -> Self::U {
            self.add_u64s(a, b)
        }
        #[inline(always)]
        fn sub_bits(self, a: Self::U, b: Self::U) -> Self::U {
            self.sub_u64s(a, b)
        }
        #[inline(always)]
        fn and(self, a: Self::U, b: Self::U) -> Self::U {
            self.and_u64s(a, b)
        }
        #[inline(always)]
        fn or(self, a: Self::U, b: Self::U) -> Self::U {
            self.or_u64s(a, b)
        }
        #[inline(always)]
        fn xor(self, a: Self::U, b: Self::U) -> Self::U {
            self.xor_u64s(a, b)
        }
    };
}

impl Lanes for Scalar {
    common!();

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
    #[inline(always)]
    fn scale(self, p: f64, t: f64, _k: f64) -> f64 {
        self.scale_in_halves(p, t)
    }
}

impl Register for Scalar {
    type Block = [f64; BLOCK];
    const WIDE: bool = false;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, Lanes, Register, Simd};
    use pulp::x86::{V3, V4};
    use pulp::{f64x4, f64x8};

    // The x86 minimum and maximum return their second operand when either is NaN.
    macro_rules! limits_and_shifts {
        ($shl:ident, $shr:ident) => {
            #[inline(always)]
            fn at_least(self, low: Self::F, x: Self::F) -> Self::F {
                self.max_f64s(low, x)
            }
            #[inline(always)]
            fn at_most(self, high: Self::F, x: Self::F) -> Self::F {
                self.min_f64s(high, x)
            }
            #[inline(always)]
            fn shl_52(self, x: Self::U) -> Self::U {
                self.$shl::<52>(x)
            }
            #[inline(always)]
            fn shr_52(self, x: Self::U) -> Self::U {
                self.$shr::<52>(x)
            }
            #[inline(always)]
            fn shr_1(self, x: Self::U) -> Self::U {
                self.$shr::<1>(x)
            }
        };
    }

    impl Lanes for V3 {
        common!();
        limits_and_shifts!(shl_const_u64x4, shr_const_u64x4);

        #[inline(always)]
        fn scale(self, p: f64x4, t: f64x4, _k: f64x4) -> f64x4 {
            self.scale_in_halves(p, t)
        }
    }

    impl Register for V3 {
        type Block = [f64x4; BLOCK / 4];
        const WIDE: bool = false;
    }

    impl Lanes for V4 {
        common!();
        limits_and_shifts!(shl_const_u64x8, shr_const_u64x8);

        #[inline(always)]
        fn scale(self, p: f64x8, _t: f64x8, k: f64x8) -> f64x8 {
            pulp::cast(self.avx512f._mm512_scalef_pd(pulp::cast(p), pulp::cast(k)))
        }
    }

    impl Register for V4 {
        type Block = [f64x8; BLOCK / 8];
        const WIDE: bool = true;
    }
}
