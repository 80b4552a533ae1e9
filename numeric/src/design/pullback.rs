use pulp::{Arch, Simd, WithSimd};

use super::{GROUP, Panels, ROWS, View};

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
            let left = (self.columns - first).min(widest);
            first += if left >= 4 {
                self.features::<S, 4>(simd, first)
            } else if left >= 2 {
                self.features::<S, 2>(simd, first)
            } else {
                self.features::<S, 1>(simd, first)
            };
        }
    }
}

impl Pullback<'_> {
    #[inline(always)]
    fn features<S: Simd, const C: usize>(&mut self, simd: S, column: usize) -> usize {
        let mut k = 0;
        while k < self.x.columns() {
            let left = self.x.columns() - k;
            k += if left >= 4 {
                self.block::<S, C, 4>(simd, column, k)
            } else if left >= 2 {
                self.block::<S, C, 2>(simd, column, k)
            } else {
                self.block::<S, C, 1>(simd, column, k)
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

impl Panels {
    /// `out <- X^T S` for at most [`GROUP`] columns; entries of `slopes` in padding rows have no effect if they are finite.
    pub fn pull_back(&self, slopes: &[f64], columns: usize, out: &mut [f64]) {
        self.view().pull_back(slopes, columns, out);
    }
}

impl View<'_> {
    /// [`Panels::pull_back`].
    pub fn pull_back(self, slopes: &[f64], columns: usize, out: &mut [f64]) {
        assert!(columns <= GROUP && slopes.len() == columns * self.padded_rows(), "one group of columns");
        assert_eq!(out.len(), columns * self.columns(), "a gradient per column");
        Arch::new().dispatch(Pullback { x: self, slopes, columns, out });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_pulls_back() {
        let x = Panels::from_fn(37, 7, |i, k| ((i * 7 + k * 3) % 11) as f64 / 3.0 - 1.5);
        let rows = x.padded_rows();
        for columns in 1..=GROUP {
            let slopes: Vec<f64> = (0..columns * rows).map(|at| (at % 13) as f64 / 13.0).collect();
            let mut out = vec![f64::NAN; columns * 7];
            on_every_backend!(
                Pullback { x: x.view(), slopes: &slopes, columns, out: &mut out },
                for (at, out) in out.iter_mut().enumerate() {
                    let (c, k) = (at / 7, at % 7);
                    let sum: f64 = (0..37).map(|i| x.row(i)[k] * slopes[c * rows + i]).sum();
                    assert!(
                        (std::mem::replace(out, f64::NAN) - sum).abs() < 1e-13,
                        "feature {k}, column {c}"
                    );
                }
            );
        }
    }

    #[test]
    fn pullbacks_equal_sums_and_do_not_depend_on_company() {
        for (n, d) in [(1, 1), (16, 3), (33, 9), (50, 24)] {
            let x = Panels::from_fn(n, d, |i, k| ((i * 7 + k * 3) % 11) as f64 / 3.0 - 1.5);
            let rows = x.padded_rows();
            let slopes: Vec<f64> = (0..GROUP * rows).map(|at| (at % 13) as f64 / 13.0).collect();
            let mut alone = vec![0.0; d];
            for columns in 1..=GROUP {
                let mut out = vec![f64::NAN; columns * d];
                x.pull_back(&slopes[..columns * rows], columns, &mut out);
                for (c, out) in out.chunks_exact(d).enumerate() {
                    let slopes = &slopes[c * rows..(c + 1) * rows];
                    x.pull_back(slopes, 1, &mut alone);
                    assert_eq!(alone, out, "{n} x {d}, column {c} of {columns}");
                    for (k, out) in out.iter().enumerate() {
                        let sum: f64 = (0..n).map(|i| x.row(i)[k] * slopes[i]).sum();
                        assert!((out - sum).abs() < 1e-12);
                    }
                }
            }
        }
    }
}
