//! Update of a packed Cholesky factor by weighted points.

use faer::MatRef;
use mcsa_core::Columns;
use pulp::{Arch, NullaryFnOnce};

use crate::packed::{PANEL, start};

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
