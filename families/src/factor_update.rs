//! Update of a packed Cholesky factor by weighted points.

use faer::MatRef;
use mcsa_core::Columns;
use pulp::{Arch, NullaryFnOnce};

use mcsa_numeric::linear::packed::{PANEL, start};

/// Factor of `L L^T + X X^T` in the place of L, by one Householder reflection per column (Golub & Van Loan 2013). X has `dim` rows
/// of [`width`] numbers and is overwritten. A zero on the diagonal is no harm, and the diagonal stays non-negative.
///
/// ```text
/// v = (L_kk, X_k),   u = v + |v| e_0,   row i of (L_ik, X_i):  r - u (u.r) / (|v| u_0),   and column k of L changes its sign
/// ```
pub(crate) struct AddSquare<'a> {
    pub(crate) dim: usize,
    pub(crate) triangle: &'a mut [f64],
    pub(crate) rows: &'a mut [f64],
}

/// Length of the rows of [`AddSquare`] for so many columns: unused entries are zero.
pub(crate) const fn width(columns: usize) -> usize {
    columns.next_multiple_of(PANEL)
}

/// Points about a centre, times a number each: entry `(i, j)` of `rows` becomes `scale(w_j) (z_ij - m_i)`, and the entries after the last
/// point zero. The rows have [`width`] numbers of at least one more than the points.
pub(crate) struct Centre<'a, S> {
    pub(crate) points: MatRef<'a, f64>,
    pub(crate) weights: &'a [f64],
    pub(crate) scale: S,
    pub(crate) mean: &'a [f64],
    pub(crate) rows: &'a mut [f64],
}

impl<S: Fn(f64) -> f64> Centre<'_, S> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl<S: Fn(f64) -> f64> NullaryFnOnce for Centre<'_, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (dim, count) = (self.mean.len(), self.weights.len());
        let width = width(count + 1);
        for first in (0..width).step_by(PANEL) {
            let scales: [f64; PANEL] = std::array::from_fn(|l| {
                self.weights.get(first + l).map_or(0.0, |weight| (self.scale)(*weight))
            });
            let [a, b, c, d] = [0, 1, 2, 3].map(|l| &self.points.column((first + l).min(count - 1))[..dim]);
            let of_points = a.iter().zip(b).zip(c).zip(d).zip(self.mean);
            for (row, ((((a, b), c), d), mean)) in self.rows.chunks_exact_mut(width).zip(of_points) {
                let row = &mut row[first..first + PANEL];
                let centred = [a - mean, b - mean, c - mean, d - mean];
                for ((entry, centred), scale) in row.iter_mut().zip(centred).zip(scales) {
                    *entry = centred * scale;
                }
            }
        }
    }
}

impl AddSquare<'_> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl NullaryFnOnce for AddSquare<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // Constant widths make loops of known length: ten chains have 12 columns.
        match self.rows.len() / self.dim.max(1) {
            4 => self.reflect(4),
            8 => self.reflect(8),
            12 => self.reflect(12),
            16 => self.reflect(16),
            width => self.reflect(width),
        }
    }
}

impl AddSquare<'_> {
    #[inline(always)]
    fn reflect(self, width: usize) {
        let mut rows = self.rows;
        for k in 0..self.dim {
            let (pivot, tail) = rows.split_at_mut(width);
            rows = tail;
            let column = &mut self.triangle[start(self.dim, k)..start(self.dim, k + 1)];
            let (diagonal, below) = column.split_first_mut().expect("a column has a diagonal");
            let mut length = (*diagonal * *diagonal + dot_panels(pivot, pivot)).sqrt();
            if !(1e-140..1e140).contains(&length) {
                length = pivot.iter().fold(diagonal.abs(), |length, x| length.hypot(*x));
            }
            if length == 0.0 {
                continue;
            }
            let top = *diagonal + length;
            let (inverse, twice) = (1.0 / top, top / length);
            *diagonal = length;
            pivot.iter_mut().for_each(|x| *x *= inverse);
            let pivot = &*pivot;
            for (entry, row) in below.iter_mut().zip(rows.chunks_exact_mut(width)) {
                let sum = twice * (*entry + dot_panels(row, pivot));
                *entry = sum - *entry;
                let (row, _) = row.as_chunks_mut::<PANEL>();
                for (x, u) in row.iter_mut().zip(pivot.as_chunks::<PANEL>().0) {
                    for l in 0..PANEL {
                        x[l] -= sum * u[l];
                    }
                }
            }
        }
    }
}

/// Dot product of two rows whose length is a multiple of the panel, as four interleaved partial sums.
#[inline(always)]
fn dot_panels(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; PANEL];
    for (a, b) in a.as_chunks::<PANEL>().0.iter().zip(b.as_chunks::<PANEL>().0) {
        for l in 0..PANEL {
            sums[l] += a[l] * b[l];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use mcsa_numeric::linear::packed::len;

    /// A factor and the rows of some points, row i times the i-th scale.
    fn factor(dim: usize, columns: usize, scales: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut stream = Seed::new(1).stream(0, dim as u64);
        let (mut triangle, mut rows) = (vec![0.0; len(dim)], vec![0.0; dim * width(columns)]);
        for k in 0..dim {
            for i in k..dim {
                triangle[start(dim, k) + i - k] = scales[i] * if i == k { 1.5 } else { stream.normal() };
            }
        }
        for (row, scale) in rows.chunks_exact_mut(width(columns)).zip(scales) {
            row[..columns].iter_mut().for_each(|x| *x = scale * stream.normal());
        }
        (triangle, rows)
    }

    /// The factor with the square of the points, row i divided by the i-th scale.
    fn updated(dim: usize, columns: usize, scales: &[f64]) -> Vec<f64> {
        let (mut triangle, mut rows) = factor(dim, columns, scales);
        AddSquare { dim, triangle: &mut triangle, rows: &mut rows }.run();
        for k in 0..dim {
            (k..dim).for_each(|i| triangle[start(dim, k) + i - k] /= scales[i]);
        }
        triangle
    }

    /// `(L L^T)_ij` of a packed factor.
    fn entry(triangle: &[f64], dim: usize, i: usize, j: usize) -> f64 {
        (0..=i.min(j)).map(|k| triangle[start(dim, k) + i - k] * triangle[start(dim, k) + j - k]).sum()
    }

    #[test]
    fn the_square_is_added() {
        for (dim, columns) in [(1, 3), (2, 1), (5, 11), (11, 11), (12, 20)] {
            let (found, (before, x)) =
                (updated(dim, columns, &vec![1.0; dim]), factor(dim, columns, &vec![1.0; dim]));
            let x: Vec<&[f64]> = x.chunks_exact(width(columns)).collect();
            for i in 0..dim {
                for j in 0..=i {
                    let square: f64 = x[i].iter().zip(x[j]).map(|(a, b)| a * b).sum();
                    let expected = entry(&before, dim, i, j) + square;
                    let error = (entry(&found, dim, i, j) - expected).abs();
                    assert!(error < 1e-13 * (columns + dim) as f64, "{dim} {columns} {i} {j}: {error}");
                    // Twin: without the points the factor is another.
                    assert!(i != j || entry(&before, dim, i, j) < expected);
                }
            }
        }
    }

    /// Products of rows with such scales overflow and underflow; their quotients do not.
    #[test]
    fn rows_may_have_any_scales() {
        for scales in
            [[1e-130, 1e250, 1.0, 1e-250], [1e250, 1e-250, 1e139, 1e-139], [1e139, 1e200, 1e-200, 1.0]]
        {
            let (found, known) = (updated(4, 7, &scales), updated(4, 7, &[1.0; 4]));
            let apart = found.iter().zip(&known).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-13, "{scales:?}: {found:?} {known:?}");
        }
    }
}
