//! Sparse Gaussian processes (FITC) with likelihoods averaged by Gauss-Hermite quadrature. (SL-DAIS, Sec. 7.4 and 7.5)

mod adjoint;
mod average;
mod posterior;
mod process;
mod surrogate;

pub use posterior::{SparseMinibatch, SparsePosterior};
pub use process::{InducingCoordinates, SparseGaussianProcess};
pub use surrogate::SparseSurrogate;
