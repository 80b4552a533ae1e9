//! Pushforward distributions: samples and pathwise gradients, but no density at arbitrary points.

use std::fmt;

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use serde::{Deserialize, Serialize};

use crate::{Parametric, Stream};

/// Step sizes of a path inside a pushforward that are clipped; such a step size has derivative zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepSizes {
    /// Number of steps of size zero, which do not move.
    pub zero: usize,
    /// Number of steps of the largest size.
    pub longest: usize,
    /// Number of all steps.
    pub steps: usize,
}

impl StepSizes {
    /// True if the path has steps and none of them moves. Then all its derivatives are zero, and a fit changes the base alone.
    pub const fn is_still(&self) -> bool {
        self.steps > 0 && self.zero == self.steps
    }
}

impl fmt::Display for StepSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { zero, longest, steps } = self;
        write!(f, "step sizes: {zero} of {steps} are zero and {longest} the largest")?;
        f.write_str(if self.is_still() { "; the path stands still" } else { "" })
    }
}

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
    fn sample_reverse_into(
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

    /// As [`push`](Self::push) and then [`add_push_gradients`](Self::add_push_gradients) at the same noise. In between `pull`
    /// replaces the log densities by the weights and fills the cotangents of the points; if it returns false, the gradient is not
    /// changed.
    ///
    /// Override it if the reverse sweep can use again what the forward sweep computed.
    ///
    /// # Panics
    /// If the shapes differ.
    #[expect(clippy::too_many_arguments, reason = "arguments of both methods")]
    fn push_and_add_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut cotangents: MatMut<'_, f64>,
        pull: &mut Backprop<'_>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.push(params, noise, z.rb_mut(), log_q, work);
        if pull(z.as_ref(), log_q, cotangents.rb_mut()) {
            self.add_push_gradients(params, noise, cotangents.as_ref(), log_q, gradient, work);
        }
    }

    /// Numbers of clipped step sizes at these params, for a pushforward that is simulated in steps.
    fn step_sizes(&self, params: &[f64], work: &mut [f64]) -> StepSizes {
        let _ = (params, work);
        StepSizes::default()
    }
}

/// Function of points, log densities and cotangents that [`Pushforward::push_and_add_gradients`] calls between its two sweeps.
pub type Backprop<'a> = dyn FnMut(MatRef<'_, f64>, &mut [f64], MatMut<'_, f64>) -> bool + 'a;
