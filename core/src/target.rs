//! Target densities and their gradients: unnormalised log densities on unconstrained space.

use faer::{MatMut, MatRef};

use crate::Named;
use crate::Stream;
use crate::{Columns, ColumnsMut};

/// Target density: an unnormalised log density on `R^d`.
///
/// A model with constrained parameters maps `R^d` to its own space and adds the log-Jacobian of the map.
/// `-inf` means outside the support; NaN is a fault of the model, which kernels reject and count.
///
/// ```
/// use mcsa_core::LogDensity;
/// struct Standard(usize);
/// impl LogDensity for Standard {
///     fn dim(&self) -> usize { self.0 }
///     fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
///         -0.5 * z.iter().map(|x| x * x).sum::<f64>()
///     }
/// }
/// assert_eq!(Standard(2).log_density(&[1.0, 1.0], &mut []), -1.0);
/// ```
pub trait LogDensity: Send + Sync {
    /// The dimension `d`.
    fn dim(&self) -> usize;

    /// Length of the slice `work` that any method needs for a batch of `columns` columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// `log p(z)` up to a constant.
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64;

    /// `log p` of each column of `z`, written to `out`. Override it if a matrix product makes a batch faster.
    ///
    /// # Panics
    /// If the length of `out` is not the number of columns of `z`.
    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        assert_eq!(z.ncols(), out.len(), "a density per column");
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.log_density(z.column(j), work);
        }
    }

    /// Appends the name and the value of each parameter, on its constrained scale, for reports: `("sigma", exp(z[0]))`. By default
    /// the coordinates `z[i]`.
    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.vector("z", z.iter().copied());
    }
}

/// Target with a gradient.
pub trait Gradient: LogDensity {
    /// Writes `d/dz log p(z)` and returns `log p(z)`.
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64;

    /// Gradient and `log p` of each column of `z`, written to `gradients` and `out`. Override it if a matrix product makes a batch
    /// faster.
    ///
    /// # Panics
    /// If the shapes differ.
    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        assert_eq!(z.ncols(), out.len(), "a density per column");
        assert_eq!(z.ncols(), gradients.ncols(), "a gradient per column");
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.gradient_into(z.column(j), gradients.column_mut(j), work);
        }
    }
}

/// Target with Hessian-vector products; the Hessian itself is never formed.
pub trait Curvature: Gradient {
    /// Writes `(d^2/dz^2 log p(z)) v`.
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]);
}

/// Target that factorises into independent blocks, one latent point per datum: `log p(z) = sum_i log p_i(z_i)`.
///
/// This is the setting of joint stochastic approximation: each datum has its own latent variables and its own chain.
pub trait Blocks: Send + Sync {
    /// The number of blocks, one per datum.
    fn num_blocks(&self) -> usize;

    /// The dimension of a block.
    fn block_dim(&self) -> usize;

    /// Length of the slice `work` that any method needs for a batch of `columns` columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// `log p_i(z_k)` of each column `k`, with the block `i = rows[k]`, written to `out`.
    ///
    /// # Panics
    /// If the shapes differ, or a row is not less than [`num_blocks`](Self::num_blocks).
    fn log_blocks(&self, rows: &[usize], z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]);
}

/// Target with independent exact draws, for ground truth.
pub trait ExactDraws: LogDensity {
    /// Draws a point from the target, to `z`.
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]);
}
