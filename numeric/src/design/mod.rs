//! Packed design matrix of a regression, for products with a few columns at a time.

/// Runs a kernel with every instruction set of the machine, each followed by a check.
#[doc(hidden)]
#[macro_export]
macro_rules! on_every_backend {
    ($kernel:expr, $check:expr) => {{
        use pulp::Simd;
        Simd::vectorize(pulp::Scalar, $kernel);
        $check;
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = pulp::x86::V3::try_new() {
            Simd::vectorize(lanes, $kernel);
            $check;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = pulp::x86::V4::try_new() {
            Simd::vectorize(lanes, $kernel);
            $check;
        }
    }};
}

mod rows;

use std::fmt::Debug;
use std::ops::Neg;
use std::sync::OnceLock;

use faer::traits::ComplexField;
use pulp::{Arch, Simd, WithSimd};

use crate::vectorised;

pub use rows::{Rows, RowsRef};

/// Number of rows in a panel: two registers of AVX-512, four of AVX2.
pub const ROWS: usize = 16;

/// Number of columns per pass over the matrix: ten chains are usual, and their sums fit in the registers of AVX-512.
pub const GROUP: usize = 10;

/// Number of rows of a minibatch whose products are held at once.
pub const MINIBATCH: usize = 256;

/// `n x d` matrix in panels of sixteen rows, each panel stored column by column; missing rows are 0.
///
/// Products add in an order that depends on the matrix alone, so each entry is bit-identical however many columns are
/// multiplied together. (A general matrix product does not promise that.)
///
/// Entries of half the size, `f32`, are widened for each product, block by block: [`Panels::block`].
#[derive(Debug, Clone)]
pub struct Panels<E = f64> {
    /// `panels x d x ROWS`.
    packed: Vec<[E; ROWS]>,
    rows: usize,
    columns: usize,
    by_row: OnceLock<Rows>,
}

/// Number that a matrix stores: `f64` or `f32`.
pub trait Entry:
    ComplexField + Copy + Default + Into<f64> + Neg<Output = Self> + Debug + Send + Sync + 'static
{
    /// Length of the memory for the widened entries of a number of panels.
    fn widened_len(entries: usize) -> usize;

    /// The entries as they are, or widened into the memory.
    fn widened<'a>(packed: &'a [[Self; ROWS]], memory: &'a mut [f64]) -> &'a [[f64; ROWS]];
}

impl Entry for f64 {
    fn widened_len(_: usize) -> usize {
        0
    }

    fn widened<'a>(packed: &'a [[f64; ROWS]], _: &'a mut [f64]) -> &'a [[f64; ROWS]] {
        packed
    }
}

impl Entry for f32 {
    fn widened_len(entries: usize) -> usize {
        entries
    }

    fn widened<'a>(packed: &'a [[f32; ROWS]], memory: &'a mut [f64]) -> &'a [[f64; ROWS]] {
        let wide = &mut memory.as_chunks_mut::<ROWS>().0[..packed.len()];
        vectorised(
            #[inline(always)]
            || {
                for (wide, narrow) in wide.as_flattened_mut().iter_mut().zip(packed.as_flattened()) {
                    *wide = f64::from(*narrow);
                }
            },
        );
        wide
    }
}

impl<E: Entry> Panels<E> {
    /// Packs the matrix with entries `entry(i, k)`.
    pub fn from_fn(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> E) -> Self {
        let mut packed = vec![[E::default(); ROWS]; rows.div_ceil(ROWS) * columns];
        for i in 0..rows {
            for k in 0..columns {
                packed[(i / ROWS) * columns + k][i % ROWS] = entry(i, k);
            }
        }
        Self { packed, rows, columns, by_row: OnceLock::new() }
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

    /// The matrix stored row by row, a copy that the first call makes: products with all rows need none.
    pub fn by_row(&self) -> &Rows {
        let entry = |i: usize, k: usize| self.packed[(i / ROWS) * self.columns + k][i % ROWS].into();
        self.by_row.get_or_init(|| Rows::from_fn(self.rows, self.columns, entry))
    }

    /// Length of the memory that a [`block`](Panels::block) of at most `most` rows needs, a multiple of the rows of a panel.
    pub fn block_work_len(&self, most: usize) -> usize {
        E::widened_len(padded(self.rows.min(most)) * self.columns)
    }

    /// At most `most` rows from the row `first` on; `first` is a multiple of [`ROWS`].
    pub fn block<'a>(&'a self, first: usize, most: usize, memory: &'a mut [f64]) -> View<'a> {
        let last = self.rows.min(first + most);
        let packed = &self.packed[first / ROWS * self.columns..padded(last) / ROWS * self.columns];
        View { packed: E::widened(packed, memory), rows: last - first, columns: self.columns }
    }
}

impl Panels {
    /// The packed entries, for products.
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

    /// Number of rows, including those that fill the last panel.
    pub fn padded_rows(self) -> usize {
        padded(self.rows)
    }

    /// Length of the lent memory that [`View::multiply`] needs.
    pub fn multiply_work_len(self) -> usize {
        self.columns() * GROUP
    }

    /// `out <- X [w_0 ... w_C-1]` for at most [`GROUP`] columns, each of length [`View::padded_rows`]; the padding rows are 0.
    pub fn multiply<'w>(
        self,
        weights: impl ExactSizeIterator<Item = &'w [f64]>,
        out: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!(out.len(), weights.len() * self.padded_rows(), "one group of columns");
        self.product(weights, out, None, work);
    }

    /// `sum <- sum + f_0 max(X w_0, 0) + .. + f_C-1 max(X w_C-1, 0)`, with a factor for each of at most [`GROUP`] columns. `out` is as in
    /// [`multiply`](View::multiply), or empty.
    pub fn add_rectified<'w>(
        self,
        weights: impl ExactSizeIterator<Item = &'w [f64]>,
        factors: &[f64],
        sum: &mut [f64],
        out: &mut [f64],
        work: &mut [f64],
    ) {
        assert_eq!((factors.len(), sum.len()), (weights.len(), self.padded_rows()), "a factor per column");
        assert!(out.is_empty() || out.len() == weights.len() * self.padded_rows(), "one group of columns");
        self.product(weights, out, Some((factors, sum.as_chunks_mut().0)), work);
    }

    fn product<'w>(
        self,
        weights: impl ExactSizeIterator<Item = &'w [f64]>,
        out: &mut [f64],
        rectified: Option<(&[f64], &mut [[f64; ROWS]])>,
        work: &mut [f64],
    ) {
        let columns = weights.len();
        assert!(columns <= GROUP, "one group of columns");
        let packed = work[..self.multiply_work_len()].as_chunks_mut::<GROUP>().0;
        for (c, weights) in weights.enumerate() {
            assert_eq!(weights.len(), self.columns(), "a weight per column of the matrix");
            for (packed, &w) in packed.iter_mut().zip(weights) {
                packed[c] = w;
            }
        }
        if self.columns() == 0 {
            return out.fill(0.0);
        }
        Arch::new().dispatch(Product { x: self, weights: packed, columns, out, rectified });
    }

    /// `out <- X^T S` for at most [`GROUP`] columns; entries of `slopes` in padding rows have no effect if they are finite.
    pub fn pull_back(self, slopes: &[f64], columns: usize, out: &mut [f64]) {
        assert!(columns <= GROUP && slopes.len() == columns * self.padded_rows(), "one group of columns");
        assert_eq!(out.len(), columns * self.columns(), "a gradient per column");
        Arch::new().dispatch(Pullback { x: self, slopes, columns, out });
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

/// Matrix product `T = X W` for one group of columns, a few at a time.
struct Product<'a> {
    x: View<'a>,
    /// `d x GROUP`, the weights of one feature next to each other.
    weights: &'a [[f64; GROUP]],
    columns: usize,
    /// `padded_rows x columns`, or empty.
    out: &'a mut [f64],
    /// A factor per column, and the sum of the rectified columns.
    rectified: Option<(&'a [f64], &'a mut [[f64; ROWS]])>,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // Accumulators: enough to hide the latency of an addition, few enough to leave registers for the operands.
        let widest = if S::F64_LANES >= 8 { GROUP } else { 2 };
        let mut first = 0;
        while first < self.columns {
            first += match (self.columns - first).min(widest) {
                GROUP.. => self.block::<S, GROUP>(simd, first),
                5.. => self.block::<S, 5>(simd, first),
                2.. => self.block::<S, 2>(simd, first),
                _ => self.block::<S, 1>(simd, first),
            };
        }
    }
}

impl Product<'_> {
    #[inline(always)]
    fn block<S: Simd, const C: usize>(&mut self, simd: S, first: usize) -> usize {
        match S::F64_LANES {
            8 => self.tiles::<S, C, 2>(simd, first),
            4 => self.tiles::<S, C, 4>(simd, first),
            2 => self.tiles::<S, C, 8>(simd, first),
            _ => self.tiles::<S, C, 16>(simd, first),
        }
        C
    }

    /// Products of each panel with `C` columns, held in `R` registers each.
    #[inline(always)]
    fn tiles<S: Simd, const C: usize, const R: usize>(&mut self, simd: S, first: usize) {
        let stride = self.x.padded_rows();
        let mut columns = self.out.chunks_exact_mut(stride).skip(first);
        let mut outs: [&mut [[f64; ROWS]]; C] =
            std::array::from_fn(|_| columns.next().map_or(&mut [][..], |c| c.as_chunks_mut().0));
        let Some((factors, sum)) = &mut self.rectified else {
            for (p, panel) in self.x.panels().enumerate() {
                let tile: [[S::f64s; R]; C] = tile(simd, panel, self.weights, first);
                for (out, column) in outs.iter_mut().zip(tile) {
                    S::as_mut_simd_f64s(&mut out[p]).0.copy_from_slice(&column);
                }
            }
            return;
        };
        for (p, panel) in self.x.panels().enumerate() {
            let tile: [[S::f64s; R]; C] = tile(simd, panel, self.weights, first);
            for (out, column) in outs.iter_mut().zip(&tile) {
                if let Some(out) = out.get_mut(p) {
                    S::as_mut_simd_f64s(out).0.copy_from_slice(column);
                }
            }
            let sum = S::as_mut_simd_f64s(&mut sum[p]).0;
            for (column, &factor) in tile.iter().zip(&factors[first..first + C]) {
                let factor = simd.splat_f64s(factor);
                for (sum, &x) in sum.iter_mut().zip(column) {
                    *sum = simd.mul_add_e_f64s(factor, simd.max_f64s(x, simd.splat_f64s(0.0)), *sum);
                }
            }
        }
    }
}

/// Product of a panel with `C` columns: every entry is `fma(x_k, w_k, ..)` over `k` in order, from 0.
#[inline(always)]
fn tile<S: Simd, const C: usize, const R: usize>(
    simd: S,
    panel: &[[f64; ROWS]],
    weights: &[[f64; GROUP]],
    first: usize,
) -> [[S::f64s; R]; C] {
    let mut sums = [[simd.splat_f64s(0.0); R]; C];
    for (x, weights) in panel.iter().zip(weights) {
        let x: &[S::f64s] = S::as_simd_f64s(x).0;
        let weights = &weights[first..first + C];
        for (sum, &w) in sums.iter_mut().zip(weights) {
            let w = simd.splat_f64s(w);
            for (sum, &x) in sum.iter_mut().zip(x) {
                *sum = simd.mul_add_e_f64s(x, w, *sum);
            }
        }
    }
    sums
}

/// Transposed product `G = X^T S` for one group of columns, in blocks of features and columns.
struct Pullback<'a> {
    x: View<'a>,
    /// `padded_rows x columns`.
    slopes: &'a [f64],
    columns: usize,
    /// `d x columns`.
    out: &'a mut [f64],
}

impl WithSimd for Pullback<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let widest = if S::F64_LANES >= 8 { 4 } else { 2 };
        let mut first = 0;
        while first < self.columns {
            first += match (self.columns - first).min(widest) {
                4.. => self.features::<S, 4>(simd, first),
                2.. => self.features::<S, 2>(simd, first),
                _ => self.features::<S, 1>(simd, first),
            };
        }
    }
}

impl Pullback<'_> {
    /// As many sums at a time as hide the latency of an addition and stay in registers: few columns have many features.
    #[inline(always)]
    fn features<S: Simd, const C: usize>(&mut self, simd: S, column: usize) -> usize {
        let widest = if S::F64_LANES >= 8 { 16 / C } else { 8 / C };
        let mut k = 0;
        while k < self.x.columns() {
            k += match (self.x.columns() - k).min(widest) {
                16.. => self.block::<S, C, 16>(simd, column, k),
                8.. => self.block::<S, C, 8>(simd, column, k),
                4.. => self.block::<S, C, 4>(simd, column, k),
                2.. => self.block::<S, C, 2>(simd, column, k),
                _ => self.block::<S, C, 1>(simd, column, k),
            };
        }
        C
    }

    /// Each entry has one accumulator, to which the rows are added a register at a time, in order.
    #[inline(always)]
    fn block<S: Simd, const C: usize, const K: usize>(&mut self, simd: S, column: usize, k: usize) -> usize {
        let mut columns = self.slopes.chunks_exact(self.x.padded_rows()).skip(column);
        let slopes: [&[[f64; ROWS]]; C] =
            std::array::from_fn(|_| columns.next().map_or(&[][..], |c| c.as_chunks().0));
        let mut sums = [[simd.splat_f64s(0.0); C]; K];
        for (p, panel) in self.x.panels().enumerate() {
            for r in 0..ROWS / S::F64_LANES {
                let s: [S::f64s; C] = std::array::from_fn(|c| S::as_simd_f64s(&slopes[c][p]).0[r]);
                for (sum, x) in sums.iter_mut().zip(&panel[k..k + K]) {
                    let x = S::as_simd_f64s(x).0[r];
                    for (sum, &s) in sum.iter_mut().zip(&s) {
                        *sum = simd.mul_add_e_f64s(x, s, *sum);
                    }
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (c, &sum) in sums.iter().enumerate() {
                self.out[(column + c) * self.x.columns() + k + i] = simd.reduce_sum_f64s(sum);
            }
        }
        K
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_the_matrix_and_zeros() {
        let x = Panels::from_fn(18, 2, |i, k| (10 * i + k + 1) as f64);
        assert_eq!((x.view().padded_rows(), x.view().panels().count()), (32, 2));
        assert_eq!(x.by_row().row(17), [171.0, 172.0]);
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
        assert_eq!((x.rows(), x.columns(), x.by_row().row(2).len(), x.view().panels().count()), (3, 0, 0, 0));
    }

    fn matrix(n: usize, d: usize) -> Panels {
        Panels::from_fn(n, d, |i, k| ((i * 7 + k * 3) % 11) as f64 / 3.0 - 1.5)
    }

    /// Of seven features.
    fn weights() -> Vec<[f64; GROUP]> {
        (0..7).map(|k| std::array::from_fn(|c| ((c + 2 * k) % 5) as f64 / 7.0 - 0.3)).collect()
    }

    #[test]
    fn every_backend_multiplies_and_pulls_back() {
        let x = matrix(37, 7);
        let rows = x.view().padded_rows();
        let weights = weights();
        for columns in 1..=GROUP {
            let mut out = vec![f64::NAN; columns * rows];
            on_every_backend!(
                Product { x: x.view(), weights: &weights, columns, out: &mut out, rectified: None },
                for (at, out) in out.iter_mut().enumerate() {
                    let (c, i) = (at / rows, at % rows);
                    let sum: f64 =
                        (0..7).map(|k| if i < 37 { x.by_row().row(i)[k] * weights[k][c] } else { 0.0 }).sum();
                    assert!((std::mem::replace(out, f64::NAN) - sum).abs() < 1e-14, "row {i}, column {c}");
                }
            );
            let slopes: Vec<f64> = (0..columns * rows).map(|at| (at % 13) as f64 / 13.0).collect();
            let mut out = vec![f64::NAN; columns * 7];
            on_every_backend!(
                Pullback { x: x.view(), slopes: &slopes, columns, out: &mut out },
                for (at, out) in out.iter_mut().enumerate() {
                    let (c, k) = (at / 7, at % 7);
                    let sum: f64 = (0..37).map(|i| x.by_row().row(i)[k] * slopes[c * rows + i]).sum();
                    let found = std::mem::replace(out, f64::NAN);
                    assert!((found - sum).abs() < 1e-13, "feature {k}, column {c}");
                }
            );
        }
    }

    /// In the order of the columns, whether the products are written or not.
    #[test]
    fn every_backend_adds_rectified_columns() {
        let x = matrix(37, 7);
        let rows = x.view().padded_rows();
        let weights = weights();
        let factors: [f64; GROUP] = std::array::from_fn(|c| c as f64 - 4.5);
        for (columns, is_written) in (1..=GROUP).flat_map(|columns| [(columns, true), (columns, false)]) {
            let (mut sum, mut out) =
                (vec![0.5; rows], vec![f64::NAN; columns * rows * usize::from(is_written)]);
            on_every_backend!(
                Product {
                    x: x.view(),
                    weights: &weights,
                    columns,
                    out: &mut out,
                    rectified: Some((&factors, sum.as_chunks_mut().0)),
                },
                for (i, sum) in sum.iter_mut().enumerate() {
                    let product = |c: usize| -> f64 {
                        (0..7).map(|k| if i < 37 { x.by_row().row(i)[k] * weights[k][c] } else { 0.0 }).sum()
                    };
                    let expected: f64 = (0..columns).map(|c| factors[c] * product(c).max(0.0)).sum();
                    assert!(
                        (std::mem::replace(sum, 0.5) - 0.5 - expected).abs() < 1e-13,
                        "row {i} of {columns}"
                    );
                    assert!(!is_written || (out[i] - product(0)).abs() < 1e-14, "row {i}");
                }
            );
        }
    }

    #[test]
    fn both_products_do_not_depend_on_company() {
        for (n, d) in [(1, 1), (16, 3), (33, 9), (50, 24)] {
            let (x, rows) = (matrix(n, d), n.div_ceil(ROWS) * ROWS);
            let weights: Vec<Vec<f64>> =
                (0..GROUP).map(|c| (0..d).map(|k| ((c + 2 * k) % 5) as f64 / 7.0 - 0.3).collect()).collect();
            let slopes: Vec<f64> = (0..GROUP * rows).map(|at| (at % 13) as f64 / 13.0).collect();
            let (mut work, mut alone) = (vec![0.0; x.view().multiply_work_len()], vec![0.0; rows]);
            for columns in 1..=GROUP {
                let mut out = vec![f64::NAN; columns * rows];
                x.view().multiply(weights[..columns].iter().map(|w| &w[..]), &mut out, &mut work);
                for (c, out) in out.chunks_exact(rows).enumerate() {
                    x.view().multiply(std::iter::once(&weights[c][..]), &mut alone, &mut work);
                    assert_eq!(alone, out, "{n} x {d}, column {c} of {columns}");
                }
                let mut out = vec![f64::NAN; columns * d];
                x.view().pull_back(&slopes[..columns * rows], columns, &mut out);
                for (c, out) in out.chunks_exact(d).enumerate() {
                    let (slopes, mut alone) = (&slopes[c * rows..(c + 1) * rows], vec![0.0; d]);
                    x.view().pull_back(slopes, 1, &mut alone);
                    assert_eq!(alone, out, "{n} x {d}, column {c} of {columns}");
                }
            }
        }
    }
}
