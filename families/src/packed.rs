//! Lower triangles, packed column by column, against many points at once.
//!
//! Column `k` of a `d x d` triangle has `d - k` numbers, its diagonal first. A triangle is larger than any
//! cache long before its points are: columns are read in panels of four, once, for all points. What happens to
//! one point does not depend on the others, and no product is fused with a sum: the bits are those of one point
//! alone, on every machine.

use pulp::{Arch, NullaryFnOnce};

const PANEL: usize = 4;
const LANES: usize = 8;

/// The length of a triangle.
pub(crate) const fn len(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// Where column `k` starts.
pub(crate) const fn start(dim: usize, k: usize) -> usize {
    k * (2 * dim + 1 - k) / 2
}

/// The rows from `from` down of the four columns from `k`.
#[inline(always)]
fn panel(triangle: &[f64], dim: usize, k: usize, from: usize) -> [&[f64]; PANEL] {
    std::array::from_fn(|p| {
        let column = start(dim, k + p);
        &triangle[column + from - (k + p)..column + dim - (k + p)]
    })
}

/// `x <- L^-1 x` for each point `x`; `inverse` are the reciprocals of the diagonal, which is not read.
pub(crate) struct Solve<'a> {
    pub(crate) triangle: &'a [f64],
    pub(crate) inverse: &'a [f64],
    pub(crate) points: &'a mut [f64],
}

impl Solve<'_> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl NullaryFnOnce for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let dim = self.inverse.len();
        for k in (0..dim).step_by(PANEL) {
            let end = (k + PANEL).min(dim);
            for x in self.points.chunks_exact_mut(dim) {
                for c in k..end {
                    let value = x[c] * self.inverse[c];
                    x[c] = value;
                    let column = start(dim, c);
                    let below = &self.triangle[column + 1..column + end - c];
                    for (x, entry) in x[c + 1..end].iter_mut().zip(below) {
                        *x -= entry * value;
                    }
                }
                if end < dim {
                    let (head, tail) = x.split_at_mut(end);
                    let [a, b, c, d] = panel(self.triangle, dim, k, end);
                    let [xa, xb, xc, xd] = [head[k], head[k + 1], head[k + 2], head[k + 3]];
                    let n = tail.len();
                    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
                    for i in 0..n {
                        tail[i] = (((tail[i] - a[i] * xa) - b[i] * xb) - c[i] * xc) - d[i] * xd;
                    }
                }
            }
        }
    }
}

/// `x <- L^-T x` for each point `x`.
pub(crate) struct SolveTransposed<'a> {
    pub(crate) triangle: &'a [f64],
    pub(crate) inverse: &'a [f64],
    pub(crate) points: &'a mut [f64],
}

impl SolveTransposed<'_> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl NullaryFnOnce for SolveTransposed<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let dim = self.inverse.len();
        for k in (0..dim).step_by(PANEL).rev() {
            let end = (k + PANEL).min(dim);
            for x in self.points.chunks_exact_mut(dim) {
                let mut sums = [0.0; PANEL];
                if end < dim {
                    sums = dots(panel(self.triangle, dim, k, end), &x[end..]);
                }
                for c in (k..end).rev() {
                    let column = start(dim, c);
                    let below = &self.triangle[column + 1..column + end - c];
                    for (entry, x) in below.iter().zip(&x[c + 1..end]) {
                        sums[c - k] += entry * x;
                    }
                    x[c] = (x[c] - sums[c - k]) * self.inverse[c];
                }
            }
        }
    }
}

/// Four products with one vector, each in eight interleaved sums.
#[inline(always)]
fn dots(columns: [&[f64]; PANEL], x: &[f64]) -> [f64; PANEL] {
    let mut sums = [[0.0; LANES]; PANEL];
    let (blocks, tail) = x.as_chunks::<LANES>();
    let columns = columns.map(|column| column.as_chunks::<LANES>());
    for (b, block) in blocks.iter().enumerate() {
        for (sums, (column, _)) in sums.iter_mut().zip(&columns) {
            let column = &column[b];
            for lane in 0..LANES {
                sums[lane] += column[lane] * block[lane];
            }
        }
    }
    for (sums, (_, column)) in sums.iter_mut().zip(&columns) {
        for (sum, (a, x)) in sums.iter_mut().zip(column.iter().zip(tail)) {
            *sum += a * x;
        }
    }
    sums.map(|s| ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])))
}

/// `out += L x` for each point `x`; `diagonal` stands for that of the triangle, which is not read.
pub(crate) struct MultiplyAdd<'a> {
    pub(crate) triangle: &'a [f64],
    pub(crate) diagonal: &'a [f64],
    pub(crate) points: &'a [f64],
    pub(crate) out: &'a mut [f64],
}

impl MultiplyAdd<'_> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl NullaryFnOnce for MultiplyAdd<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let dim = self.diagonal.len();
        for k in (0..dim).step_by(PANEL) {
            let end = (k + PANEL).min(dim);
            for (x, out) in self.points.chunks_exact(dim).zip(self.out.chunks_exact_mut(dim)) {
                for c in k..end {
                    out[c] += self.diagonal[c] * x[c];
                    let column = start(dim, c);
                    let below = &self.triangle[column + 1..column + end - c];
                    for (out, entry) in out[c + 1..end].iter_mut().zip(below) {
                        *out += entry * x[c];
                    }
                }
                if end < dim {
                    let tail = &mut out[end..];
                    let [a, b, c, d] = panel(self.triangle, dim, k, end);
                    let n = tail.len();
                    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
                    for i in 0..n {
                        tail[i] =
                            (((tail[i] + a[i] * x[k]) + b[i] * x[k + 1]) + c[i] * x[k + 2]) + d[i] * x[k + 3];
                    }
                }
            }
        }
    }
}

/// `triangle += sum_j y_j x_j^T` strictly below the diagonal, added in the order of `j`; the diagonal is left alone.
pub(crate) struct AddOuters<'a> {
    pub(crate) dim: usize,
    pub(crate) rows: &'a [f64],
    pub(crate) columns: &'a [f64],
    pub(crate) triangle: &'a mut [f64],
}

impl AddOuters<'_> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl NullaryFnOnce for AddOuters<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let dim = self.dim;
        for k in (0..dim).step_by(PANEL) {
            let end = (k + PANEL).min(dim);
            for (y, x) in self.rows.chunks_exact(dim).zip(self.columns.chunks_exact(dim)) {
                for c in k..end {
                    let column = start(dim, c);
                    let below = &mut self.triangle[column + 1..column + end - c];
                    for (entry, y) in below.iter_mut().zip(&y[c + 1..end]) {
                        *entry += y * x[c];
                    }
                }
            }
            if end == dim {
                continue;
            }
            let mut tails = panel_mut(self.triangle, dim, k);
            let group = PANEL * dim;
            let (rows, columns) = (self.rows.chunks_exact(group), self.columns.chunks_exact(group));
            let rest = rows.remainder().chunks_exact(dim).zip(columns.remainder().chunks_exact(dim));
            for (y, x) in rows.zip(columns) {
                let y = std::array::from_fn(|p| &y[p * dim + end..(p + 1) * dim]);
                add_square(&mut tails, y, |c, p| x[p * dim + k + c]);
            }
            for (y, x) in rest {
                for (tail, x) in tails.iter_mut().zip(&x[k..end]) {
                    for (entry, y) in tail.iter_mut().zip(&y[end..]) {
                        *entry += y * x;
                    }
                }
            }
        }
    }
}

/// As [`panel`], from the row after the panel's last column.
#[inline(always)]
fn panel_mut(triangle: &mut [f64], dim: usize, k: usize) -> [&mut [f64]; PANEL] {
    let mut rest = &mut triangle[start(dim, k)..start(dim, k + PANEL)];
    std::array::from_fn(|p| {
        let (column, tail) = std::mem::take(&mut rest).split_at_mut(dim - (k + p));
        rest = tail;
        &mut column[PANEL - p..]
    })
}

/// Four points into four columns: `tails[c] += sum_p y[p] * x(c, p)`, in the order of `p`.
#[inline(always)]
fn add_square(tails: &mut [&mut [f64]; PANEL], y: [&[f64]; PANEL], x: impl Fn(usize, usize) -> f64) {
    let n = y[0].len();
    let [ya, yb, yc, yd] = y.map(|y| &y[..n]);
    let [ta, tb, tc, td] = tails.each_mut().map(|tail| &mut tail[..n]);
    let x: [[f64; PANEL]; PANEL] = std::array::from_fn(|c| std::array::from_fn(|p| x(c, p)));
    for i in 0..n {
        let (a, b, c, d) = (ya[i], yb[i], yc[i], yd[i]);
        let sum = |entry: f64, x: [f64; PANEL]| (((entry + a * x[0]) + b * x[1]) + c * x[2]) + d * x[3];
        ta[i] = sum(ta[i], x[0]);
        tb[i] = sum(tb[i], x[1]);
        tc[i] = sum(tc[i], x[2]);
        td[i] = sum(td[i], x[3]);
    }
}
