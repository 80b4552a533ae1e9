use super::backend::{Backend, Kernel};
use super::exponential::nonpositive_exp_lanes;
use super::lanes::{BLOCK, Lanes, Register};
use super::logarithm::Ln1p;
use super::pair::Pair;
use super::reduce::{fold, padded};
use super::scalar;
use bytemuck::Zeroable;

/// The largest element; NaN if there is one.
struct Largest<'a>(&'a [f64]);

impl Kernel for Largest<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Register>(self, l: L) -> f64 {
        let mut top: L::Block = pulp::cast([f64::NEG_INFINITY; BLOCK]);
        let mut poison = L::Block::zeroed();
        let mut look = |x: &[f64; BLOCK]| {
            let rows = top.as_mut().iter_mut().zip(poison.as_mut());
            for ((t, p), &x) in rows.zip(L::as_simd_f64s(x).0) {
                *t = l.choose(l.less(*t, x), x, *t);
                *p = l.choose(l.equal(x, x), *p, x);
            }
        };
        let (blocks, tail) = self.0.as_chunks::<BLOCK>();
        blocks.iter().for_each(&mut look);
        if !tail.is_empty() {
            look(&padded(tail, f64::NEG_INFINITY));
        }
        let top: [f64; BLOCK] = pulp::cast(top);
        let largest = top.into_iter().fold(f64::NEG_INFINITY, |a, b| if a < b { b } else { a });
        largest + fold(poison)
    }
}

/// `sum e^(x_i - top)` over the `x_i < top`, and the number of the others.
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

impl Kernel for Rest<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<L: Register>(self, l: L) -> (f64, f64) {
        let (mut sum, mut count) = (L::Block::zeroed(), L::Block::zeroed());
        let mut take = |x: &[f64; BLOCK]| {
            let (s, _) = sum.as_mut().as_chunks_mut::<2>();
            let (c, _) = count.as_mut().as_chunks_mut::<2>();
            let (x, _) = L::as_simd_f64s(x).0.as_chunks::<2>();
            for ((s, c), x) in s.iter_mut().zip(c).zip(x) {
                let (e, n) = rest_step(Pair(l), self.top, (s[0], s[1]), (c[0], c[1]), (x[0], x[1]));
                (*s, *c) = ([e.0, e.1], [n.0, n.1]);
            }
        };
        let (blocks, tail) = self.x.as_chunks::<BLOCK>();
        blocks.iter().for_each(&mut take);
        if !tail.is_empty() {
            take(&padded(tail, f64::NEG_INFINITY));
        }
        (fold(sum), fold(count))
    }
}

/// `ln sum_i e^x_i`.
///
/// ```text
/// top + ln1p(sum_{x_i < top} e^(x_i - top) + #{x_i = top} - 1),   top = max_i x_i
/// ```
/// The largest term never enters the sum, so that one that dominates keeps what the others add. Empty and all `-inf`
/// give `-inf`, any NaN gives NaN, otherwise any `+inf` gives `+inf`. The error is a few ulp of `max(|top|, |result|)`.
///
/// ```
/// use mcsa::numeric::log_sum_exp;
/// assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
/// assert_eq!(log_sum_exp(&[1000.0, 1000.0]), 1000.0 + std::f64::consts::LN_2);
/// ```
#[inline]
pub fn log_sum_exp(x: &[f64]) -> f64 {
    Backend::best().log_sum_exp(x)
}

impl Backend {
    /// [`log_sum_exp`] on these instructions.
    pub fn log_sum_exp(self, x: &[f64]) -> f64 {
        let top = self.run(Largest(x));
        if !top.is_finite() {
            return top;
        }
        let (sum, count) = self.run(Rest { x, top });
        // The padding counts as below the top.
        top + scalar::on(self, Ln1p, sum + (count - 1.0))
    }
}
