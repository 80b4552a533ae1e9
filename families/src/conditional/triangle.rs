//! Unit lower triangles: the entries below the diagonal, packed column by column; the diagonal is one and not stored.

use mcsa_numeric as numeric;

/// Number of entries below the diagonal.
pub(super) const fn len(dim: usize) -> usize {
    dim * dim.saturating_sub(1) / 2
}

/// Place of column `j` in the packed triangle.
fn column(dim: usize, j: usize) -> std::ops::Range<usize> {
    let start = j * (2 * dim - j - 1) / 2;
    start..start + dim - 1 - j
}

/// A unit triangle of side `dim`; a triangle without entries is the identity.
#[derive(Clone, Copy)]
pub(super) struct Unit<'a>(pub(super) &'a [f64]);

impl Unit<'_> {
    /// Calls `step(number j of y, numbers below j, column j)` for each column, from the last to the first if `back`.
    fn each(self, back: bool, y: &mut [f64], step: impl Fn(&mut f64, &mut [f64], &[f64])) {
        let dim = if self.0.is_empty() { 0 } else { y.len() };
        numeric::vectorised(
            #[inline(always)]
            || {
                for k in 0..dim {
                    let j = if back { dim - 1 - k } else { k };
                    let (head, below) = y[j..].split_at_mut(1);
                    step(&mut head[0], below, &self.0[column(dim, j)]);
                }
            },
        );
    }

    /// `y <- L y`.
    pub(super) fn multiply(self, y: &mut [f64]) {
        self.each(true, y, |y, below, column| {
            below.iter_mut().zip(column).for_each(|(below, entry)| *below += entry * *y);
        });
    }

    /// `y <- L^-1 y`.
    pub(super) fn solve(self, y: &mut [f64]) {
        self.each(false, y, |y, below, column| {
            below.iter_mut().zip(column).for_each(|(below, entry)| *below -= entry * *y);
        });
    }

    /// `y <- L^T y`.
    pub(super) fn multiply_transposed(self, y: &mut [f64]) {
        self.each(false, y, |y, below, column| {
            *y += numeric::dot(below, column);
        });
    }

    /// `y <- L^-T y`.
    pub(super) fn solve_transposed(self, y: &mut [f64]) {
        self.each(true, y, |y, below, column| {
            *y -= numeric::dot(below, column);
        });
    }
}

/// `triangle_ij += weight rows_i columns_j` below the diagonal.
pub(super) fn add_outer(triangle: &mut [f64], weight: f64, rows: &[f64], columns: &[f64]) {
    let dim = if triangle.is_empty() { 0 } else { rows.len() };
    for j in 0..dim {
        let entries = triangle[column(dim, j)].iter_mut();
        entries.zip(&rows[j + 1..]).for_each(|(entry, row)| *entry += weight * row * columns[j]);
    }
}

/// The packed triangle with these entries (row, column) below the diagonal.
pub(super) fn from_fn(dim: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..dim).flat_map(|j| (j + 1..dim).map(move |i| (i, j))).map(|(i, j)| entry(i, j)).collect()
}
