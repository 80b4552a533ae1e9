use super::{ROWS, Rows};

/// `n x d` matrix in panels of sixteen rows, each panel stored column by column; missing rows are 0.
///
/// Products add in an order that depends on the matrix alone, so each entry is bit-identical however many columns are
/// multiplied together. (A general matrix product does not promise that.)
#[derive(Debug, Clone)]
pub struct Panels {
    /// `panels x d x ROWS`.
    packed: Vec<[f64; ROWS]>,
    by_row: Rows,
}

impl Panels {
    /// Packs the matrix with entries `entry(i, k)`.
    pub fn from_fn(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let by_row = Rows::from_fn(rows, columns, entry);
        let mut packed = vec![[0.0; ROWS]; rows.div_ceil(ROWS) * columns];
        for i in 0..rows {
            for k in 0..columns {
                packed[(i / ROWS) * columns + k][i % ROWS] = by_row.row(i)[k];
            }
        }
        Self { packed, by_row }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.by_row.rows()
    }

    /// Number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.by_row.columns()
    }

    /// Number of rows, including those that fill the last panel.
    pub fn padded_rows(&self) -> usize {
        padded(self.rows())
    }

    /// The matrix stored row by row.
    pub fn by_row(&self) -> &Rows {
        &self.by_row
    }

    /// One row.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        self.by_row.row(i)
    }

    /// The packed entries.
    #[inline]
    pub fn view(&self) -> View<'_> {
        View { packed: &self.packed, rows: self.rows(), columns: self.columns() }
    }
}

/// Panels in lent memory.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    packed: &'a [[f64; ROWS]],
    rows: usize,
    columns: usize,
}

impl<'a> View<'a> {
    /// The panels of a `rows x columns` matrix in `packed`, of length `padded_rows * columns`.
    pub fn new(packed: &'a [f64], rows: usize, columns: usize) -> Self {
        Self { packed: packed.as_chunks().0, rows, columns }
    }

    /// Number of columns.
    #[inline]
    pub fn columns(self) -> usize {
        self.columns
    }

    /// Number of rows.
    #[inline]
    pub fn rows(self) -> usize {
        self.rows
    }

    /// Blocks of at most `most` rows, a multiple of the rows of a panel, from the first row to the last.
    pub fn blocks(self, most: usize) -> impl Iterator<Item = Self> {
        let Self { packed, rows, columns } = self;
        (0..rows).step_by(most).map(move |first| {
            let last = rows.min(first + most);
            let packed = &packed[first / ROWS * columns..padded(last) / ROWS * columns];
            Self { packed, rows: last - first, columns }
        })
    }

    /// Number of rows, including those that fill the last panel.
    pub fn padded_rows(self) -> usize {
        padded(self.rows)
    }

    /// The panels, each `columns` registers of rows.
    pub fn panels(self) -> std::slice::ChunksExact<'a, [f64; ROWS]> {
        self.packed.chunks_exact(self.columns.max(1))
    }
}

/// Number of rows of whole panels that hold this number of rows.
pub fn padded(rows: usize) -> usize {
    rows.div_ceil(ROWS) * ROWS
}

/// Packs a matrix that is stored column by column, as [`Panels`] do.
pub fn pack_into(entries: &[f64], rows: usize, packed: &mut [f64]) {
    let columns = entries.len() / rows.max(1);
    for (p, panel) in packed.chunks_exact_mut(ROWS * columns.max(1)).enumerate() {
        let (from, to) = (p * ROWS, rows.min((p + 1) * ROWS));
        for (column, lanes) in entries.chunks_exact(rows).zip(panel.as_chunks_mut::<ROWS>().0) {
            lanes[..to - from].copy_from_slice(&column[from..to]);
            lanes[to - from..].fill(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_the_matrix_and_zeros() {
        let x = Panels::from_fn(18, 2, |i, k| (10 * i + k + 1) as f64);
        assert_eq!((x.padded_rows(), x.view().panels().count()), (32, 2));
        assert_eq!(x.row(17), [171.0, 172.0]);
        let last = x.view().panels().nth(1).unwrap();
        assert_eq!((last[1][0], last[1][1], last[1][2]), (162.0, 172.0, 0.0));
    }

    #[test]
    fn lent_panels_equal_owned_ones() {
        let entry = |i: usize, k: usize| (10 * i + k + 1) as f64;
        let entries: Vec<f64> = (0..54).map(|at| entry(at % 18, at / 18)).collect();
        let mut packed = [f64::NAN; 96];
        pack_into(&entries, 18, &mut packed);
        assert_eq!(View::new(&packed, 18, 3).packed, Panels::from_fn(18, 3, entry).packed);
    }

    #[test]
    fn no_columns_are_a_matrix_too() {
        let x = Panels::from_fn(3, 0, |_, _| 1.0);
        assert_eq!((x.rows(), x.columns(), x.row(2).len(), x.view().panels().count()), (3, 0, 0, 0));
    }
}
