//! One bijection.

use mcsa::{Error, Stream};

/// One bijection `y = f(x)` of a [`Composed`](super::Composed), with its derivatives.
///
/// A batch is lent as a slice, a point after the other; there are as many points as `log_det` or `weights` has entries. What happens to a
/// point does not depend on the others, and gradients are added in the order of points.
pub trait Bijection: Send + Sync {
    /// The dimension of a point, on both sides.
    fn dim(&self) -> usize;

    /// How many params it has.
    fn num_params(&self) -> usize;

    /// Numbers of lent memory that any method needs for so many points.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Refuses params, finite and in the right number, at which it is no bijection.
    ///
    /// # Errors
    /// Says which and where.
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        let _ = params;
        Ok(())
    }

    /// Appends params at which it is the identity, or as near as it comes.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>);

    /// Writes `y_j = f(x_j)` and adds `log |det df/dx|` at `x_j`.
    fn forward(&self, params: &[f64], x: &[f64], y: &mut [f64], log_det: &mut [f64], work: &mut [f64]);

    /// From cotangents of `y` to those of `x`, which take their place. Adds the gradient in the params of
    /// `sum_j cotangents_j . f(x_j) + weights[j] log |det df/dx|`; what stands for `x` also has the slope of the second term.
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
    /// Writes `x_j = f^-1(y_j)` and adds `log |det dx/dy|` at `y_j`.
    fn inverse(&self, params: &[f64], y: &[f64], x: &mut [f64], log_det: &mut [f64], work: &mut [f64]);

    /// As [`pull`](Bijection::pull) of the inverse map: from cotangents of `x` to those of `y`, with the gradient in the params of
    /// `sum_j cotangents_j . f^-1(y_j) + weights[j] log |det dx/dy|`, at fixed `y`.
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
