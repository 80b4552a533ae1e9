//! Target densities from closures.

use crate::{Gradient, LogDensity};

/// Target density from a closure: `log p(z) = f(z)`, up to a constant.
///
/// [`with_gradient`](Self::with_gradient) adds a gradient, which kernels such as HMC need. A type of one's own that implements
/// [`LogDensity`] can also evaluate batches faster and use lent memory.
///
/// ```
/// use mcsa_core::{Gradient, LogDensity, from_fn};
/// let target = from_fn(2, |z| -0.5 * (z[0] * z[0] + z[1] * z[1]));
/// assert_eq!(target.log_density(&[1.0, 2.0], &mut []), -2.5);
///
/// let target = target.with_gradient(|z, gradient| {
///     gradient[0] = -z[0];
///     gradient[1] = -z[1];
/// });
/// let mut gradient = [0.0; 2];
/// assert_eq!(target.gradient_into(&[1.0, 2.0], &mut gradient, &mut []), -2.5);
/// assert_eq!(gradient, [-1.0, -2.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromFn<F, G = ()> {
    dim: usize,
    log_density: F,
    gradient: G,
}

/// Target density on `R^dim` from a closure that returns `log p(z)` up to a constant: `-inf` outside the support, never NaN.
pub fn from_fn<F: Fn(&[f64]) -> f64 + Send + Sync>(dim: usize, log_density: F) -> FromFn<F> {
    FromFn { dim, log_density, gradient: () }
}

impl<F> FromFn<F> {
    /// The same density with a closure that writes its gradient `d/dz log p(z)`.
    pub fn with_gradient<G: Fn(&[f64], &mut [f64]) + Send + Sync>(self, gradient: G) -> FromFn<F, G> {
        FromFn { dim: self.dim, log_density: self.log_density, gradient }
    }
}

impl<F: Fn(&[f64]) -> f64 + Send + Sync, G: Send + Sync> LogDensity for FromFn<F, G> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        (self.log_density)(z)
    }
}

impl<F, G> Gradient for FromFn<F, G>
where
    F: Fn(&[f64]) -> f64 + Send + Sync,
    G: Fn(&[f64], &mut [f64]) + Send + Sync,
{
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        (self.gradient)(z, gradient);
        (self.log_density)(z)
    }
}
