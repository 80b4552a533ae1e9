use super::backend::{Backend, Kernel};
use super::exponential::{LN_2_HIGH, LN_2_LOW, nonpositive_exp_lanes};
use super::lanes::{BLOCK, Lanes, Register};
use super::logarithm::{TWO_52, ln_1p_lanes};
use super::pair::{Pair, apart, together};
use super::reduce::{fold, padded};
use super::softplus::sigmoid_of;
use bytemuck::Zeroable;
use pulp::Scalar;

/// Number of factors after which an accumulator is renormalised: each factor is at most 2, and `2^900 < f64::MAX`.
const FACTORS: usize = 900;

/// `q <- (1 + q)(1 + e) - 1`, and `sum <- sum + min(x, 0)`.
#[inline(always)]
fn step<L: Lanes>(l: L, q: L::F, sum: L::F, x: L::F, e: L::F) -> (L::F, L::F) {
    let grown = l.fma(l.add(q, l.num(1.0)), e, q);
    (grown, l.add(sum, l.at_most(l.num(0.0), x)))
}

/// Accumulates one block, four registers at a time, and writes `sigmoid(-x)` if `slopes` is given.
#[inline(always)]
fn block<L: Register>(
    l: L,
    q: &mut L::Block,
    sum: &mut L::Block,
    x: &[f64; BLOCK],
    slopes: Option<&mut [f64; BLOCK]>,
) {
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

/// Renormalises accumulators, `1 + q = 2^k (1 + f)`: replaces `q` by `f` and returns the sum of the `k`. A `q` below 1 is left
/// unchanged, bit for bit. If `q` is NaN, so is the linear part of the sum.
#[inline(always)]
fn renormalise<L: Register>(l: L, q: &mut L::Block) -> f64 {
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

/// `prod (1 + q_i) - 1` in the fixed order of [`fold`]: first over registers, then over the lanes of the last one.
#[inline(always)]
fn product_of<L: Register>(l: L, mut q: L::Block) -> f64 {
    let registers = q.as_mut();
    let mut half = registers.len() / 2;
    while half > 0 {
        for i in 0..half {
            registers[i] = joined(l, registers[i], registers[i + half]);
        }
        half /= 2;
    }
    let mut lanes: [f64; BLOCK] = pulp::cast(q);
    let mut half = L::F64_LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = joined(Scalar, lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Parts of a sum before the final logarithm, from which [`whole`] computes the sum.
struct Parts {
    linear: f64,
    exponent: f64,
    q: f64,
}

#[inline(always)]
fn parts<L: Register>(l: L, x: &[f64], mut slopes: Option<&mut [f64]>) -> Parts {
    let (mut q, mut sum) = (L::Block::zeroed(), L::Block::zeroed());
    let mut exponent = 0.0;
    // With at most this many factors, even one product of all of them does not overflow.
    let many = x.len() > FACTORS;
    let (blocks, tail) = x.as_chunks::<BLOCK>();
    for (g, group) in blocks.chunks(FACTORS).enumerate() {
        for (i, x) in group.iter().enumerate() {
            let slopes = slopes.as_deref_mut().map(|s| &mut s.as_chunks_mut().0[g * FACTORS + i]);
            block(l, &mut q, &mut sum, x, slopes);
        }
        if many {
            exponent += renormalise(l, &mut q);
        }
    }
    if !tail.is_empty() {
        let mut last = [0.0; BLOCK];
        let place = slopes.is_some().then_some(&mut last);
        block(l, &mut q, &mut sum, &padded(tail, f64::INFINITY), place);
        if let Some(slopes) = slopes {
            slopes[x.len() - tail.len()..].copy_from_slice(&last[..tail.len()]);
        }
    }
    Parts { linear: fold(l, sum), exponent, q: product_of(l, q) }
}

/// Number of columns whose logarithms are computed together.
const GROUP: usize = 16;

struct SumsLogSigmoid<'a> {
    x: &'a [f64],
    stride: usize,
    rows: usize,
    out: &'a mut [f64],
}

impl Kernel for SumsLogSigmoid<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Register>(self, l: L) {
        for (g, out) in self.out.chunks_mut(GROUP).enumerate() {
            let (mut linear, mut exponent, mut q) = ([0.0; GROUP], [0.0; GROUP], [0.0; GROUP]);
            for c in 0..out.len() {
                let from = (g * GROUP + c) * self.stride;
                let parts = parts(l, &self.x[from..from + self.rows], None);
                (linear[c], exponent[c], q[c]) = (parts.linear, parts.exponent, parts.q);
            }
            let registers = L::as_mut_simd_f64s(&mut linear).0.iter_mut();
            let (exponent, q) = (L::as_simd_f64s(&exponent).0, L::as_simd_f64s(&q).0);
            for ((sum, &k), &q) in registers.zip(exponent).zip(q).take(out.len().div_ceil(L::F64_LANES)) {
                *sum = whole(l, *sum, k, q);
            }
            out.copy_from_slice(&linear[..out.len()]);
        }
    }
}

/// The sum from its parts, `linear - (exponent ln 2 + ln(1 + q))`.
#[inline(always)]
fn whole<L: Lanes>(l: L, linear: L::F, exponent: L::F, q: L::F) -> L::F {
    let low = l.fma(exponent, l.num(LN_2_LOW), ln_1p_lanes(l, q));
    l.sub(linear, l.fma(exponent, l.num(LN_2_HIGH), low))
}

struct SumLogSigmoidWithSlopes<'a> {
    x: &'a [f64],
    slopes: &'a mut [f64],
}

impl Kernel for SumLogSigmoidWithSlopes<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Register>(self, l: L) -> f64 {
        let Parts { linear, exponent, q } = parts(l, self.x, Some(self.slopes));
        let sum = whole(l, l.num(linear), l.num(exponent), l.num(q));
        bytemuck::cast_slice::<L::f64s, f64>(core::slice::from_ref(&sum))[0]
    }
}

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
#[inline]
pub fn sum_log_sigmoid(x: &[f64]) -> f64 {
    Backend::best().sum_log_sigmoid(x)
}

/// [`sum_log_sigmoid`] of the first `rows` numbers of each column, written to `out`; a column is `stride` numbers of `x`. The
/// result of a column is bit-identical to that of [`sum_log_sigmoid`].
///
/// # Panics
/// If `x` does not hold `rows` numbers of each column that `out` has room for.
///
/// ```
/// let mut sums = [0.0; 2];
/// mcsa_numeric::sums_log_sigmoid(&[0.0, 7.0, f64::INFINITY, 7.0], 2, 1, &mut sums);
/// assert_eq!(sums, [-std::f64::consts::LN_2, 0.0]);
/// ```
#[inline]
pub fn sums_log_sigmoid(x: &[f64], stride: usize, rows: usize, out: &mut [f64]) {
    Backend::best().sums_log_sigmoid(x, stride, rows, out);
}

/// [`sum_log_sigmoid`], bit-identical, and its derivative in each number, `sigmoid(-x_i)`, written to `slopes`. Both use the same
/// exponentials.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// let mut slopes = [0.0; 2];
/// let sum = mcsa_numeric::sum_log_sigmoid_with_slopes(&[0.0, f64::INFINITY], &mut slopes);
/// assert_eq!((sum, slopes), (-std::f64::consts::LN_2, [0.5, 0.0]));
/// ```
#[inline]
pub fn sum_log_sigmoid_with_slopes(x: &[f64], slopes: &mut [f64]) -> f64 {
    Backend::best().sum_log_sigmoid_with_slopes(x, slopes)
}

impl Backend {
    /// [`sum_log_sigmoid`] with the instruction set of `self`.
    pub fn sum_log_sigmoid(self, x: &[f64]) -> f64 {
        let mut out = [0.0];
        self.sums_log_sigmoid(x, x.len(), x.len(), &mut out);
        out[0]
    }

    /// [`sums_log_sigmoid`] with the instruction set of `self`.
    ///
    /// # Panics
    /// If `x` does not hold `rows` numbers of each column that `out` has room for.
    pub fn sums_log_sigmoid(self, x: &[f64], stride: usize, rows: usize, out: &mut [f64]) {
        self.run(SumsLogSigmoid { x, stride, rows, out });
    }

    /// [`sum_log_sigmoid_with_slopes`] with the instruction set of `self`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn sum_log_sigmoid_with_slopes(self, x: &[f64], slopes: &mut [f64]) -> f64 {
        assert_eq!(x.len(), slopes.len(), "a slope per number");
        self.run(SumLogSigmoidWithSlopes { x, slopes })
    }
}
