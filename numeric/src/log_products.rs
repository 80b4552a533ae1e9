//! Sums of logarithms of likelihood factors, by one logarithm of products: of logistic, probit and Poisson regressions.

use super::elementwise::Map;
use super::error_function::split_minus_square;
use super::exponential::{Exp, LN_2_HIGH, LN_2_LOW, join, nonpositive_exp_lanes};
use super::lanes::{BLOCK, Lanes, Operations, Pair, Register, apart, on_backends, on_lanes, together};
use super::logarithm::{TWO_52, ln_1p_lanes, ln_lanes, sigmoid_of};
use super::normal::{INVERSE_ROOT_2_PI, LogNdtr, mills_lanes};
use super::reduce::{combined, fold, padded};
use bytemuck::Zeroable;
use pulp::Scalar;

/// Number of columns whose logarithms are computed together.
const GROUP: usize = 16;

/// Parts of a sum before the final logarithm: a sum, an exponent of two, and a product.
type Parts = [f64; 3];

/// A log likelihood as the logarithm of products of factors and a sum.
trait Factors {
    /// Number of blocks of factors after which accumulators are renormalised.
    const MOST: usize;
    /// Parts of an empty sum.
    const EMPTY: Parts;
    /// Number whose factor is 1.
    const NONE: f64;
    /// Accumulators.
    type Products<L: Register>;

    fn one<L: Register>(l: L) -> Self::Products<L>;

    /// Accumulates a block, and writes the derivatives of its terms if `slopes` is given.
    fn add<L: Register>(
        l: L,
        to: &mut Self::Products<L>,
        x: &[f64; BLOCK],
        slopes: Option<&mut [f64; BLOCK]>,
    );

    /// Takes exponents out of the accumulators of a sum of `len` terms, after [`MOST`](Self::MOST) blocks or the `last` one.
    fn exponents<L: Register>(l: L, to: &mut Self::Products<L>, len: usize, last: bool) -> f64;

    fn parts<L: Register>(l: L, products: Self::Products<L>, exponent: f64) -> Parts;

    /// The sum from its parts.
    fn whole<L: Lanes>(l: L, sum: L::F, exponent: L::F, product: L::F) -> L::F;

    /// The sum, or that of the terms one by one where products are not accurate.
    fn checked<L: Register>(l: L, x: &[f64], sum: f64) -> f64;
}

#[inline(always)]
fn parts<F: Factors, L: Register>(l: L, x: &[f64], mut slopes: Option<&mut [f64]>) -> Parts {
    let (mut to, mut exponent) = (F::one(l), 0.0);
    let (blocks, tail) = x.as_chunks::<BLOCK>();
    for (g, group) in blocks.chunks(F::MOST).enumerate() {
        for (i, x) in group.iter().enumerate() {
            let slopes = slopes.as_deref_mut().map(|s| &mut s.as_chunks_mut().0[g * F::MOST + i]);
            F::add(l, &mut to, x, slopes);
        }
        exponent += F::exponents(l, &mut to, x.len(), false);
    }
    if !tail.is_empty() {
        let mut last = [0.0; BLOCK];
        let place = slopes.is_some().then_some(&mut last);
        F::add(l, &mut to, &padded(tail, F::NONE), place);
        if let Some(slopes) = slopes {
            slopes[x.len() - tail.len()..].copy_from_slice(&last[..tail.len()]);
        }
        exponent += F::exponents(l, &mut to, x.len(), true);
    }
    F::parts(l, to, exponent)
}

/// Sums of the first `rows` numbers of each column.
#[inline(always)]
fn sums<F: Factors, L: Register>(l: L, x: &[f64], stride: usize, rows: usize, out: &mut [f64]) {
    let column = |c: usize| &x[c * stride..][..rows];
    for (g, out) in out.chunks_mut(GROUP).enumerate() {
        let [mut sums, mut exponents, mut products] = F::EMPTY.map(|empty| [empty; GROUP]);
        for c in 0..out.len() {
            [sums[c], exponents[c], products[c]] = parts::<F, L>(l, column(g * GROUP + c), None);
        }
        let registers = L::as_mut_simd_f64s(&mut sums).0.iter_mut();
        let (exponents, products) = (L::as_simd_f64s(&exponents).0, L::as_simd_f64s(&products).0);
        let used = out.len().div_ceil(L::F64_LANES);
        for ((sum, &exponent), &product) in registers.zip(exponents).zip(products).take(used) {
            *sum = F::whole(l, *sum, exponent, product);
        }
        for (c, (out, sum)) in out.iter_mut().zip(sums).enumerate() {
            *out = F::checked(l, column(g * GROUP + c), sum);
        }
    }
}

#[inline(always)]
fn sum_with_slopes<F: Factors, L: Register>(l: L, x: &[f64], slopes: &mut [f64]) -> f64 {
    assert_eq!(x.len(), slopes.len(), "a slope per number");
    let [sum, exponent, product] = parts::<F, L>(l, x, Some(slopes));
    let sum = F::whole(l, l.num(sum), l.num(exponent), l.num(product));
    F::checked(l, x, bytemuck::cast_slice::<L::f64s, f64>(core::slice::from_ref(&sum))[0])
}

// Logistic factors `1 + e^-|x|`.

/// `q <- (1 + q)(1 + e) - 1`, and `sum <- sum + min(x, 0)`.
#[inline(always)]
fn step<L: Lanes>(l: L, q: L::F, sum: L::F, x: L::F, e: L::F) -> (L::F, L::F) {
    let grown = l.fma(l.add(q, l.num(1.0)), e, q);
    (grown, l.add(sum, l.at_most(l.num(0.0), x)))
}

/// Renormalises accumulators, `1 + q = 2^k (1 + f)`: replaces `q` by `f` and returns the sum of the `k`. A `q` below 1 is left
/// unchanged, bit for bit. If `q` is NaN, so is the linear part of the sum.
#[inline(always)]
fn renormalise_rest<L: Register>(l: L, q: &mut L::Block) -> f64 {
    let mut exponents = L::Block::zeroed();
    for (q, k) in q.as_mut().iter_mut().zip(exponents.as_mut()) {
        let small = l.less(*q, l.num(1.0));
        let u = l.add(l.num(1.0), *q);
        let biased = l.shr_52(l.bits(u));
        let exponent = l.sub(l.float(l.or(biased, l.int(TWO_52.to_bits()))), l.num(TWO_52 + 1023.0));
        let inverse = l.float(l.shl_52(l.sub_bits(l.int(2046), biased)));
        *k = l.choose(small, l.num(0.0), exponent);
        *q = l.choose(small, *q, l.sub(l.mul(u, inverse), l.num(1.0)));
    }
    fold(l, exponents)
}

/// `(1 + a) (1 + b) - 1`.
#[inline(always)]
fn joined<L: Lanes>(l: L, a: L::F, b: L::F) -> L::F {
    l.fma(a, b, l.add(a, b))
}

/// `sum_i ln sigmoid(x_i) = linear - (exponent ln 2 + ln(1 + q))`; an accumulator holds its product as `1 + q`.
struct Logistic;

impl Factors for Logistic {
    /// Each factor is at most 2, and `2^900 < f64::MAX`.
    const MOST: usize = 900;
    const EMPTY: Parts = [0.0; 3];
    const NONE: f64 = f64::INFINITY;
    type Products<L: Register> = (L::Block, L::Block);

    #[inline(always)]
    fn one<L: Register>(_: L) -> (L::Block, L::Block) {
        (L::Block::zeroed(), L::Block::zeroed())
    }

    #[inline(always)]
    fn add<L: Register>(
        l: L,
        (q, sum): &mut (L::Block, L::Block),
        x: &[f64; BLOCK],
        slopes: Option<&mut [f64; BLOCK]>,
    ) {
        // Four registers at a time; slopes are `sigmoid(-x)`.
        let (q, _) = q.as_mut().as_chunks_mut::<4>();
        let (sum, _) = sum.as_mut().as_chunks_mut::<4>();
        let (x, _) = L::as_simd_f64s(x).0.as_chunks::<4>();
        let mut slopes = slopes.map(|slopes| L::as_mut_simd_f64s(slopes).0.as_chunks_mut::<4>().0.iter_mut());
        for ((q, s), x) in q.iter_mut().zip(sum).zip(x) {
            let four = Pair(Pair(l));
            let x = apart(*x);
            let e = nonpositive_exp_lanes(four, four.nonpositive(x));
            if let Some(slope) = slopes.as_mut().and_then(Iterator::next) {
                *slope = together(sigmoid_of(four, four.negated(x), e));
            }
            let (grown, total) = step(four, apart(*q), apart(*s), x, e);
            (*q, *s) = (together(grown), together(total));
        }
    }

    #[inline(always)]
    fn exponents<L: Register>(l: L, (q, _): &mut (L::Block, L::Block), len: usize, last: bool) -> f64 {
        // With at most this many factors, even one product of all of them does not overflow.
        if last || len <= Self::MOST { 0.0 } else { renormalise_rest(l, q) }
    }

    #[inline(always)]
    fn parts<L: Register>(l: L, (q, sum): (L::Block, L::Block), exponent: f64) -> Parts {
        let q = combined(l, q, |a, b| joined(l, a, b), |a, b| joined(Scalar, a, b));
        [fold(l, sum), exponent, q]
    }

    #[inline(always)]
    fn whole<L: Lanes>(l: L, linear: L::F, exponent: L::F, q: L::F) -> L::F {
        let low = l.fma(exponent, l.num(LN_2_LOW), ln_1p_lanes(l, q));
        l.sub(linear, l.fma(exponent, l.num(LN_2_HIGH), low))
    }

    #[inline(always)]
    fn checked<L: Register>(_: L, _: &[f64], sum: f64) -> f64 {
        sum
    }
}

// Normal factors `Phi(z)`, as fractions.

/// Argument beyond which the distribution function is 1.
const RIGHT: f64 = 64.0;
/// Mean of the terms above which they are summed one by one: products lose the digits of factors near 1.
const SMALL: f64 = 1.0 / 64.0;

/// Accumulators: products of numerators and of denominators, and the sum of squares of negative numbers.
struct Products<L: Register> {
    over: L::Block,
    under: L::Block,
    squares: L::Block,
}

/// `Phi(z) = over / under`, times `e^(-z^2/2)` if `z < 0`; and `phi(z) / Phi(z)`, computed only if it is used.
#[inline(always)]
fn factor<L: Lanes>(l: L, z: L::F) -> (L::F, L::F, L::F) {
    let left = l.less(z, l.num(0.0));
    let m = l.magnitude(l.at_most(l.num(RIGHT), z));
    let (a, b) = mills_lanes(l, m);
    let density = join(l, split_minus_square(l, m, 0.5));
    let over = l.choose(left, a, l.fnma(density, a, b));
    let scaled = l.mul(b, l.num(INVERSE_ROOT_2_PI));
    let hazard = l.div(l.choose(left, scaled, l.mul(scaled, density)), over);
    (over, b, l.choose(l.less(z, l.num(-1e10)), l.negated(z), hazard))
}

/// Scales positive accumulators to `[1, 2)` and returns the sum of the exponents taken out; what has overflowed stays infinite or NaN.
#[inline(always)]
fn renormalise<L: Register>(l: L, products: &mut L::Block) -> f64 {
    let mut exponents = L::Block::zeroed();
    for (u, k) in products.as_mut().iter_mut().zip(exponents.as_mut()) {
        let biased = l.shr_52(l.bits(*u));
        *k = l.sub(l.float(l.or(biased, l.int(TWO_52.to_bits()))), l.num(TWO_52 + 1023.0));
        *u = l.mul(*u, l.float(l.shl_52(l.sub_bits(l.int(2046), biased))));
    }
    fold(l, exponents)
}

/// `sum_i ln Phi(z_i) = exponent ln 2 + ln(ratio) - squares / 2`.
struct Normal;

impl Factors for Normal {
    const MOST: usize = 8;
    const EMPTY: Parts = [0.0, 0.0, 1.0];
    const NONE: f64 = f64::INFINITY;
    type Products<L: Register> = Products<L>;

    #[inline(always)]
    fn one<L: Register>(l: L) -> Products<L> {
        let mut one = L::Block::zeroed();
        one.as_mut().fill(l.num(1.0));
        Products { over: one, under: one, squares: L::Block::zeroed() }
    }

    #[inline(always)]
    fn add<L: Register>(l: L, to: &mut Products<L>, z: &[f64; BLOCK], slopes: Option<&mut [f64; BLOCK]>) {
        // Four registers at a time; slopes are `phi(z) / Phi(z)`.
        let [overs, unders, squares] =
            [&mut to.over, &mut to.under, &mut to.squares].map(|block| block.as_mut().as_chunks_mut::<4>().0);
        let (z, _) = L::as_simd_f64s(z).0.as_chunks::<4>();
        let mut slopes = slopes.map(|slopes| L::as_mut_simd_f64s(slopes).0.as_chunks_mut::<4>().0.iter_mut());
        for (((over, under), square), z) in overs.iter_mut().zip(unders).zip(squares).zip(z) {
            let four = Pair(Pair(l));
            let z = apart(*z);
            let (a, b, hazard) = factor(four, z);
            if let Some(slope) = slopes.as_mut().and_then(Iterator::next) {
                *slope = together(hazard);
            }
            *over = together(four.mul(apart(*over), a));
            *under = together(four.mul(apart(*under), b));
            let negative = four.at_most(four.num(0.0), z);
            *square = together(four.fma(negative, negative, apart(*square)));
        }
    }

    #[inline(always)]
    fn exponents<L: Register>(l: L, to: &mut Products<L>, _: usize, _: bool) -> f64 {
        renormalise(l, &mut to.over) - renormalise(l, &mut to.under)
    }

    #[inline(always)]
    fn parts<L: Register>(l: L, to: Products<L>, exponent: f64) -> Parts {
        let product = |block| combined(l, block, |a, b| l.mul(a, b), |a, b| a * b);
        [fold(l, to.squares), exponent, product(to.over) / product(to.under)]
    }

    #[inline(always)]
    fn whole<L: Lanes>(l: L, squares: L::F, exponent: L::F, ratio: L::F) -> L::F {
        let low = l.fma(exponent, l.num(LN_2_LOW), ln_lanes(l, ratio));
        l.fnma(l.num(0.5), squares, l.fma(exponent, l.num(LN_2_HIGH), low))
    }

    #[inline(always)]
    fn checked<L: Register>(l: L, z: &[f64], sum: f64) -> f64 {
        if sum <= -SMALL * z.len() as f64 && sum > f64::NEG_INFINITY {
            return sum;
        }
        let mut total = L::Block::zeroed();
        let (blocks, tail) = z.as_chunks::<BLOCK>();
        let last = padded(tail, Self::NONE);
        for z in blocks.iter().chain((!tail.is_empty()).then_some(&last)) {
            for (total, z) in total.as_mut().iter_mut().zip(L::as_simd_f64s(z).0) {
                *total = l.add(*total, LogNdtr::apply(l, *z));
            }
        }
        fold(l, total)
    }
}

// Factors `exp(-e^x)` of counts: their logarithms are at hand, so that nothing is multiplied.

/// `sum_i -e^x_i`.
struct Count;

impl Factors for Count {
    const MOST: usize = usize::MAX;
    const EMPTY: Parts = [0.0; 3];
    const NONE: f64 = f64::NEG_INFINITY;
    type Products<L: Register> = L::Block;

    #[inline(always)]
    fn one<L: Register>(_: L) -> L::Block {
        L::Block::zeroed()
    }

    #[inline(always)]
    fn add<L: Register>(l: L, to: &mut L::Block, x: &[f64; BLOCK], slopes: Option<&mut [f64; BLOCK]>) {
        // Four registers at a time; a slope is its term.
        let (sum, _) = to.as_mut().as_chunks_mut::<4>();
        let (x, _) = L::as_simd_f64s(x).0.as_chunks::<4>();
        let mut slopes = slopes.map(|slopes| L::as_mut_simd_f64s(slopes).0.as_chunks_mut::<4>().0.iter_mut());
        for (sum, x) in sum.iter_mut().zip(x) {
            let four = Pair(Pair(l));
            let term = four.negated(Exp::apply(four, apart(*x)));
            if let Some(slope) = slopes.as_mut().and_then(Iterator::next) {
                *slope = together(term);
            }
            *sum = together(four.add(apart(*sum), term));
        }
    }

    #[inline(always)]
    fn exponents<L: Register>(_: L, _: &mut L::Block, _: usize, _: bool) -> f64 {
        0.0
    }

    #[inline(always)]
    fn parts<L: Register>(l: L, sum: L::Block, _: f64) -> Parts {
        [fold(l, sum), 0.0, 0.0]
    }

    #[inline(always)]
    fn whole<L: Lanes>(_: L, sum: L::F, _: L::F, _: L::F) -> L::F {
        sum
    }

    #[inline(always)]
    fn checked<L: Register>(_: L, _: &[f64], sum: f64) -> f64 {
        sum
    }
}

/// Declares the sum of a slice, the sums of columns, and the sum with slopes.
macro_rules! sums {
    ($factors:ident, $(#[$doc:meta])* $sum:ident, $(#[$docs:meta])* $sums:ident, $(#[$doc_slopes:meta])* $with_slopes:ident) => {
        on_backends! {
            $(#[$doc])*
            fn $sum(x: &[f64]) -> f64 {
                |backend| {
                    let mut out = [0.0];
                    backend.$sums(x, x.len(), x.len(), &mut out);
                    out[0]
                }
            }
        }

        on_lanes! {
            $(#[$docs])*
            fn $sums(x: &[f64], stride: usize, rows: usize, out: &mut [f64]) {
                |l| sums::<$factors, L>(l, x, stride, rows, out)
            }

            $(#[$doc_slopes])*
            fn $with_slopes(x: &[f64], slopes: &mut [f64]) -> f64 {
                |l| sum_with_slopes::<$factors, L>(l, x, slopes)
            }
        }
    };
}

sums! {
    Logistic,
    /// Sum of log sigmoids, `sum_i ln(1 / (1 + e^-x_i))`: the log likelihood of a logistic regression, `x_i` being label sign times
    /// linear predictor.
    ///
    /// ```text
    /// sum_i min(x_i, 0) - ln prod_i (1 + e^-|x_i|)
    /// ```
    /// Only one logarithm is computed for the whole slice. Each of 32 accumulators holds its product as `1 + q`, so that factors near 1
    /// do not lose digits by rounding, and its exponent is moved to a separate sum every 900 factors, before it could overflow. All
    /// terms have one sign: the relative error is that of adding `n/32` positive numbers one after the other, about 1e-15 for ten
    /// thousand.
    ///
    /// The order of summation is that of [`sum`](super::sum()), whatever the alignment. Any `-inf` gives `-inf`, any NaN gives NaN, an
    /// empty slice gives 0.
    ///
    /// ```
    /// let x = [0.0; 4];
    /// assert!((mcsa_numeric::sum_log_sigmoid(&x) + 4.0 * std::f64::consts::LN_2).abs() < 1e-15);
    /// ```
    sum_log_sigmoid,
    /// [`sum_log_sigmoid`] of the first `rows` numbers of each column, written to `out`; a column is `stride` numbers of `x`. The
    /// result of a column is bit-identical to that of [`sum_log_sigmoid`].
    ///
    /// ```
    /// let mut sums = [0.0; 2];
    /// mcsa_numeric::sums_log_sigmoid(&[0.0, 7.0, f64::INFINITY, 7.0], 2, 1, &mut sums);
    /// assert_eq!(sums, [-std::f64::consts::LN_2, 0.0]);
    /// ```
    sums_log_sigmoid,
    /// [`sum_log_sigmoid`], bit-identical, and its derivative in each number, `sigmoid(-x_i)`, written to `slopes`. Both use the same
    /// exponentials.
    sum_log_sigmoid_with_slopes
}

sums! {
    Normal,
    /// Sum of log distribution functions of the standard normal, `sum_i ln Phi(z_i)`: the log likelihood of a probit regression, `z_i`
    /// being label sign times linear predictor.
    ///
    /// ```text
    /// ln prod_i f_i - sum_i min(z_i, 0)^2 / 2,   f = A/B for z < 0,   (B - e^(-z^2/2) A) / B for z >= 0,   e^(z^2/2) Phi(-z) = A(z) / B(z)
    /// ```
    /// Numerators and denominators are multiplied apart, with one division and one logarithm for the whole slice. The relative error is
    /// about 1e-15 where the mean term is of order 1, and at most 1e-13; if the mean term is less than 1/64 in magnitude, or a product
    /// overflows because many numbers are far below -1000, the terms are those of [`log_ndtr`](super::log_ndtr()), added one by one.
    ///
    /// The order of summation is that of [`sum`](super::sum()), whatever the alignment. Any `-inf` gives `-inf`, any NaN gives NaN, an
    /// empty slice gives 0.
    sum_log_ndtr,
    /// [`sum_log_ndtr`] of the first `rows` numbers of each column, written to `out`; a column is `stride` numbers of `x`. The result of a
    /// column is bit-identical to that of [`sum_log_ndtr`].
    sums_log_ndtr,
    /// [`sum_log_ndtr`], bit-identical, and its derivative in each number, `phi(z_i) / Phi(z_i)` with an error of at most 8 ulp, written to
    /// `slopes`.
    sum_log_ndtr_with_slopes
}

sums! {
    Count,
    /// Sum of negative exponentials, `sum_i -e^x_i`: with `sum_i y_i x_i`, the log likelihood of a Poisson regression, `x_i` being the
    /// logarithm of a mean.
    ///
    /// The order of summation is that of [`sum`](super::sum()), whatever the alignment. Where an exponential overflows the sum is `-inf`.
    /// Any NaN gives NaN, an empty slice gives 0.
    sum_minus_exp,
    /// [`sum_minus_exp`] of the first `rows` numbers of each column, written to `out`; a column is `stride` numbers of `x`. The result of a
    /// column is bit-identical to that of [`sum_minus_exp`].
    sums_minus_exp,
    /// [`sum_minus_exp`], bit-identical, and its terms, which are its derivatives, written to `slopes`.
    sum_minus_exp_with_slopes
}
