//! Chains with their gradients.

use faer::Mat;
use mcsa_core::{ChainState, Ensemble, Error, Gradient, bits, same_length};
use serde::{Deserialize, Serialize};

/// State of a gradient-based kernel: the chains, and the gradient of the log density at each of them.
///
/// Gradients are cached between steps. [`chains_mut`](ChainState::chains_mut) discards them, because the caller may move the
/// chains. [`Mala`](crate::Mala), [`Hmc`](crate::Hmc) and [`Nuts`](crate::Nuts) share this state type, so one of these
/// kernels can continue where another stopped.
///
/// ```
/// use mcsa_core::{ChainState, Kernel};
/// let target = mcsa_models::Gaussian::standard(2);
/// let state = mcsa_kernels::Hmc::new(0.1, 8)?.init(&target, faer::Mat::zeros(2, 3))?;
/// assert_eq!(state.chains().len(), 3);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradientEnsemble {
    chains: Ensemble,
    #[serde(with = "bits::matrix")]
    gradients: Mat<f64>,
    known: bool,
}

impl GradientEnsemble {
    /// Chains at `positions`; the first step evaluates their gradients.
    ///
    /// # Errors
    /// As [`Ensemble::new`].
    pub fn new<P: Gradient + ?Sized>(target: &P, positions: Mat<f64>) -> Result<Self, Error> {
        let gradients = Mat::zeros(positions.nrows(), positions.ncols());
        Ok(Self { chains: Ensemble::new(target, positions)?, gradients, known: false })
    }

    /// Checks the number of chains and their dimension, as after reading a checkpoint.
    ///
    /// # Errors
    /// If a number or a dimension differs; the message names which.
    pub fn check(&self, dim: usize, chains: usize) -> Result<(), Error> {
        self.chains.check(dim, chains)?;
        same_length("gradients of chains", chains, self.gradients.ncols())?;
        same_length("a gradient", dim, self.gradients.nrows())
    }

    /// Evaluates the gradients unless they are cached. `scratch` holds one number per chain.
    pub(crate) fn refresh<P: Gradient + ?Sized>(
        &mut self,
        target: &P,
        scratch: &mut [f64],
        work: &mut [f64],
    ) {
        if !self.known {
            target.gradients_into(self.chains.positions.as_ref(), scratch, self.gradients.as_mut(), work);
            self.known = true;
        }
    }

    pub(crate) fn position(&self, j: usize) -> &[f64] {
        self.chains.positions.col_as_slice(j)
    }

    pub(crate) fn log_p(&self, j: usize) -> f64 {
        self.chains.log_p[j]
    }

    pub(crate) fn gradient(&self, j: usize) -> &[f64] {
        self.gradients.col_as_slice(j)
    }

    /// Moves chain `j` to `z`, a point of known log density and gradient.
    pub(crate) fn place(&mut self, j: usize, z: &[f64], log_p: f64, gradient: &[f64]) {
        self.chains.place(j, z, log_p);
        self.gradients.col_as_slice_mut(j).copy_from_slice(gradient);
    }
}

impl ChainState for GradientEnsemble {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.known = false;
        &mut self.chains
    }
}
