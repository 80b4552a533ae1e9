//! Triangular solves for several right-hand sides at once.

use faer::{Mat, MatRef};

/// Lower triangular matrix `L` with positive diagonal, stored by columns and by rows.
///
/// Four columns of `L` are read once for all right-hand sides. Each number undergoes a fixed sequence of operations whatever
/// the other right-hand sides, and nothing is fused: the bits depend neither on the batch nor on the machine.
#[derive(Debug, Clone)]
pub struct Triangle {
    columns: Mat<f64>,
    /// The transpose: its columns are the rows of `L`.
    rows: Mat<f64>,
    inverse_diagonal: Vec<f64>,
}

const BLOCK: usize = 4;

impl Triangle {
    /// Copies a lower triangular matrix with a positive diagonal.
    pub fn new(factor: MatRef<'_, f64>) -> Self {
        let dim = factor.nrows();
        Self {
            columns: Mat::from_fn(dim, dim, |i, k| if i >= k { factor[(i, k)] } else { 0.0 }),
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
        (0..self.dim()).map(|k| self.columns[(k, k)].ln()).sum()
    }

    /// Row `i` of `L`, up to the diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.rows.col_as_slice(i)[..=i]
    }

    /// `y <- L^-1 y`, for each right-hand side.
    pub fn whiten(&self, ys: &mut [f64]) {
        pulp::Arch::new().dispatch(|| self.forward(ys));
    }

    /// `y <- L^-T y`, for each right-hand side.
    pub fn whiten_back(&self, ys: &mut [f64]) {
        pulp::Arch::new().dispatch(|| self.backward(ys));
    }

    /// `y <- L y`.
    pub fn colour(&self, y: &mut [f64]) {
        for i in (0..y.len()).rev() {
            y[i] = self.row(i).iter().zip(&y[..=i]).map(|(l, y)| l * y).sum();
        }
    }

    #[inline(always)]
    fn forward(&self, ys: &mut [f64]) {
        let dim = self.dim();
        if dim == 0 {
            return;
        }
        let whole = dim - dim % BLOCK;
        for k in (0..whole).step_by(BLOCK) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|m| &self.columns.col_as_slice(k + m)[k..]);
            let [p, q, r, s] = [0, 1, 2, 3].map(|m| self.inverse_diagonal[k + m]);
            for y in ys.chunks_exact_mut(dim) {
                let (head, tail) = y[k..].split_at_mut(BLOCK);
                let h0 = head[0] * p;
                let h1 = (head[1] - h0 * a[1]) * q;
                let h2 = (head[2] - h0 * a[2] - h1 * b[2]) * r;
                let h3 = (head[3] - h0 * a[3] - h1 * b[3] - h2 * c[3]) * s;
                head.copy_from_slice(&[h0, h1, h2, h3]);
                let below = a[BLOCK..].iter().zip(&b[BLOCK..]).zip(&c[BLOCK..]).zip(&d[BLOCK..]);
                for (y, (((a, b), c), d)) in tail.iter_mut().zip(below) {
                    *y = *y - h0 * a - h1 * b - h2 * c - h3 * d;
                }
            }
        }
        for k in whole..dim {
            let column = self.columns.col_as_slice(k);
            for y in ys.chunks_exact_mut(dim) {
                y[k] *= self.inverse_diagonal[k];
                for i in k + 1..dim {
                    y[i] -= y[k] * column[i];
                }
            }
        }
    }

    #[inline(always)]
    fn backward(&self, ys: &mut [f64]) {
        let dim = self.dim();
        if dim == 0 {
            return;
        }
        let rest = dim % BLOCK;
        for k in (rest..dim).step_by(BLOCK).rev() {
            let [a, b, c, d] = [3, 2, 1, 0].map(|m| &self.rows.col_as_slice(k + m)[..k + m]);
            let [p, q, r, s] = [3, 2, 1, 0].map(|m| self.inverse_diagonal[k + m]);
            for y in ys.chunks_exact_mut(dim) {
                let (above, tail) = y.split_at_mut(k);
                let h0 = tail[3] * p;
                let h1 = (tail[2] - h0 * a[k + 2]) * q;
                let h2 = (tail[1] - h0 * a[k + 1] - h1 * b[k + 1]) * r;
                let h3 = (tail[0] - h0 * a[k] - h1 * b[k] - h2 * c[k]) * s;
                tail[..BLOCK].copy_from_slice(&[h3, h2, h1, h0]);
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
