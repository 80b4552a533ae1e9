//! Sparse Gaussian processes (FITC) with likelihoods averaged by Gauss-Hermite quadrature. (SL-DAIS, Sec. 7.4 and 7.5)

mod adjoint;
mod average;
mod hermite;
mod kernel;
mod memory;
mod minibatch;
mod posterior;
mod process;
mod surrogate;

use average::{Average, Likelihood};
use hermite::{LOG_WEIGHTS, NODES, POINTS};
use kernel::Kernel;
use memory::{Layout, Memory};
pub use minibatch::SparseMinibatch;
pub use posterior::SparsePosterior;
pub use process::{InducingCoordinates, SparseGaussianProcess};
pub use surrogate::SparseSurrogate;
