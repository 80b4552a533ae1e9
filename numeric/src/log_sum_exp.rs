use super::backend::{Backend, Kernel};
use super::elementwise::single;
use super::exponential::nonpositive_exp_lanes;
use super::lanes::{BLOCK, Lanes, Register};
use super::logarithm::Ln1p;
use super::pair::Pair;
use super::reduce::{fold, padded};
use bytemuck::Zeroable;

/// The largest element; NaN if any element is NaN.
struct Largest<'a>(&'a [f64]);

#[inline(always)]
fn look<L: Register>(l: L, top: &mut L::Block, poison: &mut L::Block, x: &[f64; BLOCK]) {
    let rows = top.as_mut().iter_mut().zip(poison.as_mut());
    for ((t, p), &x) in rows.zip(L::as_simd_f64s(x).0) {
        *t = l.choose(l.less(*t, x), x, *t);
        *p = l.choose(l.equal(x, x), *p, x);
    }
}

impl Kernel for Largest<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Register>(self, l: L) -> f64 {
        let mut top: L::Block = pulp::cast([f64::NEG_INFINITY; BLOCK]);
        let mut poison = L::Block::zeroed();
        let (blocks, tail) = self.0.as_chunks::<BLOCK>();
        for x in blocks {
            look(l, &mut top, &mut poison, x);
        }
        if !tail.is_empty() {
            look(l, &mut top, &mut poison, &padded(tail, f64::NEG_INFINITY));
        }
        let mut top: [f64; BLOCK] = pulp::cast(top);
        let mut width = BLOCK / 2;
        while width > 0 {
            for i in 0..width {
                top[i] = if top[i] < top[i + width] { top[i + width] } else { top[i] };
            }
            width /= 2;
        }
        top[0] + fold(l, poison)
    }
}

/// Sum of `e^(x_i - top)` over the `x_i < top`, and the number of all other elements.
struct Rest<'a> {
    x: &'a [f64],
    top: f64,
}

#[inline(always)]
fn rest_step<L: Lanes>(l: L, top: f64, sum: L::F, count: L::F, x: L::F) -> (L::F, L::F) {
    let below = l.less(x, l.num(top));
    let e = nonpositive_exp_lanes(l, l.sub(x, l.num(top)));
    let (zero, one) = (l.num(0.0), l.num(1.0));
    (l.add(sum, l.choose(below, e, zero)), l.add(count, l.choose(below, zero, one)))
}

#[inline(always)]
fn rest_block<L: Register>(l: L, top: f64, sum: &mut L::Block, count: &mut L::Block, x: &[f64; BLOCK]) {
    let (s, _) = sum.as_mut().as_chunks_mut::<2>();
    let (c, _) = count.as_mut().as_chunks_mut::<2>();
    let (x, _) = L::as_simd_f64s(x).0.as_chunks::<2>();
    for ((s, c), x) in s.iter_mut().zip(c).zip(x) {
        let (e, n) = rest_step(Pair(l), top, (s[0], s[1]), (c[0], c[1]), (x[0], x[1]));
        (*s, *c) = ([e.0, e.1], [n.0, n.1]);
    }
}

impl Kernel for Rest<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<L: Register>(self, l: L) -> (f64, f64) {
        let (mut sum, mut count) = (L::Block::zeroed(), L::Block::zeroed());
        let (blocks, tail) = self.x.as_chunks::<BLOCK>();
        for x in blocks {
            rest_block(l, self.top, &mut sum, &mut count, x);
        }
        if !tail.is_empty() {
            rest_block(l, self.top, &mut sum, &mut count, &padded(tail, f64::NEG_INFINITY));
        }
        (fold(l, sum), fold(l, count))
    }
}

/// Log-sum-exp, `ln sum_i e^x_i`.
///
/// ```text
/// top + ln1p(sum_{x_i < top} e^(x_i - top) + #{x_i = top} - 1),   top = max_i x_i
/// ```
/// The largest term is not part of the sum, so that smaller terms are not lost by rounding beside a dominating one. An empty slice
/// and a slice of `-inf` give `-inf`, any NaN gives NaN, otherwise any `+inf` gives `+inf`. The error is a few ulp of
/// `max(|top|, |result|)`.
///
/// ```
/// use mcsa_numeric::log_sum_exp;
/// assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
/// assert_eq!(log_sum_exp(&[1000.0, 1000.0]), 1000.0 + std::f64::consts::LN_2);
/// ```
#[inline]
pub fn log_sum_exp(x: &[f64]) -> f64 {
    Backend::best().log_sum_exp(x)
}

impl Backend {
    /// [`log_sum_exp`] with the instruction set of `self`.
    pub fn log_sum_exp(self, x: &[f64]) -> f64 {
        let top = self.run(Largest(x));
        if !top.is_finite() {
            return top;
        }
        let (sum, count) = self.run(Rest { x, top });
        // The padding counts as elements below `top`.
        top + single(self, Ln1p, sum + (count - 1.0))
    }
}
