//! Products and solves of packed lower triangular matrices with a batch of points.
//!
//! The triangle is packed column by column: column `k` of a `d x d` triangle has `d - k` numbers, its diagonal first. A triangle
//! exceeds any cache long before its points do: columns are read in panels of four, once, for all points. The arithmetic of
//! one point does not depend on the others, and no product is fused with a sum: each point gets the bits that it gets alone, on
//! every machine.

use pulp::{Arch, NullaryFnOnce};

/// Number of columns that a kernel reads at once.
pub const PANEL: usize = 4;
const LANES: usize = 8;
/// Rows of a gradient that are updated together, so that these rows of all points stay in the first cache: ten points take 20 kB.
const TILE: usize = 256;

/// Number of packed entries of a `dim x dim` triangle.
#[inline]
pub const fn len(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// Index of the diagonal entry of column `k`, at which the column starts.
#[inline]
pub const fn start(dim: usize, k: usize) -> usize {
    k * (2 * dim + 1 - k) / 2
}

/// Copies the diagonal out of a triangle.
pub fn take_diagonal(triangle: &[f64], diagonal: &mut [f64]) {
    let dim = diagonal.len();
    diagonal.iter_mut().enumerate().for_each(|(k, entry)| *entry = triangle[start(dim, k)]);
}

/// Copies the diagonal into a triangle.
pub fn put_diagonal(triangle: &mut [f64], diagonal: &[f64]) {
    let dim = diagonal.len();
    diagonal.iter().enumerate().for_each(|(k, entry)| triangle[start(dim, k)] = *entry);
}

/// Rows `from..dim` of the four columns `k..k + 4`.
#[inline(always)]
fn panel(triangle: &[f64], dim: usize, k: usize, from: usize) -> [&[f64]; PANEL] {
    std::array::from_fn(|p| {
        let column = start(dim, k + p);
        &triangle[column + from - (k + p)..column + dim - (k + p)]
    })
}

/// Forward substitution `x <- L^-1 x` for each point `x`; `inverse` holds the reciprocals of the diagonal, which is not read.
pub struct Solve<'a> {
    /// Lower triangular matrix, packed by columns.
    pub triangle: &'a [f64],
    /// Reciprocals of the diagonal, or of the scales.
    pub inverse: &'a [f64],
    /// The points `x`, one after the other, which are solved in place.
    pub points: &'a mut [f64],
}

impl Solve<'_> {
    /// Computes it with the instructions of this machine.
    pub fn run(self) {
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

/// Back substitution `x <- L^-T x` for each point `x`; `inverse` as in [`Solve`].
pub struct SolveTransposed<'a> {
    /// Lower triangular matrix, packed by columns.
    pub triangle: &'a [f64],
    /// Reciprocals of the diagonal, or of the scales.
    pub inverse: &'a [f64],
    /// The points, one after the other.
    pub points: &'a mut [f64],
}

impl SolveTransposed<'_> {
    /// Computes it with the instructions of this machine.
    pub fn run(self) {
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

/// Dot products of four columns with one vector, each as eight interleaved partial sums.
#[inline(always)]
fn dots(columns: [&[f64]; PANEL], x: &[f64]) -> [f64; PANEL] {
    let [mut sa, mut sb, mut sc, mut sd] = [[0.0; LANES]; PANEL];
    let (x, rest) = x.as_chunks::<LANES>();
    let [(a, ra), (b, rb), (c, rc), (d, rd)] = columns.map(|column| column.as_chunks::<LANES>());
    for ((((x, a), b), c), d) in x.iter().zip(a).zip(b).zip(c).zip(d) {
        sa = add_product(sa, a, x);
        sb = add_product(sb, b, x);
        sc = add_product(sc, c, x);
        sd = add_product(sd, d, x);
    }
    let tail = |mut s: [f64; LANES], a: &[f64]| {
        for (s, (a, x)) in s.iter_mut().zip(a.iter().zip(rest)) {
            *s += a * x;
        }
        ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
    };
    [tail(sa, ra), tail(sb, rb), tail(sc, rc), tail(sd, rd)]
}

#[inline(always)]
fn add_product(mut sum: [f64; LANES], a: &[f64; LANES], x: &[f64; LANES]) -> [f64; LANES] {
    for l in 0..LANES {
        sum[l] += a[l] * x[l];
    }
    sum
}

/// Product `out += L x` for each point `x`; `diagonal` replaces the diagonal of the triangle, which is not read.
pub struct MultiplyAdd<'a> {
    /// Lower triangular matrix, packed by columns.
    pub triangle: &'a [f64],
    /// The diagonal.
    pub diagonal: &'a [f64],
    /// The points, one after the other.
    pub points: &'a [f64],
    /// The result, one point after the other.
    pub out: &'a mut [f64],
}

impl MultiplyAdd<'_> {
    /// Computes it with the instructions of this machine.
    pub fn run(self) {
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

/// Outer products `triangle += sum_j y_j x_j^T` strictly below the diagonal, added in the order of `j`; the diagonal is not
/// changed.
pub struct AddOuters<'a> {
    /// The dimension.
    pub dim: usize,
    /// The points `y`, one after the other.
    pub rows: &'a [f64],
    /// The points `x`, one after the other.
    pub columns: &'a [f64],
    /// Lower triangular matrix, packed by columns.
    pub triangle: &'a mut [f64],
}

impl AddOuters<'_> {
    /// Computes it with the instructions of this machine.
    pub fn run(self) {
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
        }
        // A tile of rows of all points stays in the first cache while all panels are updated.
        for top in (PANEL..dim).step_by(TILE) {
            let bottom = (top + TILE).min(dim);
            for k in (0..bottom.saturating_sub(PANEL)).step_by(PANEL) {
                let end = k + PANEL;
                let from = top.max(end);
                if from < bottom {
                    let tails = panel_mut(self.triangle, dim, k);
                    let tails = tails.map(|tail| &mut tail[from - end..bottom - end]);
                    add_tile(tails, dim, (self.rows, from..bottom), (self.columns, k));
                }
            }
        }
    }
}

/// Adds the outer products of all points, restricted to the rows `range`, to the four columns from `k`.
#[inline(always)]
fn add_tile(
    mut tails: [&mut [f64]; PANEL],
    dim: usize,
    (rows, range): (&[f64], std::ops::Range<usize>),
    (columns, k): (&[f64], usize),
) {
    let group = PANEL * dim;
    let (rows, columns) = (rows.chunks_exact(group), columns.chunks_exact(group));
    let rest = rows.remainder().chunks_exact(dim).zip(columns.remainder().chunks_exact(dim));
    for (y, x) in rows.zip(columns) {
        let y = std::array::from_fn(|p| &y[p * dim + range.start..p * dim + range.end]);
        add_square(&mut tails, y, |c, p| x[p * dim + k + c]);
    }
    for (y, x) in rest {
        for (tail, x) in tails.iter_mut().zip(&x[k..k + PANEL]) {
            for (entry, y) in tail.iter_mut().zip(&y[range.clone()]) {
                *entry += y * x;
            }
        }
    }
}

/// Four mutable columns as in [`panel`], from the row after the panel's last column.
#[inline(always)]
fn panel_mut(triangle: &mut [f64], dim: usize, k: usize) -> [&mut [f64]; PANEL] {
    let mut rest = &mut triangle[start(dim, k)..start(dim, k + PANEL)];
    std::array::from_fn(|p| {
        let (column, tail) = std::mem::take(&mut rest).split_at_mut(dim - (k + p));
        rest = tail;
        &mut column[PANEL - p..]
    })
}

/// Adds the outer products of four points to four columns: `tails[c] += sum_p y[p] * x(c, p)`, in the order of `p`.
#[inline(always)]
fn add_square(tails: &mut [&mut [f64]; PANEL], y: [&[f64]; PANEL], x: impl Fn(usize, usize) -> f64) {
    let n = y[0].len();
    let (ya, yb, yc, yd) = (&y[0][..n], &y[1][..n], &y[2][..n], &y[3][..n]);
    for (c, tail) in tails.iter_mut().enumerate() {
        let (xa, xb, xc, xd) = (x(c, 0), x(c, 1), x(c, 2), x(c, 3));
        let tail = &mut tail[..n];
        for i in 0..n {
            tail[i] = (((tail[i] + ya[i] * xa) + yb[i] * xb) + yc[i] * xc) + yd[i] * xd;
        }
    }
}
