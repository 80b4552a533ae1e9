//! Inverse and determinant of a low-rank plus diagonal matrix by the Woodbury identity.

use crate::vectorised;
use crate::{self as numeric, borrow};

/// Factored `S = diag(sigma)(I + U U^T) diag(sigma)`, with the Cholesky factor of `C = I + U^T U`.
pub struct Woodbury<'a> {
    /// The scales.
    pub scales: &'a [f64],
    /// `U = B / sigma`, column by column.
    directions: &'a [f64],
    /// Lower Cholesky factor of `C`, column by column, stored as a full square.
    pub factor: &'a [f64],
    rank: usize,
    /// `ln det C`.
    pub log_det: f64,
}

impl<'a> Woodbury<'a> {
    /// Factors `C`, with `d r + r r` numbers of `work`.
    pub fn new(scales: &'a [f64], b: &[f64], rank: usize, work: &mut &'a mut [f64]) -> Self {
        let dim = scales.len();
        let directions = borrow(work, dim * rank);
        let factor = borrow(work, rank * rank);
        for (i, (u, b)) in directions.iter_mut().zip(b).enumerate() {
            *u = b / scales[i % dim];
        }
        for k in 0..rank {
            for i in k..rank {
                let product = numeric::dot(column(directions, dim, i), column(directions, dim, k));
                factor[i + k * rank] = product + f64::from(u8::from(i == k));
            }
        }
        // The eigenvalues of C are at least one, so every pivot is: a smaller one is a rounding error.
        let log_det = cholesky(factor, rank, 1.0);
        Self { scales, directions, factor, rank, log_det }
    }

    /// Writes `x = (I + U U^T)^-1 (z - m) / sigma` and `t = U^T x`; returns `(z - m)^T S^-1 (z - m)`.
    pub fn apply(&self, z: &[f64], mean: &[f64], x: &mut [f64], t: &mut [f64]) -> f64 {
        vectorised(
            #[inline(always)]
            || {
                for (((x, z), mean), scale) in x.iter_mut().zip(z).zip(mean).zip(self.scales) {
                    *x = (z - mean) / scale;
                }
            },
        );
        for (k, t) in t.iter_mut().enumerate() {
            *t = numeric::dot(column(self.directions, x.len(), k), x);
        }
        self.solve(t);
        for (k, t) in t.iter().enumerate() {
            numeric::axpy(-t, column(self.directions, x.len(), k), x);
        }
        numeric::dot(x, x) + numeric::dot(t, t)
    }

    /// Writes `S^-1 B`, column by column, and the diagonal of `(I + U U^T)^-1`.
    pub fn inverse_into(&self, solved: &mut [f64], precision: &mut [f64]) {
        let (dim, rank) = (self.scales.len(), self.rank);
        solved.copy_from_slice(self.directions);
        precision.fill(1.0);
        // Rows of U: R^-1 u with the factor R of C = R R^T, whose squared length reduces the precision; then C^-1 u.
        forward_rows(self.factor, rank, solved);
        for k in 0..rank {
            for (solved, precision) in column(solved, dim, k).iter().zip(&mut *precision) {
                *precision -= *solved * *solved;
            }
        }
        backward_rows(self.factor, rank, solved);
        for k in 0..rank {
            for (solved, scale) in solved[k * dim..][..dim].iter_mut().zip(self.scales) {
                *solved /= scale;
            }
        }
    }

    /// `t <- C^-1 t`.
    fn solve(&self, t: &mut [f64]) {
        let (rank, factor) = (self.rank, self.factor);
        for k in 0..rank {
            t[k] /= factor[k + k * rank];
            for i in k + 1..rank {
                t[i] -= factor[i + k * rank] * t[k];
            }
        }
        for k in (0..rank).rev() {
            for i in k + 1..rank {
                t[k] -= factor[i + k * rank] * t[i];
            }
            t[k] /= factor[k + k * rank];
        }
    }
}

/// Weighted score of the low-rank Gaussian at one point, added to a gradient.
pub struct AddScore<'a> {
    /// The factored matrix.
    pub woodbury: &'a Woodbury<'a>,
    /// `d ln sigma / d rho`.
    pub slope: &'a [f64],
    /// Diagonal of `(I + U U^T)^-1`, as written by [`Woodbury::inverse_into`].
    pub precision: &'a [f64],
    /// `S^-1 B`, as written by [`Woodbury::inverse_into`].
    pub solved: &'a [f64],
    /// `U^T x`, as written by [`Woodbury::apply`].
    pub t: &'a [f64],
    /// `(I + U U^T)^-1 x`, as written by [`Woodbury::apply`]; it is overwritten.
    pub y: &'a mut [f64],
    /// Weight of the point.
    pub weight: f64,
    /// Gradient in the mean.
    pub d_mean: &'a mut [f64],
    /// Gradient in the scales' parameters.
    pub d_rho: &'a mut [f64],
    /// Gradient in the factor `B`, column by column.
    pub d_factor: &'a mut [f64],
}

impl AddScore<'_> {
    /// Adds the score to `d_mean`, `d_rho` and `d_factor` with the instructions of this machine.
    pub fn run(mut self) {
        vectorised(
            #[inline(always)]
            || self.compute(),
        );
    }

    #[inline(always)]
    fn compute(&mut self) {
        let (t, weight) = (self.t, self.weight);
        let n = self.y.len();
        let (slope, precision, scales) = (&self.slope[..n], &self.precision[..n], &self.woodbury.scales[..n]);
        let (y, d_mean, d_rho) = (&mut self.y[..n], &mut self.d_mean[..n], &mut self.d_rho[..n]);
        for i in 0..n {
            // Here y is still (I + U U^T)^-1 x; divided by the scales it is S^-1 (z - m).
            d_rho[i] += weight * ((y[i] * y[i] - precision[i]) * slope[i]);
            y[i] /= scales[i];
            d_mean[i] += weight * y[i];
        }
        for (k, &t) in t.iter().enumerate() {
            let (d_factor, solved) = (&mut self.d_factor[k * n..][..n], &self.solved[k * n..][..n]);
            for i in 0..n {
                d_factor[i] += weight * (y[i] * t - solved[i]);
            }
        }
    }
}

fn column(matrix: &[f64], dim: usize, k: usize) -> &[f64] {
    &matrix[k * dim..][..dim]
}

/// `x <- R^-1 x` for each row x of a matrix with `rank` columns, stored column by column; R is lower triangular, a full square.
pub fn forward_rows(factor: &[f64], rank: usize, rows: &mut [f64]) {
    let dim = rows.len() / rank.max(1);
    for k in 0..rank {
        let inverse = 1.0 / factor[k + k * rank];
        for i in 0..k {
            let (head, tail) = rows.split_at_mut(k * dim);
            numeric::axpy(-factor[k + i * rank], column(head, dim, i), &mut tail[..dim]);
        }
        rows[k * dim..][..dim].iter_mut().for_each(|x| *x *= inverse);
    }
}

/// `x <- R^-T x` for each row, as in [`forward_rows`].
pub fn backward_rows(factor: &[f64], rank: usize, rows: &mut [f64]) {
    let dim = rows.len() / rank.max(1);
    for k in (0..rank).rev() {
        let inverse = 1.0 / factor[k + k * rank];
        for i in k + 1..rank {
            let (head, tail) = rows.split_at_mut(i * dim);
            numeric::axpy(-factor[i + k * rank], &tail[..dim], &mut head[k * dim..][..dim]);
        }
        rows[k * dim..][..dim].iter_mut().for_each(|x| *x *= inverse);
    }
}

/// Cholesky factorisation in place, with pivots raised to `least`; returns the log determinant.
pub fn cholesky(matrix: &mut [f64], rank: usize, least: f64) -> f64 {
    let mut log_det = 0.0;
    for k in 0..rank {
        let pivot = matrix[k + k * rank].max(least);
        log_det += pivot.ln();
        let root = pivot.sqrt();
        matrix[k + k * rank] = root;
        for i in k + 1..rank {
            matrix[i + k * rank] /= root;
        }
        for c in k + 1..rank {
            for i in c..rank {
                matrix[i + c * rank] -= matrix[i + k * rank] * matrix[c + k * rank];
            }
        }
    }
    log_det
}
