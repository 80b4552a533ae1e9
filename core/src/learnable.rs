//! Models with parameters of their own.

use faer::MatRef;

use crate::{Blocks, Error, LogDensity, all_finite, same_length};

/// A model with parameters theta that are to be learned beside lambda.
///
/// By Fisher's identity the gradient of the log evidence is the mean of the joint density's gradient under the posterior,
/// `d/dtheta log p_theta(x) = E[d/dtheta log p_theta(z, x) | x]`, and the chain that supplies scores supplies that mean too.
pub trait Learnable: Send + Sync {
    /// The length of theta.
    fn num_thetas(&self) -> usize;

    /// Refuses a theta of the wrong length, one with a NaN or an infinity, or one the model cannot represent.
    ///
    /// # Errors
    /// Says which and where.
    fn check_theta(&self, theta: &[f64]) -> Result<(), Error> {
        same_length("theta", self.num_thetas(), theta.len())?;
        all_finite("theta", theta)
    }
}

/// A learnable model of one latent point: `log p_theta(z, x)`.
pub trait LearnableDensity: Learnable {
    /// The dimension of the latent point.
    fn dim(&self) -> usize;

    /// Numbers of lent memory for a batch of so many columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// `log p_theta(z_j, x)` of each column.
    ///
    /// # Panics
    /// If the shapes differ.
    fn log_densities(&self, theta: &[f64], z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]);

    /// `gradient += sum_j weights[j] * d/dtheta log p_theta(z_j, x)`.
    ///
    /// # Panics
    /// If the shapes differ.
    fn add_theta_gradients(
        &self,
        theta: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    );
}

/// A learnable model of one latent point per datum: `log p_theta(z_i, x_i)`.
pub trait LearnableBlocks: Learnable {
    /// The number of data.
    fn num_blocks(&self) -> usize;

    /// The dimension of a latent point.
    fn block_dim(&self) -> usize;

    /// Numbers of lent memory for a batch of so many columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// `log p_theta(z_k, x_i)` of each column, where `i` is the entry of `rows` beside it.
    ///
    /// # Panics
    /// If the shapes differ, or there is no such datum.
    fn log_blocks(
        &self,
        theta: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        out: &mut [f64],
        work: &mut [f64],
    );

    /// `gradient += sum_k weights[k] * d/dtheta log p_theta(z_k, x_{rows[k]})`.
    ///
    /// # Panics
    /// If the shapes differ, or there is no such datum.
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

/// A learnable model at one theta: a target like any other.
#[derive(Debug)]
pub struct Given<'a, M: ?Sized> {
    /// The model.
    pub model: &'a M,
    /// Its parameters.
    pub theta: &'a [f64],
}

impl<M: LearnableDensity + ?Sized> LogDensity for Given<'_, M> {
    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.model.work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut log_p = [0.0];
        self.model.log_densities(self.theta, crate::one(z), &mut log_p, work);
        log_p[0]
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        self.model.log_densities(self.theta, z, out, work);
    }
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
