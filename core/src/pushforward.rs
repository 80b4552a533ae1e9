//! Pushforward distributions: samples and pathwise gradients, but no density at arbitrary points.

use faer::{MatMut, MatRef};

use crate::{Parametric, Stream};

/// Pushforward of noise, `z = t(lambda, eps)`, with the log density `log q_lambda(z)` at its own draws alone.
///
/// A pushforward offers less than a [`Family`](crate::Family), which has a density at every point. It is the trait of flows whose
/// inverse is iterative or has no formula: they can be fitted to the exclusive divergence, and code that needs a score at a chain's
/// state does not compile with them. A flow with both directions implements both traits.
pub trait Pushforward: Parametric {
    /// The dimension of the noise.
    fn noise_dim(&self) -> usize {
        self.dim()
    }

    /// Draws every column of `noise`, with lanes as in [`Family::sample_into`](crate::Family::sample_into). The distribution of the
    /// noise must be symmetric: `-eps` has the same density as `eps`.
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>);

    /// Transforms noise into points, `z_j = t(lambda, eps_j)`, and writes `log q_lambda(z_j)` to `log_q`.
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

    /// Pathwise gradients of points and log densities, added in the order of `j`. Both derivatives are total derivatives in lambda:
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

    /// Draws noise that is pushed to each column of `z`, from the backward law `r(eps | z)`, and writes `log q_lambda` of that draw
    /// to `log_q`. Returns false, and writes nothing, if the backward law is not known; this is the default.
    ///
    /// If several noises lead to one point, as for an annealed path, then `q_lambda` belongs to the noise and not to the point. With
    /// `f` the density of the noise, the backward law is the one for which
    ///
    /// ```text
    /// f(eps) / q_lambda(eps) = r(eps | z),   z = t(lambda, eps)
    /// ```
    ///
    /// so that weights `p(z) / q_lambda(eps)` have the mean Z under every p. Lanes are those of
    /// [`Family::sample_into`](crate::Family::sample_into). `noise` is memory for a noise per point; its content afterwards is not
    /// specified.
    ///
    /// # Panics
    /// If the shapes differ.
    fn retrace_into(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        lanes: &mut [Stream],
        noise: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        let _ = (params, z, lanes, noise, log_q, work);
        false
    }
}

impl<F: Pushforward + ?Sized> Pushforward for &F {
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
    fn retrace_into(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        lanes: &mut [Stream],
        noise: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        (**self).retrace_into(params, z, lanes, noise, log_q, work)
    }
}
