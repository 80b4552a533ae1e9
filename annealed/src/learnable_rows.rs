use mcsa_core::{Error, Gradient};

/// Model with parameters theta whose minibatches are densities of parameters and latent point together.
///
/// ```text
/// log p(z; theta) + N/B sum_{n in rows} l_n(z; theta)   at the point (theta, z)
/// ```
/// A model with data in memory that depends on theta, such as a Gaussian process, computes that memory once per call for the chosen
/// rows. [`Subsampled`](mcsa_core::Subsampled) is the trait for models without parameters.
pub trait LearnableRows: Send + Sync {
    /// The density of a minibatch, whose points are theta followed by z.
    type On<'a>: Gradient
    where
        Self: 'a;

    /// The number N of data.
    fn num_data(&self) -> usize;

    /// The density for these rows.
    ///
    /// # Errors
    /// If there is no row, or a row is not less than the number of data.
    fn on<'a>(&'a self, rows: &'a [usize]) -> Result<Self::On<'a>, Error>;
}
