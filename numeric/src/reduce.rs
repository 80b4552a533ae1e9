use super::elementwise::single;
use super::exponential::nonpositive_exp_lanes;
use super::lanes::{BLOCK, Kernel, Lanes, Pair, Register, on_backends, on_lanes};
use super::logarithm::Ln1p;
use crate::{Columns, one};
use bytemuck::Zeroable;
use faer::MatRef;

/// Sum of the 32 accumulators in a fixed order: the second half is added to the first, repeatedly. Registers are halved as registers, so
/// that none goes through memory.
#[inline(always)]
pub(crate) fn fold<L: Register>(l: L, mut block: L::Block) -> f64 {
    let rows = block.as_mut();
    let mut half = BLOCK / L::F64_LANES / 2;
    while half > 0 {
        for r in 0..half {
            rows[r] = l.add(rows[r], rows[r + half]);
        }
        half /= 2;
    }
    // Halves of a register are added in the same way.
    l.reduce_sum_f64s(rows[0])
}

/// The 32 accumulators combined in the order of [`fold`], first as registers, then number by number.
#[inline(always)]
pub(crate) fn combined<L: Register>(
    _: L,
    mut block: L::Block,
    registers: impl Fn(L::f64s, L::f64s) -> L::f64s,
    numbers: impl Fn(f64, f64) -> f64,
) -> f64 {
    let rows = block.as_mut();
    let mut half = rows.len() / 2;
    while half > 0 {
        for r in 0..half {
            rows[r] = registers(rows[r], rows[r + half]);
        }
        half /= 2;
    }
    let mut lanes: [f64; BLOCK] = pulp::cast(block);
    half = L::F64_LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = numbers(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// The incomplete last block `tail`, padded with `pad`.
#[inline(always)]
pub(crate) fn padded(tail: &[f64], pad: f64) -> [f64; BLOCK] {
    let mut block = [pad; BLOCK];
    block[..tail.len()].copy_from_slice(tail);
    block
}

/// Accumulates `step(acc, values)` over the 32 accumulators, which stay in registers; `values` are elements of each of the slices, which
/// have one length.
#[inline(always)]
fn accumulate<L: Register, const N: usize>(
    l: L,
    slices: [&[f64]; N],
    step: impl Fn(L::f64s, [L::f64s; N]) -> L::f64s,
) -> L::Block {
    let mut sum = L::Block::zeroed();
    let len = slices[0].len();
    let whole = len - len % BLOCK;
    // Loops and no `map` of arrays: what is not inlined passes its registers through memory.
    for from in (0..whole).step_by(BLOCK) {
        let blocks = slices.map(|x| &x[from..from + BLOCK]);
        for (r, sum) in sum.as_mut().iter_mut().enumerate() {
            let mut values = [l.num(0.0); N];
            for (value, block) in values.iter_mut().zip(blocks) {
                *value = L::as_simd_f64s(block).0[r];
            }
            *sum = step(*sum, values);
        }
    }
    let rest = slices.map(|x| &x[whole..len]);
    for (r, sum) in sum.as_mut().iter_mut().enumerate() {
        let (first, end) = (r * L::F64_LANES, (r + 1) * L::F64_LANES);
        if first >= len - whole {
            break;
        }
        let mut values = [l.num(0.0); N];
        for (value, rest) in values.iter_mut().zip(rest) {
            *value = match rest.get(first..end) {
                Some(register) => L::as_simd_f64s(register).0[0],
                None => l.partial_load_f64s(&rest[first..]),
            };
        }
        *sum = step(*sum, values);
    }
    sum
}

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
        let top = combined(l, top, |a, b| l.choose(l.less(a, b), b, a), |a, b| if a < b { b } else { a });
        top + fold(l, poison)
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

on_lanes! {
    /// Sum, `sum_i x_i`.
    ///
    /// Every reduction of this module adds into 32 accumulators, element `i` into accumulator `i mod 32`, and adds these in a fixed
    /// order. The result depends on the numbers and the length, not on the alignment; that of `sum`, which multiplies nothing, does
    /// not depend on the backend either. Error at most `n/32 + 5` roundings. An empty slice gives 0.
    fn sum(x: &[f64]) -> f64 {
        |l| fold(l, accumulate(l, [x], |a, [v]| l.add(a, v)))
    }

    /// Dot product, `sum_i x_i y_i`, in the order of [`sum`]; fused multiply-add on backends that have it.
    fn dot(x: &[f64], y: &[f64]) -> f64 {
        |l| {
            assert_eq!(x.len(), y.len(), "factors differ in length");
            fold(l, accumulate(l, [x, y], |a, [v, w]| l.fma(v, w, a)))
        }
    }

    /// Scaled vector addition, `y_i += a x_i`; fused multiply-add on backends that have it.
    fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
        |l| {
            assert_eq!(x.len(), y.len(), "operands differ in length");
            let a = l.num(a);
            let (x_body, x_tail) = L::as_simd_f64s(x);
            let (y_body, y_tail) = L::as_mut_simd_f64s(y);
            for (y, &x) in y_body.iter_mut().zip(x_body) {
                *y = l.fma(a, x, *y);
            }
            if !x_tail.is_empty() {
                let y = l.fma(a, l.partial_load_f64s(x_tail), l.partial_load_f64s(y_tail));
                l.partial_store_f64s(y_tail, y);
            }
        }
    }

    /// [`sum_squares_scaled`] of each column of `z`, written to `out`, bit-identical to single calls.
    fn sums_squares_scaled(z: MatRef<'_, f64>, mean: &[f64], scale: &[f64], out: &mut [f64]) {
        |l| {
            assert_eq!(z.nrows(), mean.len(), "point and mean differ in length");
            assert_eq!(z.nrows(), scale.len(), "point and scale differ in length");
            assert_eq!(z.ncols(), out.len(), "a sum per column");
            for (j, out) in out.iter_mut().enumerate() {
                let step = |a, [z, mean, scale]: [L::f64s; 3]| {
                    let t = l.mul(l.sub(z, mean), scale);
                    l.fma(t, t, a)
                };
                *out = fold(l, accumulate(l, [z.column(j), mean, scale], step));
            }
        }
    }

    /// [`dot`] of each column of `z` with itself, written to `out`, bit-identical to single calls.
    fn sums_squares(z: MatRef<'_, f64>, out: &mut [f64]) {
        |l| {
            assert_eq!(z.ncols(), out.len(), "a sum per column");
            for (j, out) in out.iter_mut().enumerate() {
                *out = fold(l, accumulate(l, [z.column(j)], |a, [v]| l.fma(v, v, a)));
            }
        }
    }

    /// Weighted sum of columns, `out_i = sum_j weights_j z_ij`, bit-identical to [`axpy`] of each column in order.
    fn weighted_sum(z: MatRef<'_, f64>, weights: &[f64], out: &mut [f64]) {
        |l| {
            assert_eq!((z.nrows(), z.ncols()), (out.len(), weights.len()), "a weight per column");
            let lanes = L::F64_LANES;
            let (body, tail) = L::as_mut_simd_f64s(out);
            let whole = body.len() * lanes;
            for (r, out) in body.iter_mut().enumerate() {
                let mut sum = l.num(0.0);
                for (j, &weight) in weights.iter().enumerate() {
                    let z = &z.column(j)[r * lanes..(r + 1) * lanes];
                    sum = l.fma(l.num(weight), L::as_simd_f64s(z).0[0], sum);
                }
                *out = sum;
            }
            if !tail.is_empty() {
                let mut sum = l.num(0.0);
                for (j, &weight) in weights.iter().enumerate() {
                    sum = l.fma(l.num(weight), l.partial_load_f64s(&z.column(j)[whole..]), sum);
                }
                l.partial_store_f64s(tail, sum);
            }
        }
    }

    /// True if `|x_i| < bound` for all i, with a positive bound; false if a number is NaN. With an infinite bound: true if all numbers
    /// are finite.
    ///
    /// ```
    /// use mcsa_numeric::all_below;
    /// assert!(all_below(&[1.0, -2.0], 3.0) && !all_below(&[1.0, -3.0], 3.0) && !all_below(&[f64::NAN], 3.0));
    /// ```
    fn all_below(x: &[f64], bound: f64) -> bool {
        |l| {
            // An accumulator becomes 1 at the first number that is not below the bound. A comparison with NaN is false.
            let (bound, above) = (l.num(bound), l.num(1.0));
            let acc = accumulate(l, [x], |a, [v]| l.choose(l.less(l.magnitude(v), bound), a, above));
            fold(l, acc) == 0.0
        }
    }
}

on_backends! {
    /// Quadratic form of a mean-field Gaussian, `sum_i ((z_i - mean_i) scale_i)^2`, in the order of [`sum`]; `scale` holds the
    /// reciprocals of the standard deviations.
    fn sum_squares_scaled(z: &[f64], mean: &[f64], scale: &[f64]) -> f64 {
        |backend| {
            let mut out = [0.0];
            backend.sums_squares_scaled(one(z), mean, scale, &mut out);
            out[0]
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
    fn log_sum_exp(x: &[f64]) -> f64 {
        |backend| {
            let top = backend.run(Largest(x));
            if !top.is_finite() {
                return top;
            }
            let (sum, count) = backend.run(Rest { x, top });
            // The padding counts as elements below `top`.
            top + single(backend, Ln1p, sum + (count - 1.0))
        }
    }
}

/// `ln(e^a + e^b)`; NaN if a number is NaN.
pub fn log_add_exp(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    // The difference of equal infinities would be NaN.
    if low.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}
