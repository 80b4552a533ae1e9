//! Traits of a layer of a flow: a bijection with its log-determinant and derivatives, and its inverse.

use mcsa_core::{Error, Stream};

/// Bijection `y = f(x)`, a layer of a [`Composed`](super::Composed) flow, with log-determinant and derivatives.
///
/// A batch is a slice, one point after the other; the number of points is the length of `log_det` or `weights`. The arithmetic of
/// one point does not depend on the others, and gradients are added in the order of points.
pub trait Bijection: Send + Sync {
    /// The dimension of a point, equal for `x` and `y`.
    fn dim(&self) -> usize;

    /// The number of parameters.
    fn num_params(&self) -> usize;

    /// Length of `work` that every method needs for `columns` points.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Refuses parameters at which the map is no bijection; they are finite and of the right number.
    ///
    /// # Errors
    /// If the map is no bijection at `params`; the error names the parameter.
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        let _ = params;
        Ok(())
    }

    /// Appends parameters at which the map is the identity, exactly or nearly.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>);

    /// Writes `y_j = f(x_j)` and adds `log |det df/dx|` at `x_j` to `log_det`.
    fn forward(&self, params: &[f64], x: &[f64], y: &mut [f64], log_det: &mut [f64], work: &mut [f64]);

    /// Reverse-mode derivative of [`forward`](Self::forward): replaces cotangents of `y` by those of `x`, and adds the gradient in
    /// `params` of `sum_j cotangents_j . f(x_j) + weights[j] log |det df/dx|`. The cotangent of `x` is the gradient of both terms
    /// in `x`.
    #[expect(clippy::too_many_arguments, reason = "a sweep reads what the forward sweep wrote")]
    fn pull(
        &self,
        params: &[f64],
        x: &[f64],
        y: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    );
}

/// A [`Bijection`] whose inverse is exact: a formula, a triangular sweep, or a monotone scalar equation solved to rounding.
pub trait Invertible: Bijection {
    /// Writes `x_j = f^-1(y_j)` and adds `log |det dx/dy|` at `y_j` to `log_det`.
    fn inverse(&self, params: &[f64], y: &[f64], x: &mut [f64], log_det: &mut [f64], work: &mut [f64]);

    /// Reverse-mode derivative of [`inverse`](Self::inverse), as [`pull`](Bijection::pull): replaces cotangents of `x` by those of
    /// `y`, and adds the gradient in `params` of `sum_j cotangents_j . f^-1(y_j) + weights[j] log |det dx/dy|`, at fixed `y`.
    #[expect(clippy::too_many_arguments, reason = "a sweep reads what the forward sweep wrote")]
    fn pull_inverse(
        &self,
        params: &[f64],
        y: &[f64],
        x: &[f64],
        weights: &[f64],
        cotangents: &mut [f64],
        gradient: &mut [f64],
        work: &mut [f64],
    );
}
