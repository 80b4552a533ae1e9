//! What is known by how it is drawn.

use faer::{MatMut, MatRef};

use crate::{Error, Stream, all_finite, same_length};

/// A distribution known by how it is drawn: `z = t(lambda, eps)`, with its log density at what was drawn.
///
/// Less than a [`Family`](crate::Family): nobody can ask for the density at a point from elsewhere. Flows whose inverse is
/// iterative or has no formula are this much and no more, so that they can be fitted to the exclusive divergence, and
/// using them where a score at a chain's state is needed does not compile. A flow with both directions is both.
///
/// Every slice of params must have passed [`check`](Pushforward::check).
pub trait Pushforward: Send + Sync {
    /// The dimension of a point.
    fn dim(&self) -> usize;

    /// The length of lambda.
    fn num_params(&self) -> usize;

    /// Numbers of lent memory that any method needs for a batch of so many columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Refuses a lambda of the wrong length, one with a NaN or an infinity, or one that cannot be represented.
    ///
    /// # Errors
    /// Says which and where.
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)
    }

    /// The configuration in words, kept in checkpoints: a fit is resumed only where it is the same. Write `format!("{self:?}")`, or what
    /// says as much in fewer words; the default is the name of the type, which does not see its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// The dimension of the noise.
    fn noise_dim(&self) -> usize {
        self.dim()
    }

    /// Draws every column of `noise`; lanes as in [`Family::sample_into`](crate::Family::sample_into). `-eps` must be as
    /// likely as `eps`.
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>);

    /// Writes `z_j = t(lambda, eps_j)` and `log q_lambda(z_j)`.
    ///
    /// # Panics
    /// If the shapes differ.
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    );

    /// Adds, in the order of `j`, with both derivatives total:
    ///
    /// ```text
    /// gradient += sum_j  (d t(lambda, eps_j) / d lambda)^T cotangents_j
    ///                  + weights[j] * d/dlambda [ log q_lambda(t(lambda, eps_j)) ]
    /// ```
    ///
    /// # Panics
    /// If the shapes differ.
    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    );
}

impl<F: Pushforward + ?Sized> Pushforward for &F {
    fn config(&self) -> String {
        (**self).config()
    }
    fn dim(&self) -> usize {
        (**self).dim()
    }
    fn num_params(&self) -> usize {
        (**self).num_params()
    }
    fn work_len(&self, columns: usize) -> usize {
        (**self).work_len(columns)
    }
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        (**self).check(params)
    }
    fn noise_dim(&self) -> usize {
        (**self).noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        (**self).sample_noise_into(lanes, noise);
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        (**self).push(params, noise, z, log_q, work);
    }
    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        (**self).add_push_gradients(params, noise, cotangents, weights, gradient, work);
    }
}
