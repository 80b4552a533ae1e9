//! Chains with the slope under their feet.

use faer::Mat;
use mcsa::{Cloud, Ensemble, Error, Gradient, bits, same_length};
use serde::{Deserialize, Serialize};

/// The chains of a gradient kernel, and the gradient of the log density at each.
///
/// The gradient is remembered between steps, and forgotten when somebody else may have moved the chains:
/// [`chains_mut`](Cloud::chains_mut) forgets it. [`Mala`](crate::Mala), [`Hmc`](crate::Hmc) and
/// [`Nuts`](crate::Nuts) share this state, so that one may take over from another.
///
/// ```
/// use mcsa::{Cloud, Kernel};
/// let target = mcsa_models::Gaussian::standard(2);
/// let state = mcsa_kernels::Hmc::new(0.1, 8)?.init(&target, faer::Mat::zeros(2, 3))?;
/// assert_eq!(state.chains().len(), 3);
/// # Ok::<(), mcsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradientEnsemble {
    chains: Ensemble,
    #[serde(with = "bits::matrix")]
    gradients: Mat<f64>,
    known: bool,
}

impl GradientEnsemble {
    /// Chains at `positions`; their gradients are evaluated by the first step.
    ///
    /// # Errors
    /// As [`Ensemble::new`].
    pub fn new<P: Gradient + ?Sized>(target: &P, positions: Mat<f64>) -> Result<Self, Error> {
        let gradients = Mat::zeros(positions.nrows(), positions.ncols());
        Ok(Self { chains: Ensemble::new(target, positions)?, gradients, known: false })
    }

    /// Whether these are so many chains of this dimension, as a checkpoint should hold.
    ///
    /// # Errors
    /// If not: the message names what differs.
    pub fn check(&self, dim: usize, chains: usize) -> Result<(), Error> {
        self.chains.check(dim, chains)?;
        same_length("gradients of chains", chains, self.gradients.ncols())?;
        same_length("a gradient", dim, self.gradients.nrows())
    }

    /// Evaluates the gradients if they are not known. `scratch` takes a number per chain.
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

    /// Moves chain `j` to a point of known density and gradient.
    pub(crate) fn place(&mut self, j: usize, z: &[f64], log_p: f64, gradient: &[f64]) {
        self.chains.place(j, z, log_p);
        self.gradients.col_as_slice_mut(j).copy_from_slice(gradient);
    }
}

impl Cloud for GradientEnsemble {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.known = false;
        &mut self.chains
    }
}
