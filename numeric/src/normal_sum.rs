use super::backend::{Backend, Kernel};
use super::elementwise::Map;
use super::exponential::{LN_2_HIGH, LN_2_LOW};
use super::lanes::{BLOCK, Lanes, Register};
use super::logarithm::{TWO_52, ln_lanes};
use super::normal::{INVERSE_ROOT_2_PI, LogNdtr, mills_lanes};
use super::pair::{Pair, apart, together};
use super::reduce::{fold, padded};
use super::scaled_erfc::exp_minus_half_square_lanes;
use bytemuck::Zeroable;

/// Argument beyond which the distribution function is 1.
const RIGHT: f64 = 64.0;
/// Number of factors after which accumulators are renormalised.
const FACTORS: usize = 8;
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
    let density = exp_minus_half_square_lanes(l, m);
    let over = l.choose(left, a, l.fnma(density, a, b));
    let scaled = l.mul(b, l.num(INVERSE_ROOT_2_PI));
    let hazard = l.div(l.choose(left, scaled, l.mul(scaled, density)), over);
    (over, b, l.choose(l.less(z, l.num(-1e10)), l.negated(z), hazard))
}

/// Accumulates one block, four registers at a time, and writes `phi(z) / Phi(z)` if `slopes` is given.
#[inline(always)]
fn block<L: Register>(l: L, to: &mut Products<L>, z: &[f64; BLOCK], slopes: Option<&mut [f64; BLOCK]>) {
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

/// Product of the 32 accumulators in the order of [`fold`].
#[inline(always)]
fn product<B: bytemuck::Pod>(block: B) -> f64 {
    let mut a: [f64; BLOCK] = pulp::cast(block);
    let mut width = BLOCK / 2;
    while width > 0 {
        for i in 0..width {
            a[i] *= a[i + width];
        }
        width /= 2;
    }
    a[0]
}

/// Parts of a sum before the final logarithm, from which [`whole`] computes the sum.
struct Parts {
    squares: f64,
    exponent: f64,
    ratio: f64,
}

#[inline(always)]
fn parts<L: Register>(l: L, z: &[f64], mut slopes: Option<&mut [f64]>) -> Parts {
    let mut one = L::Block::zeroed();
    one.as_mut().fill(l.num(1.0));
    let mut to = Products::<L> { over: one, under: one, squares: L::Block::zeroed() };
    let mut exponent = 0.0;
    let (blocks, tail) = z.as_chunks::<BLOCK>();
    for (g, group) in blocks.chunks(FACTORS).enumerate() {
        for (i, z) in group.iter().enumerate() {
            let slopes = slopes.as_deref_mut().map(|s| &mut s.as_chunks_mut().0[g * FACTORS + i]);
            block(l, &mut to, z, slopes);
        }
        exponent += renormalise(l, &mut to.over) - renormalise(l, &mut to.under);
    }
    if !tail.is_empty() {
        let mut last = [0.0; BLOCK];
        let place = slopes.is_some().then_some(&mut last);
        block(l, &mut to, &padded(tail, f64::INFINITY), place);
        if let Some(slopes) = slopes {
            slopes[z.len() - tail.len()..].copy_from_slice(&last[..tail.len()]);
        }
        exponent += renormalise(l, &mut to.over) - renormalise(l, &mut to.under);
    }
    Parts { squares: fold(l, to.squares), exponent, ratio: product(to.over) / product(to.under) }
}

/// The sum from its parts, `exponent ln 2 + ln(ratio) - squares / 2`.
#[inline(always)]
fn whole<L: Lanes>(l: L, squares: L::F, exponent: L::F, ratio: L::F) -> L::F {
    let low = l.fma(exponent, l.num(LN_2_LOW), ln_lanes(l, ratio));
    l.fnma(l.num(0.5), squares, l.fma(exponent, l.num(LN_2_HIGH), low))
}

/// The sum if it is finite and not small; otherwise that of the terms, one by one.
#[inline(always)]
fn checked<L: Register>(l: L, z: &[f64], sum: f64) -> f64 {
    if sum <= -SMALL * z.len() as f64 && sum > f64::NEG_INFINITY {
        return sum;
    }
    let mut total = L::Block::zeroed();
    let (blocks, tail) = z.as_chunks::<BLOCK>();
    let last = padded(tail, f64::INFINITY);
    for z in blocks.iter().chain((!tail.is_empty()).then_some(&last)) {
        for (total, z) in total.as_mut().iter_mut().zip(L::as_simd_f64s(z).0) {
            *total = l.add(*total, LogNdtr::apply(l, *z));
        }
    }
    fold(l, total)
}

/// Number of columns whose logarithms are computed together.
const GROUP: usize = 16;

struct SumsLogNdtr<'a> {
    z: &'a [f64],
    stride: usize,
    rows: usize,
    out: &'a mut [f64],
}

impl Kernel for SumsLogNdtr<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Register>(self, l: L) {
        let column = |c: usize| &self.z[c * self.stride..][..self.rows];
        for (g, out) in self.out.chunks_mut(GROUP).enumerate() {
            let (mut squares, mut exponent, mut ratio) = ([0.0; GROUP], [0.0; GROUP], [1.0; GROUP]);
            for c in 0..out.len() {
                let parts = parts(l, column(g * GROUP + c), None);
                (squares[c], exponent[c], ratio[c]) = (parts.squares, parts.exponent, parts.ratio);
            }
            let registers = L::as_mut_simd_f64s(&mut squares).0.iter_mut();
            let (exponent, ratio) = (L::as_simd_f64s(&exponent).0, L::as_simd_f64s(&ratio).0);
            for ((sum, &k), &ratio) in
                registers.zip(exponent).zip(ratio).take(out.len().div_ceil(L::F64_LANES))
            {
                *sum = whole(l, *sum, k, ratio);
            }
            for (c, (out, sum)) in out.iter_mut().zip(squares).enumerate() {
                *out = checked(l, column(g * GROUP + c), sum);
            }
        }
    }
}

struct SumLogNdtrWithSlopes<'a> {
    z: &'a [f64],
    slopes: &'a mut [f64],
}

impl Kernel for SumLogNdtrWithSlopes<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Register>(self, l: L) -> f64 {
        let Parts { squares, exponent, ratio } = parts(l, self.z, Some(self.slopes));
        let sum = whole(l, l.num(squares), l.num(exponent), l.num(ratio));
        checked(l, self.z, bytemuck::cast_slice::<L::f64s, f64>(core::slice::from_ref(&sum))[0])
    }
}

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
///
/// ```
/// let z = [0.0; 4];
/// assert!((mcsa_numeric::sum_log_ndtr(&z) + 4.0 * std::f64::consts::LN_2).abs() < 1e-15);
/// ```
#[inline]
pub fn sum_log_ndtr(z: &[f64]) -> f64 {
    Backend::best().sum_log_ndtr(z)
}

/// [`sum_log_ndtr`] of the first `rows` numbers of each column, written to `out`; a column is `stride` numbers of `z`. The result of a
/// column is bit-identical to that of [`sum_log_ndtr`].
///
/// # Panics
/// If `z` does not hold `rows` numbers of each column that `out` has room for.
#[inline]
pub fn sums_log_ndtr(z: &[f64], stride: usize, rows: usize, out: &mut [f64]) {
    Backend::best().sums_log_ndtr(z, stride, rows, out);
}

/// [`sum_log_ndtr`], bit-identical, and its derivative in each number, `phi(z_i) / Phi(z_i)` with an error of at most 8 ulp, written to
/// `slopes`.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn sum_log_ndtr_with_slopes(z: &[f64], slopes: &mut [f64]) -> f64 {
    Backend::best().sum_log_ndtr_with_slopes(z, slopes)
}

impl Backend {
    /// [`sum_log_ndtr`] with the instruction set of `self`.
    pub fn sum_log_ndtr(self, z: &[f64]) -> f64 {
        let mut out = [0.0];
        self.sums_log_ndtr(z, z.len(), z.len(), &mut out);
        out[0]
    }

    /// [`sums_log_ndtr`] with the instruction set of `self`.
    ///
    /// # Panics
    /// If `z` does not hold `rows` numbers of each column that `out` has room for.
    pub fn sums_log_ndtr(self, z: &[f64], stride: usize, rows: usize, out: &mut [f64]) {
        self.run(SumsLogNdtr { z, stride, rows, out });
    }

    /// [`sum_log_ndtr_with_slopes`] with the instruction set of `self`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn sum_log_ndtr_with_slopes(self, z: &[f64], slopes: &mut [f64]) -> f64 {
        assert_eq!(z.len(), slopes.len(), "a slope per number");
        self.run(SumLogNdtrWithSlopes { z, slopes })
    }
}
