//! Models with parameters theta to be learned, `p_theta(z, x)`.

use faer::MatRef;

use crate::{Blocks, Error, all_finite, same_length};

/// Model with parameters theta that are learned together with lambda.
///
/// By Fisher's identity the gradient of the log evidence is a posterior mean,
/// `d/dtheta log p_theta(x) = E[d/dtheta log p_theta(z, x) | x]`. The points of the chain at which scores are averaged estimate
/// this mean too.
pub trait Learnable: Send + Sync {
    /// The length of theta.
    fn num_thetas(&self) -> usize;

    /// Checks that `theta` has the right length, is finite, and lies where the model is defined.
    ///
    /// # Errors
    /// If it does not; the error names the length, or the entry and its value.
    fn check_theta(&self, theta: &[f64]) -> Result<(), Error> {
        same_length("theta", self.num_thetas(), theta.len())?;
        all_finite("theta", theta)
    }
}

/// Learnable model with one latent point per datum, `prod_i p_theta(z_i, x_i)`.
pub trait LearnableBlocks: Learnable {
    /// The number of data.
    fn num_blocks(&self) -> usize;

    /// The dimension of a latent point.
    fn block_dim(&self) -> usize;

    /// Length of the slice `work` that any method needs for a batch of `columns` columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// `log p_theta(z_k, x_i)` of each column `k`, with the datum `i = rows[k]`, written to `out`.
    ///
    /// # Panics
    /// If the shapes differ, or an entry of `rows` is not less than [`num_blocks`](Self::num_blocks).
    fn log_blocks(
        &self,
        theta: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        out: &mut [f64],
        work: &mut [f64],
    );

    /// Weighted sum of gradients in theta, `gradient += sum_k weights[k] * d/dtheta log p_theta(z_k, x_{rows[k]})`.
    ///
    /// # Panics
    /// If the shapes differ, or an entry of `rows` is not less than [`num_blocks`](Self::num_blocks).
    fn add_theta_gradients(
        &self,
        theta: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    );
}

/// Blocks of a learnable model at a fixed theta.
#[derive(Debug)]
pub struct Given<'a, M: ?Sized> {
    /// The learnable model.
    pub model: &'a M,
    /// The fixed parameters theta.
    pub theta: &'a [f64],
}

impl<M: LearnableBlocks + ?Sized> Blocks for Given<'_, M> {
    fn num_blocks(&self) -> usize {
        self.model.num_blocks()
    }

    fn block_dim(&self) -> usize {
        self.model.block_dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.model.work_len(columns)
    }

    fn log_blocks(&self, rows: &[usize], z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        self.model.log_blocks(self.theta, rows, z, out, work);
    }
}
