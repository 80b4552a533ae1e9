use pulp::{Arch, Simd, WithSimd};

use super::{GROUP, Panels, ROWS, View};

/// Matrix product `T = X W` for one group of columns, a few at a time.
struct Product<'a> {
    x: View<'a>,
    /// `d x GROUP`, the weights of one feature next to each other.
    weights: &'a [[f64; GROUP]],
    columns: usize,
    /// `padded_rows x columns`.
    out: &'a mut [f64],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // Accumulators: enough to hide the latency of an addition, few enough to leave registers for the operands.
        let widest = if S::F64_LANES >= 8 { GROUP } else { 2 };
        let mut first = 0;
        while first < self.columns {
            let left = (self.columns - first).min(widest);
            let take = match left {
                GROUP.. => self.block::<S, GROUP>(simd, first),
                5.. => self.block::<S, 5>(simd, first),
                2.. => self.block::<S, 2>(simd, first),
                _ => self.block::<S, 1>(simd, first),
            };
            first += take;
        }
    }
}

impl Product<'_> {
    #[inline(always)]
    fn block<S: Simd, const C: usize>(&mut self, simd: S, first: usize) -> usize {
        let stride = self.x.padded_rows();
        let mut columns = self.out.chunks_exact_mut(stride).skip(first);
        let mut outs: [&mut [[f64; ROWS]]; C] =
            std::array::from_fn(|_| columns.next().map_or(&mut [][..], |c| c.as_chunks_mut().0));
        for (p, panel) in self.x.panels().enumerate() {
            match S::F64_LANES {
                8 => tile::<S, C, 2>(simd, panel, self.weights, first, &mut outs, p),
                4 => tile::<S, C, 4>(simd, panel, self.weights, first, &mut outs, p),
                2 => tile::<S, C, 8>(simd, panel, self.weights, first, &mut outs, p),
                _ => tile::<S, C, 16>(simd, panel, self.weights, first, &mut outs, p),
            }
        }
        C
    }
}

/// Product of a panel with `C` columns: every entry is `fma(x_k, w_k, ..)` over `k` in order, from 0.
#[inline(always)]
fn tile<S: Simd, const C: usize, const R: usize>(
    simd: S,
    panel: &[[f64; ROWS]],
    weights: &[[f64; GROUP]],
    first: usize,
    outs: &mut [&mut [[f64; ROWS]]; C],
    p: usize,
) {
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
    for (out, sum) in outs.iter_mut().zip(sums) {
        S::as_mut_simd_f64s(&mut out[p]).0.copy_from_slice(&sum);
    }
}

impl Panels {
    /// Length of the lent memory that [`Panels::multiply`] needs.
    pub fn multiply_work_len(&self) -> usize {
        self.view().multiply_work_len()
    }

    /// `out <- X [w_0 ... w_C-1]` for at most [`GROUP`] columns, each of length [`Panels::padded_rows`]; the padding rows are 0.
    pub fn multiply<'a>(
        &self,
        weights: impl ExactSizeIterator<Item = &'a [f64]>,
        out: &mut [f64],
        work: &mut [f64],
    ) {
        self.view().multiply(weights, out, work);
    }
}

impl View<'_> {
    /// [`Panels::multiply_work_len`].
    pub fn multiply_work_len(self) -> usize {
        self.columns() * GROUP
    }

    /// [`Panels::multiply`].
    pub fn multiply<'a>(
        self,
        weights: impl ExactSizeIterator<Item = &'a [f64]>,
        out: &mut [f64],
        work: &mut [f64],
    ) {
        let columns = weights.len();
        assert!(columns <= GROUP && out.len() == columns * self.padded_rows(), "one group of columns");
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
        Arch::new().dispatch(Product { x: self, weights: packed, columns, out });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_multiplies() {
        let x = Panels::from_fn(37, 5, |i, k| ((i * 7 + k * 3) % 11) as f64 / 3.0 - 1.5);
        let weights: Vec<[f64; GROUP]> =
            (0..5).map(|k| std::array::from_fn(|c| ((c + 2 * k) % 5) as f64 / 7.0 - 0.3)).collect();
        for columns in 1..=GROUP {
            let mut out = vec![f64::NAN; columns * x.padded_rows()];
            on_every_backend!(
                Product { x: x.view(), weights: &weights, columns, out: &mut out },
                for (at, out) in out.iter_mut().enumerate() {
                    let (c, i) = (at / x.padded_rows(), at % x.padded_rows());
                    let sum: f64 =
                        (0..5).map(|k| if i < 37 { x.row(i)[k] * weights[k][c] } else { 0.0 }).sum();
                    assert!((std::mem::replace(out, f64::NAN) - sum).abs() < 1e-14, "row {i}, column {c}");
                }
            );
        }
    }

    #[test]
    fn products_equal_sums_and_do_not_depend_on_company() {
        for (n, d) in [(1, 1), (16, 3), (33, 9), (50, 24)] {
            let x = Panels::from_fn(n, d, |i, k| ((i * 7 + k * 3) % 11) as f64 / 3.0 - 1.5);
            let weights: Vec<Vec<f64>> =
                (0..GROUP).map(|c| (0..d).map(|k| ((c + 2 * k) % 5) as f64 / 7.0 - 0.3).collect()).collect();
            let mut work = vec![0.0; x.multiply_work_len()];
            let mut alone = vec![0.0; x.padded_rows()];
            for columns in 1..=GROUP {
                let mut out = vec![f64::NAN; columns * x.padded_rows()];
                x.multiply(weights[..columns].iter().map(|w| &w[..]), &mut out, &mut work);
                for (c, out) in out.chunks_exact(x.padded_rows()).enumerate() {
                    x.multiply(std::iter::once(&weights[c][..]), &mut alone, &mut work);
                    assert_eq!(alone, out, "{n} x {d}, column {c} of {columns}");
                    for (i, out) in out.iter().enumerate().take(n) {
                        let sum: f64 = x.row(i).iter().zip(&weights[c]).map(|(x, w)| x * w).sum();
                        assert!((out - sum).abs() < 1e-13);
                    }
                }
            }
        }
    }
}
