//! Products and solves of packed lower triangular matrices with a batch of points.
//!
//! The triangle is packed column by column: column `k` of a `d x d` triangle has `d - k` numbers, its diagonal first. A triangle
//! exceeds any cache long before its points do: columns are read in panels of four, once, for all points. The arithmetic of
//! one point does not depend on the others, and no product is fused with a sum: each point gets the bits that it gets alone, on
//! every machine.

use crate::vectorised;
use faer::{Mat, MatRef};

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

/// Substitution for each point `x`; `inverse` holds the reciprocals of the diagonal, which is not read.
pub struct Solve<'a> {
    /// Lower triangular matrix, packed by columns.
    pub triangle: &'a [f64],
    /// Reciprocals of the diagonal, or of the scales.
    pub inverse: &'a [f64],
    /// The points `x`, one after the other, which are solved in place.
    pub points: &'a mut [f64],
}

impl Solve<'_> {
    /// Forward substitution, `x <- L^-1 x`.
    pub fn run(mut self) {
        vectorised(
            #[inline(always)]
            || self.forward(),
        );
    }

    /// Back substitution, `x <- L^-T x`.
    pub fn run_transposed(mut self) {
        vectorised(
            #[inline(always)]
            || self.backward(),
        );
    }

    #[inline(always)]
    fn forward(&mut self) {
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
                    // The difference of a product is the sum of its negative, to the bit.
                    let minus = [-head[k], -head[k + 1], -head[k + 2], -head[k + 3]];
                    add_columns(tail, panel(self.triangle, dim, k, end), minus);
                }
            }
        }
    }

    #[inline(always)]
    fn backward(&mut self) {
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

/// `to_i <- (((to_i + a_i x_a) + b_i x_b) + c_i x_c) + d_i x_d`, of four columns.
#[inline(always)]
fn add_columns(to: &mut [f64], columns: [&[f64]; PANEL], [xa, xb, xc, xd]: [f64; PANEL]) {
    let n = to.len();
    let [a, b, c, d] = columns.map(|column| &column[..n]);
    for i in 0..n {
        to[i] = (((to[i] + a[i] * xa) + b[i] * xb) + c[i] * xc) + d[i] * xd;
    }
}

/// Dot products of rows with one vector, each as eight interleaved sums; a row has the same bits alone and in a panel.
#[inline(always)]
pub(super) fn dots<const P: usize>(rows: [&[f64]; P], x: &[f64]) -> [f64; P] {
    let mut sums = [[0.0; LANES]; P];
    let whole = x.len() / LANES * LANES;
    let mut k = 0;
    while k < whole {
        let x = &x[k..k + LANES];
        for p in 0..P {
            let row = &rows[p][k..k + LANES];
            for l in 0..LANES {
                sums[p][l] += row[l] * x[l];
            }
        }
        k += LANES;
    }
    std::array::from_fn(|p| {
        let mut s = sums[p];
        for (s, (w, x)) in s.iter_mut().zip(rows[p][whole..].iter().zip(&x[whole..])) {
            *s += w * x;
        }
        ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
    })
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
    /// Adds the products to `out` with the instructions of this machine.
    pub fn run(mut self) {
        vectorised(
            #[inline(always)]
            || self.compute(),
        );
    }

    #[inline(always)]
    fn compute(&mut self) {
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
                    let factors = [x[k], x[k + 1], x[k + 2], x[k + 3]];
                    add_columns(&mut out[end..], panel(self.triangle, dim, k, end), factors);
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
    /// Adds the outer products to `triangle` with the instructions of this machine.
    pub fn run(mut self) {
        vectorised(
            #[inline(always)]
            || self.compute(),
        );
    }

    #[inline(always)]
    fn compute(&mut self) {
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
        for (c, tail) in tails.iter_mut().enumerate() {
            add_columns(tail, y, std::array::from_fn(|p| x[p * dim + k + c]));
        }
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

/// Lower triangular matrix `L` with positive diagonal, stored by columns and by rows, for solves with several right-hand sides at once.
///
/// Four columns of `L` are read once for all right-hand sides. Each number undergoes a fixed sequence of operations whatever
/// the other right-hand sides, and nothing is fused: the bits depend neither on the batch nor on the machine.
#[derive(Debug, Clone)]
pub struct Triangle {
    /// `L`, packed column by column.
    packed: Vec<f64>,
    /// The transpose: its columns are the rows of `L`.
    rows: Mat<f64>,
    inverse_diagonal: Vec<f64>,
}

impl Triangle {
    /// Copies a lower triangular matrix with a positive diagonal.
    pub fn new(factor: MatRef<'_, f64>) -> Self {
        let dim = factor.nrows();
        Self {
            packed: (0..dim).flat_map(|k| (k..dim).map(move |i| factor[(i, k)])).collect(),
            rows: Mat::from_fn(dim, dim, |k, i| if i >= k { factor[(i, k)] } else { 0.0 }),
            inverse_diagonal: (0..dim).map(|k| factor[(k, k)].recip()).collect(),
        }
    }

    /// The dimension.
    #[inline]
    pub fn dim(&self) -> usize {
        self.inverse_diagonal.len()
    }

    /// `log det L`.
    pub fn log_det(&self) -> f64 {
        (0..self.dim()).map(|k| self.rows[(k, k)].ln()).sum()
    }

    /// Row `i` of `L`, up to the diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.rows.col_as_slice(i)[..=i]
    }

    /// `y <- L^-1 y`, for each right-hand side.
    pub fn whiten(&self, ys: &mut [f64]) {
        Solve { triangle: &self.packed, inverse: &self.inverse_diagonal, points: ys }.run();
    }

    /// `y <- L^-T y`, for each right-hand side.
    pub fn whiten_back(&self, ys: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || self.backward(ys),
        );
    }

    /// `y <- L y`.
    pub fn colour(&self, y: &mut [f64]) {
        for i in (0..y.len()).rev() {
            y[i] = self.row(i).iter().zip(&y[..=i]).map(|(l, y)| l * y).sum();
        }
    }

    #[inline(always)]
    fn backward(&self, ys: &mut [f64]) {
        let dim = self.dim();
        if dim == 0 {
            return;
        }
        let rest = dim % PANEL;
        for k in (rest..dim).step_by(PANEL).rev() {
            let [a, b, c, d] = [3, 2, 1, 0].map(|m| &self.rows.col_as_slice(k + m)[..k + m]);
            let [p, q, r, s] = [3, 2, 1, 0].map(|m| self.inverse_diagonal[k + m]);
            for y in ys.chunks_exact_mut(dim) {
                let (above, tail) = y.split_at_mut(k);
                let h0 = tail[3] * p;
                let h1 = (tail[2] - h0 * a[k + 2]) * q;
                let h2 = (tail[1] - h0 * a[k + 1] - h1 * b[k + 1]) * r;
                let h3 = (tail[0] - h0 * a[k] - h1 * b[k] - h2 * c[k]) * s;
                tail[..PANEL].copy_from_slice(&[h3, h2, h1, h0]);
                let rows = a[..k].iter().zip(&b[..k]).zip(&c[..k]).zip(&d[..k]);
                for (y, (((a, b), c), d)) in above.iter_mut().zip(rows) {
                    *y = *y - h0 * a - h1 * b - h2 * c - h3 * d;
                }
            }
        }
        for k in (0..rest).rev() {
            let row = self.rows.col_as_slice(k);
            for y in ys.chunks_exact_mut(dim) {
                y[k] *= self.inverse_diagonal[k];
                for i in 0..k {
                    y[i] -= y[k] * row[i];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solving_undoes_multiplying() {
        for dim in 0..14 {
            let entry = |i: usize, k: usize| ((7 * i + 3 * k) as f64).sin();
            let factor = Mat::from_fn(dim, dim, |i, k| if i == k { 2.0 + entry(i, k) } else { entry(i, k) });
            let triangle = Triangle::new(factor.as_ref());
            let x: Vec<f64> = (0..dim).map(|i| (i as f64).cos()).collect();
            let mut y = x.clone();
            triangle.colour(&mut y);
            let mut ys = [y.clone(), y].concat();
            triangle.whiten(&mut ys);
            let size = x.iter().zip(&ys[dim..]).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(size < 1e-9, "{dim}: {size}");

            // (L^T)^-1 against its definition: L^T y = x.
            let mut y = x.clone();
            triangle.whiten_back(&mut y);
            for k in 0..dim {
                let back: f64 = (k..dim).map(|i| factor[(i, k)] * y[i]).sum();
                assert!((back - x[k]).abs() < 1e-9, "{dim}");
            }
        }
    }
}
