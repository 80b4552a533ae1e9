use pulp::{Arch, Simd, WithSimd};

/// `n x d` matrix stored row by row, for products with the few rows of a minibatch.
#[derive(Debug, Clone)]
pub struct Rows {
    entries: Vec<f64>,
    rows: usize,
    columns: usize,
}

/// View of a matrix stored row by row.
#[derive(Debug, Clone, Copy)]
pub struct RowsRef<'a> {
    entries: &'a [f64],
    rows: usize,
    columns: usize,
}

/// Number of rows that are added to a sum in one pass over it.
const PASS: usize = 4;

impl Rows {
    /// The matrix with entries `entry(i, k)`.
    pub fn from_fn(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let entries = (0..rows * columns).map(|at| entry(at / columns, at % columns)).collect();
        Self { entries, rows, columns }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.columns..(i + 1) * self.columns]
    }

    /// The entries, for products.
    #[inline]
    pub fn view(&self) -> RowsRef<'_> {
        RowsRef { entries: &self.entries, rows: self.rows, columns: self.columns }
    }
}

impl<'a> RowsRef<'a> {
    /// The matrix with these entries, row after row.
    pub fn new(entries: &'a [f64], columns: usize) -> Self {
        Self { entries, rows: entries.len() / columns.max(1), columns }
    }

    /// One row.
    #[inline(always)]
    pub fn row(self, i: usize) -> &'a [f64] {
        &self.entries[i * self.columns..(i + 1) * self.columns]
    }

    /// `out_b <- x_i' w` for the row `i = at(b)`.
    pub fn multiply_at(self, at: impl Fn(usize) -> usize, weights: &[f64], out: &mut [f64]) {
        assert_eq!(weights.len(), self.columns, "a weight per column of the matrix");
        self.known(&at, out.len());
        Arch::new().dispatch(Multiply { x: self, at, weights, out });
    }

    /// `out <- out + sum_b slopes_b x_i` for the rows `i = at(b)`.
    pub fn add_pull_back_at(self, at: impl Fn(usize) -> usize, slopes: &[f64], out: &mut [f64]) {
        assert_eq!(out.len(), self.columns, "a slope per column of the matrix");
        self.known(&at, slopes.len());
        Arch::new().dispatch(PullBack { x: self, at, slopes, out });
    }

    fn known(self, at: &impl Fn(usize) -> usize, len: usize) {
        for b in 0..len {
            assert!(at(b) < self.rows, "row {} of {} data", at(b), self.rows);
        }
    }
}

struct Multiply<'a, F> {
    x: RowsRef<'a>,
    at: F,
    weights: &'a [f64],
    out: &'a mut [f64],
}

impl<F: Fn(usize) -> usize> WithSimd for Multiply<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (body, tail) = S::as_simd_f64s(self.weights);
        let tail = simd.partial_load_f64s(tail);
        for (b, out) in self.out.iter_mut().enumerate() {
            let (x, rest) = S::as_simd_f64s(self.x.row((self.at)(b)));
            // Two sums, which do not wait for each other.
            let (mut even, mut odd) =
                (simd.mul_f64s(simd.partial_load_f64s(rest), tail), simd.splat_f64s(0.0));
            let (x, x_last) = x.as_chunks::<2>();
            let (w, w_last) = body.as_chunks::<2>();
            for (x, w) in x.iter().zip(w) {
                even = simd.mul_add_e_f64s(x[0], w[0], even);
                odd = simd.mul_add_e_f64s(x[1], w[1], odd);
            }
            for (&x, &w) in x_last.iter().zip(w_last) {
                even = simd.mul_add_e_f64s(x, w, even);
            }
            *out = simd.reduce_sum_f64s(simd.add_f64s(even, odd));
        }
    }
}

struct PullBack<'a, F> {
    x: RowsRef<'a>,
    at: F,
    slopes: &'a [f64],
    out: &'a mut [f64],
}

impl<F: Fn(usize) -> usize> WithSimd for PullBack<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (body, tail) = S::as_mut_simd_f64s(self.out);
        let mut last = simd.partial_load_f64s(tail);
        let (passes, rest) = self.slopes.as_chunks::<PASS>();
        for (p, slopes) in passes.iter().enumerate() {
            let rows = std::array::from_fn(|r| self.x.row((self.at)(PASS * p + r)));
            add_rows::<S, PASS>(simd, rows, *slopes, body, &mut last);
        }
        for (r, &slope) in rest.iter().enumerate() {
            let row = self.x.row((self.at)(PASS * passes.len() + r));
            add_rows::<S, 1>(simd, [row], [slope], body, &mut last);
        }
        simd.partial_store_f64s(tail, last);
    }
}

/// Adds `sum_r slopes_r rows_r` to the registers of a row, of which the last, incomplete one is `last`.
#[inline(always)]
fn add_rows<S: Simd, const R: usize>(
    simd: S,
    rows: [&[f64]; R],
    slopes: [f64; R],
    body: &mut [S::f64s],
    last: &mut S::f64s,
) {
    let slopes = slopes.map(|slope| simd.splat_f64s(slope));
    let rows = rows.map(|row| {
        let (row, rest) = S::as_simd_f64s(row);
        (&row[..body.len()], rest)
    });
    for (k, sum) in body.iter_mut().enumerate() {
        let mut acc = *sum;
        for (&slope, (row, _)) in slopes.iter().zip(&rows) {
            acc = simd.mul_add_e_f64s(slope, row[k], acc);
        }
        *sum = acc;
    }
    for (&slope, (_, rest)) in slopes.iter().zip(&rows) {
        *last = simd.mul_add_e_f64s(slope, simd.partial_load_f64s(rest), *last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, columns: usize) -> Rows {
        Rows::from_fn(rows, columns, |i, k| ((i * 7 + k * 3) % 11) as f64 / 3.0 - 1.5)
    }

    #[test]
    fn every_backend_multiplies_and_adds_chosen_rows() {
        for columns in [0, 1, 5, 8, 18, 33] {
            let x = matrix(9, columns);
            let weights: Vec<f64> = (0..columns).map(|k| (k % 5) as f64 / 7.0 - 0.3).collect();
            let (rows, slopes) = ([8, 0, 3, 3, 5, 1, 2], [0.5, -1.0, 0.25, 2.0, 0.125, -0.75, 1.0]);
            let mut out = [f64::NAN; 7];
            on_every_backend!(
                Multiply { x: x.view(), at: |b: usize| rows[b], weights: &weights, out: &mut out },
                for (out, &i) in out.iter_mut().zip(&rows) {
                    let sum: f64 = x.row(i).iter().zip(&weights).map(|(x, w)| x * w).sum();
                    assert!((std::mem::replace(out, f64::NAN) - sum).abs() < 1e-13, "{columns}, row {i}");
                }
            );
            let mut out = vec![1.0; columns];
            on_every_backend!(
                PullBack { x: x.view(), at: |b: usize| rows[b], slopes: &slopes, out: &mut out },
                for (k, out) in out.iter_mut().enumerate() {
                    let sum: f64 = rows.iter().zip(&slopes).map(|(&i, slope)| slope * x.row(i)[k]).sum();
                    assert!((std::mem::replace(out, 1.0) - 1.0 - sum).abs() < 1e-13, "column {k}");
                }
            );
        }
    }

    #[test]
    #[should_panic(expected = "row 9 of 9 data")]
    fn an_unknown_row_is_refused() {
        matrix(9, 0).view().multiply_at(|b| b + 9, &[], &mut [0.0]);
    }
}
