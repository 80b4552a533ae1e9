//! Instruction sets, their vector registers, and the operations on lanes that the functions are written in.

use bytemuck::Pod;
use pulp::{Arch, Scalar, Simd, WithSimd};

/// Instruction set of a vector function.
///
/// The free functions of [`numeric`](crate) use [`Backend::best`]. Results of one backend are bit-identical on every
/// machine that has it; results of two backends differ in the last places wherever one of them fuses `a * b + c`. Use
/// [`Backend::Portable`], which is slower, if results must be reproduced on unknown machines.
///
/// A value of this type does not prove that the machine has the instructions: each call checks (one relaxed load) and
/// falls back on the portable code.
///
/// ```
/// use mcsa_numeric::Backend;
/// let mut x = [0.0, f64::NEG_INFINITY];
/// Backend::Portable.exp(&mut x);
/// assert_eq!(x, [1.0, 0.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Baseline instructions, one number at a time; `a * b + c` rounds twice.
    Portable,
    /// AVX2 with FMA, four numbers at a time.
    Avx2,
    /// AVX-512 (F, BW, CD, DQ, VL), eight numbers at a time.
    Avx512,
}

impl Backend {
    /// All backends, slowest first, including those that this machine does not have.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The fastest backend that this machine has.
    #[inline]
    pub fn best() -> Self {
        if Self::Avx512.is_available() {
            Self::Avx512
        } else if Self::Avx2.is_available() {
            Self::Avx2
        } else {
            Self::Portable
        }
    }

    /// True if this machine has the instructions.
    #[inline]
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => pulp::x86::V3::is_available(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => pulp::x86::V4::is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    #[inline(always)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        run(self, kernel)
    }
}

/// Runs a closure with the widest vector instructions of this machine.
///
/// The compiler uses these instructions only in code that is inlined into the call. So mark the closure, and the functions that
/// it calls, `#[inline(always)]`. Elsewhere `mul_add` may be a call of a function.
///
/// ```
/// let (x, mut y) = ([1.0; 20], [0.5; 20]);
/// mcsa_numeric::vectorised(
///     #[inline(always)]
///     || y.iter_mut().zip(&x).for_each(|(y, x)| *y = f64::mul_add(2.0, *x, *y)),
/// );
/// assert_eq!(y, [2.5; 20]);
/// ```
pub fn vectorised<T>(op: impl FnMut() -> T) -> T {
    struct Op<F>(F);

    impl<T, F: FnMut() -> T> WithSimd for Op<F> {
        type Output = T;

        // `call_once` of a closure that borrows is a function of its own, which is not inlined.
        #[inline(always)]
        fn with_simd<S: Simd>(mut self, _: S) -> T {
            (self.0)()
        }
    }

    Arch::new().dispatch(Op(op))
}

/// Declares a trait of computations that are generic over registers with the trait `$register`, and their start with the instructions of a
/// backend, or with baseline ones if the machine does not have them.
#[doc(hidden)]
#[macro_export]
macro_rules! kernels {
    ($(#[$doc:meta])* $visibility:vis trait $kernel:ident over $register:ident, fn $run:ident) => {
        $(#[$doc])*
        $visibility trait $kernel {
            type Output;
            fn run<L: $register>(self, lanes: L) -> Self::Output;
        }

        #[cfg(target_arch = "x86_64")]
        struct Call<K, L> {
            kernel: K,
            lanes: L,
        }

        #[cfg(target_arch = "x86_64")]
        impl<K: $kernel, L: $register> pulp::NullaryFnOnce for Call<K, L> {
            type Output = K::Output;

            #[inline(always)]
            fn call(self) -> K::Output {
                self.kernel.run(self.lanes)
            }
        }

        #[inline(always)]
        fn $run<K: $kernel>(backend: $crate::Backend, kernel: K) -> K::Output {
            match backend {
                #[cfg(target_arch = "x86_64")]
                $crate::Backend::Avx512 => {
                    if let Some(lanes) = pulp::x86::V4::try_new() {
                        return pulp::Simd::vectorize(lanes, Call { kernel, lanes });
                    }
                }
                #[cfg(target_arch = "x86_64")]
                $crate::Backend::Avx2 => {
                    if let Some(lanes) = pulp::x86::V3::try_new() {
                        return pulp::Simd::vectorize(lanes, Call { kernel, lanes });
                    }
                }
                _ => {}
            }
            kernel.run(pulp::Scalar)
        }
    };
}

kernels! {
    /// Computation that is generic over the vector register, [`Register`].
    pub(crate) trait Kernel over Register, fn run
}

/// Declares functions of the best backend and, by the same name, methods of a chosen [`Backend`].
macro_rules! on_backends {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? { |$backend:ident| $value:expr })+) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name($($arg: $type),*) $(-> $out)? {
            $crate::Backend::best().$name($($arg),*)
        }

        impl $crate::Backend {
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) on these instructions; panics as that does.")]
            #[inline]
            pub fn $name(self, $($arg: $type),*) $(-> $out)? {
                let $backend = self;
                $value
            }
        }
    )+};
}
pub(crate) use on_backends;

macro_rules! output {
    () => {
        ()
    };
    ($type:ty) => {
        $type
    };
}
pub(crate) use output;

/// As [`on_backends`], with a value that is computed by the lanes of the chosen instructions.
macro_rules! on_lanes {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? { |$l:ident| $value:expr })+) => {
        $crate::lanes::on_backends! {$(
            $(#[$doc])*
            fn $name($($arg: $type),*) $(-> $out)? {
                |backend| {
                    struct Arguments<T>(T);

                    impl $crate::lanes::Kernel for Arguments<($($type,)*)> {
                        type Output = $crate::lanes::output!($($out)?);

                        #[inline(always)]
                        fn run<L: $crate::lanes::Register>(self, $l: L) -> Self::Output {
                            let Self(($($arg,)*)) = self;
                            $value
                        }
                    }
                    backend.run(Arguments(($($arg,)*)))
                }
            }
        )+}
    };
}
pub(crate) use on_lanes;

/// Number of accumulators of a reduction: 32 on every instruction set, so that the order of summation does not depend on it.
pub(crate) const BLOCK: usize = 32;

/// Rounding constant `1.5 * 2^52 + 2046`. Added to a small float, it leaves the nearest integer plus 2046 in the low mantissa bits
/// (2046 is twice the exponent bias, so that half of the integer is a biased exponent again).
pub(crate) const ROUND: f64 = 6_755_399_441_055_744.0 + 2046.0;

const SIGN: u64 = 1 << 63;

/// Declares operations of lanes; those of a [`Pair`] are those of its parts.
macro_rules! lanes {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $t:ident),*) -> $out:ident;)*) => {
        /// SIMD operations on floats `F`, their bits `U` and masks `M`, each with an unspecified number of lanes.
        ///
        /// `fma` is fused if the machine has the instruction and `a * b + c` otherwise, which is accurate enough for polynomials.
        /// `exact_fma` rounds once on every machine and is slow where it is emulated; error terms use it.
        ///
        /// Comparisons with NaN are false; `at_least` and `at_most` return NaN if their second argument is NaN.
        pub(crate) trait Operations: Copy {
            type F: Copy;
            type U: Copy;
            type M: Copy;

            fn num(self, x: f64) -> Self::F;
            fn int(self, x: u64) -> Self::U;
            $($(#[$doc])* fn $name(self, $($arg: Self::$t),*) -> Self::$out;)*
        }

        impl<L: Operations> Operations for Pair<L> {
            type F = (L::F, L::F);
            type U = (L::U, L::U);
            type M = (L::M, L::M);

            #[inline(always)]
            fn num(self, x: f64) -> Self::F {
                (self.0.num(x), self.0.num(x))
            }
            #[inline(always)]
            fn int(self, x: u64) -> Self::U {
                (self.0.int(x), self.0.int(x))
            }
            $(
                #[inline(always)]
                fn $name(self, $($arg: Self::$t),*) -> Self::$out {
                    (self.0.$name($($arg.0),*), self.0.$name($($arg.1),*))
                }
            )*
        }
    };
}

lanes! {
    add(a: F, b: F) -> F;
    sub(a: F, b: F) -> F;
    mul(a: F, b: F) -> F;
    div(a: F, b: F) -> F;
    /// `a * b + c`, fused if the machine has the instruction.
    fma(a: F, b: F, c: F) -> F;
    /// `c - a * b`, fused if the machine has the instruction.
    fnma(a: F, b: F, c: F) -> F;
    /// `a * b + c`, rounded once.
    exact_fma(a: F, b: F, c: F) -> F;
    less(a: F, b: F) -> M;
    equal(a: F, b: F) -> M;
    choose(mask: M, yes: F, no: F) -> F;
    at_least(low: F, x: F) -> F;
    at_most(high: F, x: F) -> F;
    bits(x: F) -> U;
    float(x: U) -> F;
    add_bits(a: U, b: U) -> U;
    sub_bits(a: U, b: U) -> U;
    and(a: U, b: U) -> U;
    or(a: U, b: U) -> U;
    xor(a: U, b: U) -> U;
    shl_52(x: U) -> U;
    shr_52(x: U) -> U;
    shr_1(x: U) -> U;
    /// `p * 2^k` with one rounding, `k = t - ROUND`, `-1076 <= k <= 1024`, `p` in `[1/2, 2)`.
    scale(p: F, t: F, k: F) -> F;
}

/// Compositions of [`Operations`].
pub(crate) trait Lanes: Operations {
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

    /// [`Operations::scale`] for machines without an instruction for it: a product with two factors, of which only the second can round.
    #[inline(always)]
    fn scale_in_halves(self, p: Self::F, t: Self::F) -> Self::F {
        let sum = self.bits(t);
        let first = self.shr_1(sum);
        let second = self.sub_bits(sum, first);
        let p = self.mul(p, self.float(self.shl_52(first)));
        self.mul(p, self.float(self.shl_52(second)))
    }
}

impl<L: Operations> Lanes for L {}

/// Vector register of an instruction set, which can be loaded from and stored to slices.
pub(crate) trait Register: Lanes<F = Self::f64s> + Simd {
    /// `BLOCK` numbers held in registers.
    type Block: Pod + AsRef<[Self::f64s]> + AsMut<[Self::f64s]>;

    /// True if there are enough registers to process four at a time beside the constants; otherwise two are processed at a time.
    const WIDE: bool;
}

/// Declares operations of lanes by those of pulp.
macro_rules! operations {
    ($($name:ident($($arg:ident: $t:ident),*) -> $out:ident = $call:ident;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: Self::$t),*) -> Self::$out {
                self.$call($($arg),*)
            }
        )*
    };
}

// Pulp's `select_f64s`, `neg_f64s` and the transmutations are `#[inline]` only, and a call not inlined passes its
// vectors through memory: only `#[inline(always)]` operations below.
macro_rules! common {
    () => {
        type F = <Self as Simd>::f64s;
        type U = <Self as Simd>::u64s;
        type M = <Self as Simd>::m64s;

        operations! {
            add(a: F, b: F) -> F = add_f64s;
            sub(a: F, b: F) -> F = sub_f64s;
            mul(a: F, b: F) -> F = mul_f64s;
            div(a: F, b: F) -> F = div_f64s;
            fma(a: F, b: F, c: F) -> F = mul_add_e_f64s;
            fnma(a: F, b: F, c: F) -> F = negate_mul_add_e_f64s;
            exact_fma(a: F, b: F, c: F) -> F = mul_add_f64s;
            less(a: F, b: F) -> M = less_than_f64s;
            equal(a: F, b: F) -> M = equal_f64s;
            add_bits(a: U, b: U) -> U = add_u64s;
            sub_bits(a: U, b: U) -> U = sub_u64s;
            and(a: U, b: U) -> U = and_u64s;
            or(a: U, b: U) -> U = or_u64s;
            xor(a: U, b: U) -> U = xor_u64s;
        }

        #[inline(always)]
        fn num(self, x: f64) -> Self::F {
            self.splat_f64s(x)
        }
        #[inline(always)]
        fn int(self, x: u64) -> Self::U {
            self.splat_u64s(x)
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
    };
}

impl Operations for Scalar {
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
    use super::{BLOCK, Lanes, Operations, Register, Simd};
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

    impl Operations for V3 {
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

    impl Operations for V4 {
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

/// Two sets of lanes processed together, operation by operation, for instruction-level parallelism.
///
/// The elementary functions are chains of dependent operations, several times longer than the instruction window of the processor;
/// while one set waits for a result, an operation on the other set is issued.
#[derive(Clone, Copy)]
pub(crate) struct Pair<L>(pub(crate) L);

/// The numbers of a `Pair` of `Pair`s.
type Four<T> = ((T, T), (T, T));

#[inline(always)]
pub(crate) fn apart<T>([a, b, c, d]: [T; 4]) -> Four<T> {
    ((a, b), (c, d))
}

#[inline(always)]
pub(crate) fn together<T>(((a, b), (c, d)): Four<T>) -> [T; 4] {
    [a, b, c, d]
}
