//! Models with one latent point per datum, and models with parameters theta to be learned.

use faer::MatRef;
use mcsa_core::{Error, all_finite, same_length};

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
    fn log_blocks(&self, rows: &[usize], z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]);
}

/// Model with parameters theta that are learned together with lambda, the parameters of the approximating family.
///
/// By Fisher's identity the gradient of the log evidence is a posterior mean,
/// `d/dtheta log p_theta(x) = E[d/dtheta log p_theta(z, x) | x]`. The points of the chain at which scores are averaged estimate
/// this mean too.
pub trait Learnable: Send + Sync {
    /// The model at a fixed theta: [`Blocks`] with one latent point per datum, or a
    /// state-space model whose latent point is a path.
    type At<'a>
    where
        Self: 'a;

    /// The length of theta.
    fn num_thetas(&self) -> usize;

    /// Checks that `theta` has the right length, is finite, and lies where the model is defined.
    fn check_theta(&self, theta: &[f64]) -> Result<(), Error> {
        same_length("theta", self.num_thetas(), theta.len())?;
        all_finite("theta", theta)
    }

    /// The model at `theta`, constructed once per step: functions of theta such as `tanh` and `exp` are then computed once. The
    /// caller has checked `theta` with [`check_theta`](Self::check_theta).
    fn at<'a>(&'a self, theta: &'a [f64]) -> Self::At<'a>;

    /// The model at an arbitrary theta, for its dimensions alone: they do not depend on theta.
    fn anywhere(&self) -> Self::At<'_>;

    /// Weighted sum of gradients in theta, `gradient += sum_k weights[k] * d/dtheta log p_theta(z_k, x_{rows[k]})`, with the memory
    /// `work` that the model at theta needs.
    ///
    /// A state-space model has one path per column of `z` and one series x; it reads neither `rows` nor `work`.
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
