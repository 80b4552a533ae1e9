//! Batches of points: column-major matrices with one point per column.

use faer::{MatMut, MatRef};

/// Read access to the columns of a batch, a column-major matrix, as slices.
pub trait Columns<'a> {
    /// Column `j` as a slice.
    fn column(&self, j: usize) -> &'a [f64];
}

/// Write access to the columns of a batch, a column-major matrix, as slices.
pub trait ColumnsMut {
    /// Column `j` as a mutable slice.
    fn column_mut(&mut self, j: usize) -> &mut [f64];
}

const LAYOUT: &str = "a batch is column-major: row stride 1";

impl<'a> Columns<'a> for MatRef<'a, f64> {
    #[inline]
    fn column(&self, j: usize) -> &'a [f64] {
        self.col(j).try_as_col_major().expect(LAYOUT).as_slice()
    }
}

impl ColumnsMut for MatMut<'_, f64> {
    #[inline]
    fn column_mut(&mut self, j: usize) -> &mut [f64] {
        self.rb_mut().col_mut(j).try_as_col_major_mut().expect(LAYOUT).as_slice_mut()
    }
}

use faer::reborrow::ReborrowMut;

/// Batch of `columns` points of dimension `dim`, stored one after the other in `points`.
pub fn batch(points: &[f64], dim: usize, columns: usize) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(points, dim, columns)
}

/// Mutable batch of `columns` points of dimension `dim`, stored one after the other in `points`.
pub fn batch_mut(points: &mut [f64], dim: usize, columns: usize) -> MatMut<'_, f64> {
    MatMut::from_column_major_slice_mut(points, dim, columns)
}

/// Batch with the single column `point`.
pub fn one(point: &[f64]) -> MatRef<'_, f64> {
    batch(point, point.len(), 1)
}

/// Splits the first `len` numbers off the lent memory `work`, which keeps the rest.
///
/// ```
/// let mut memory = [0.0; 5];
/// let mut work = &mut memory[..];
/// let log_q = mcsa_numeric::borrow(&mut work, 2);
/// assert_eq!((log_q.len(), work.len()), (2, 3));
/// ```
#[inline]
pub fn borrow<'a>(work: &mut &'a mut [f64], len: usize) -> &'a mut [f64] {
    let (head, tail) = std::mem::take(work).split_at_mut(len);
    *work = tail;
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    #[test]
    fn padding_between_columns_is_not_seen() {
        let z = Mat::from_fn(3, 4, |i, j| (10 * i + j) as f64);
        assert!(z.as_ref().col_stride() >= 3);
        assert_eq!(z.as_ref().column(2), [2.0, 12.0, 22.0]);
    }

    #[test]
    fn empty_batches_and_empty_points_are_batches() {
        assert_eq!(batch(&[], 0, 4).ncols(), 4);
        assert_eq!(batch(&[], 3, 0).nrows(), 3);
        assert!(batch(&[], 0, 4).column(3).is_empty());
    }
}
