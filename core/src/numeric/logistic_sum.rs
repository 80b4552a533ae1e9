use super::backend::{Backend, Kernel};
use super::elementwise::single;
use super::exponential::{LN_2_HIGH, LN_2_LOW, nonpositive_exp_lanes};
use super::lanes::{BLOCK, Lanes, Register};
use super::logarithm::Ln1p;
use super::pair::Pair;
use super::reduce::{fold, padded};
use bytemuck::Zeroable;

/// Factors an accumulator takes before it is renormalised: each is at most 2, and `2^900 < f64::MAX`.
const FACTORS: usize = 900;

/// `q <- (1 + q)(1 + e) - 1`, `e = e^-|x|`, and `sum <- sum + min(x, 0)`.
#[inline(always)]
fn step<L: Lanes>(l: L, q: L::F, sum: L::F, x: L::F) -> (L::F, L::F) {
    let e = nonpositive_exp_lanes(l, l.nonpositive(x));
    let grown = l.fma(l.add(q, l.num(1.0)), e, q);
    (grown, l.add(sum, l.at_most(l.num(0.0), x)))
}

/// One block, two registers of lanes at a time.
#[inline(always)]
fn block<L: Register>(l: L, q: &mut L::Block, sum: &mut L::Block, x: &[f64; BLOCK]) {
    let (q, _) = q.as_mut().as_chunks_mut::<2>();
    let (sum, _) = sum.as_mut().as_chunks_mut::<2>();
    let (x, _) = L::as_simd_f64s(x).0.as_chunks::<2>();
    for ((q, s), x) in q.iter_mut().zip(sum).zip(x) {
        let (grown, total) = step(Pair(l), (q[0], q[1]), (s[0], s[1]), (x[0], x[1]));
        (*q, *s) = ([grown.0, grown.1], [total.0, total.1]);
    }
}

/// `1 + q = 2^k (1 + f)`: leaves `f` in `q` and returns the sum of the `k`. A `q` below 1 is left as it is, to its last
/// digit.
#[inline(always)]
fn renormalise<B: bytemuck::Pod>(q: &mut B) -> f64 {
    let mut lanes: [f64; BLOCK] = pulp::cast(*q);
    let mut exponents = 0.0;
    for v in &mut lanes {
        if *v >= 1.0 && v.is_finite() {
            let u = 1.0 + *v;
            let k = (u.to_bits() >> 52) - 1023;
            *v = u * f64::from_bits((1023 - k) << 52) - 1.0;
            exponents += k as f64;
        }
    }
    *q = pulp::cast(lanes);
    exponents
}

/// `ln prod (1 + q_i)` in the fixed tree of [`fold`], by the same recurrence.
#[inline(always)]
fn log_product<B: bytemuck::Pod>(q: &B) -> f64 {
    let mut a: [f64; BLOCK] = pulp::cast(*q);
    let mut width = BLOCK / 2;
    while width > 0 {
        for i in 0..width {
            a[i] = (a[i] + a[i + width]) + a[i] * a[i + width];
        }
        width /= 2;
    }
    a[0]
}

struct SumLogSigmoid<'a>(&'a [f64]);

impl Kernel for SumLogSigmoid<'_> {
    /// The sum of `min(x, 0)`, the exponent and `q` of the product.
    type Output = (f64, f64, f64);

    #[inline(always)]
    fn run<L: Register>(self, l: L) -> (f64, f64, f64) {
        let mut q = L::Block::zeroed();
        let (mut linear, mut exponent) = (0.0, 0.0);
        let (blocks, tail) = self.0.as_chunks::<BLOCK>();
        for group in blocks.chunks(FACTORS) {
            let mut sum = L::Block::zeroed();
            for x in group {
                block(l, &mut q, &mut sum, x);
            }
            linear += fold(sum);
            exponent += renormalise(&mut q);
        }
        if !tail.is_empty() {
            let mut sum = L::Block::zeroed();
            block(l, &mut q, &mut sum, &padded(tail, f64::INFINITY));
            linear += fold(sum);
            exponent += renormalise(&mut q);
        }
        (linear, exponent, log_product(&q))
    }
}

/// `sum_i ln(1 / (1 + e^-x_i))`: the log likelihood of a logistic regression with the signs folded into `x`.
///
/// ```text
/// sum_i min(x_i, 0) - ln prod_i (1 + e^-|x_i|)
/// ```
/// One logarithm for the whole slice. Each of 32 accumulators holds its product as `1 + q`, so that factors near 1 are
/// not lost beside the 1, and gives up its exponent every 900 factors, before it could overflow. All terms have one
/// sign: the relative error is that of summing `n/32` positive numbers in a row, about 1e-15 for ten thousand.
///
/// The order is that of [`sum`](super::sum()), whatever the alignment. Any `-inf` gives `-inf`, any NaN gives NaN, empty
/// gives 0.
///
/// ```
/// let x = [0.0; 4];
/// assert!((mcsa::numeric::sum_log_sigmoid(&x) + 4.0 * std::f64::consts::LN_2).abs() < 1e-15);
/// ```
#[inline]
pub fn sum_log_sigmoid(x: &[f64]) -> f64 {
    Backend::best().sum_log_sigmoid(x)
}

impl Backend {
    /// [`sum_log_sigmoid`] on these instructions.
    pub fn sum_log_sigmoid(self, x: &[f64]) -> f64 {
        let (linear, exponent, q) = self.run(SumLogSigmoid(x));
        let log = exponent * LN_2_HIGH + (exponent * LN_2_LOW + single(self, Ln1p, q));
        linear - log
    }
}
