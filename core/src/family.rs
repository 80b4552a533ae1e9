//! Parametric distributions `q_lambda`: families with a density at every point, reparameterisations, and pushforwards.

use std::fmt;

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use serde::{Deserialize, Serialize};

use crate::{Error, Stream, all_finite, each_column, same_length};

/// Distribution with parameters lambda, one flat slice `params` of unconstrained numbers: the part that [`Family`] and
/// [`Pushforward`] share.
///
/// A type that is both a family and a pushforward has one dimension, one lambda and one length of work, which is enough for the
/// methods of either trait.
///
/// Every slice `params` must have passed [`check`](Parametric::check) before any method of these traits is called with it;
/// [`FamilyProposal`](crate::FamilyProposal) and the loop of a fit make sure of that. Methods for batches panic if the shapes differ, or
/// the lanes do not divide the columns.
pub trait Parametric: Send + Sync {
    /// The dimension of a point; of a block family, the dimension of the latent point of one datum.
    fn dim(&self) -> usize;

    /// The length of lambda. The documentation of each family describes the order of its entries.
    fn num_params(&self) -> usize;

    /// Length of the slice `work` that any method needs for a batch of `columns` columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Checks that `params` has the right length, is finite, and lies where the distribution is defined.
    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)
    }

    /// Text of the configuration. A checkpoint stores this text, and a fit is resumed only if the texts agree.
    ///
    /// Implement it as `format!("{self:?}")` or as a shorter text with the same content. The default is the name of the type alone,
    /// without the values of its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }
}

/// Variational family: the map from lambda to the distribution `q_lambda`, with its density at every point. Dimension, lambda and
/// lent memory are those of [`Parametric`].
///
/// Estimators are weighted sums of scores, so [`add_scores`](Family::add_scores) adds a weighted sum to its result. The
/// single-point methods call the batched ones with one column, so the result of a point is bit-identical whatever the batch.
pub trait Family: Parametric {
    /// `log q_lambda` of each column of `z`, written to `log_q`.
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]);

    /// Draws every column of `z` from `q_lambda` and writes the log densities of the draws, which cost nothing extra here, to
    /// `log_q`.
    ///
    /// With `c` columns and `l` lanes, lane `j` draws columns `j c/l .. (j+1) c/l`, in that order.
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    );

    /// Weighted sum of scores, `gradient += sum_j weights[j] * d/dlambda log q_lambda(z_j)`, added in the order of `j`.
    ///
    /// If `log q_lambda` is `-inf`, the score does not exist, and the result may not be finite.
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    );

    /// [`log_probs`](Self::log_probs), bit for bit, if `work` still holds what [`sample_into`](Self::sample_into) wrote to it.
    ///
    /// That earlier call had the same `params`, and since then only `log_probs_again` and `add_scores_again` have used `work`.
    /// Override these two methods if draws, densities and scores share quantities that depend on `params` alone.
    fn log_probs_again(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        self.log_probs(params, z, log_q, work);
    }

    /// [`add_scores`](Self::add_scores) under the condition on `work` of [`log_probs_again`](Self::log_probs_again).
    fn add_scores_again(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.add_scores(params, z, weights, gradient, work);
    }

    /// Replaces `z` by its antithetic point `2 m - z`, its mirror image in the centre `m` of `q_lambda`, and returns true.
    ///
    /// The mirror image has the same density as `z`; that of a draw is again a draw from `q_lambda`. A family without this symmetry
    /// returns false and leaves `z` unchanged.
    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        let _ = (params, z);
        false
    }

    /// Log density of one point, `log q_lambda(z)`.
    fn log_prob(&self, params: &[f64], z: &[f64], work: &mut [f64]) -> f64 {
        let mut log_q = [0.0];
        self.log_probs(params, crate::one(z), &mut log_q, work);
        log_q[0]
    }

    /// Weighted score of one point, `gradient += weight * d/dlambda log q_lambda(z)`.
    fn add_score(&self, params: &[f64], z: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        self.add_scores(params, crate::one(z), &[weight], gradient, work);
    }
}

/// Reparameterised family: draws are `z = t(lambda, eps)`, differentiable in lambda, with noise `eps` that does not depend on
/// lambda.
pub trait Reparameterised: Family {
    /// The dimension of the noise.
    fn noise_dim(&self) -> usize {
        self.dim()
    }

    /// Draws every column of `noise`, with lanes as in [`Family::sample_into`]; by default standard normals. The distribution of the
    /// noise must be symmetric: `-eps` has the same density as `eps`.
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.noise_dim(), "a row for every noise");
        each_column(lanes, noise, |lane, _, noise| lane.normals_into(noise));
    }

    /// Transforms noise into points, `z_j = t(lambda, eps_j)`.
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, work: &mut [f64]);

    /// Pathwise gradient, `gradient += sum_j (d t(lambda, eps_j) / d lambda)^T cotangents_j`, added in the order of `j`.
    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    );

    /// Gradient in z, `slopes_j += weight * d/dz log q_lambda(z_j)` for each column `j`.
    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        slopes: MatMut<'_, f64>,
        work: &mut [f64],
    );

    /// The entropy `-E_q[log q_lambda]`; `work` as for a batch of one column.
    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64;

    /// Gradient of the entropy, `gradient += weight * d/dlambda entropy(lambda)`; `work` as for a batch of one column.
    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]);
}

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
/// A pushforward offers less than a [`Family`], which has a density at every point. It is the trait of flows whose
/// inverse is iterative or has no formula: they can be fitted to the exclusive divergence, and code that needs a score at a chain's
/// state does not compile with them. A flow with both directions implements both traits.
pub trait Pushforward: Parametric {
    /// The dimension of the noise.
    fn noise_dim(&self) -> usize {
        self.dim()
    }

    /// Draws every column of `noise`, with lanes as in [`Family::sample_into`]; by default standard normals. The distribution of the
    /// noise must be symmetric: `-eps` has the same density as `eps`.
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.noise_dim(), "a row for every noise");
        each_column(lanes, noise, |lane, _, noise| lane.normals_into(noise));
    }

    /// Transforms noise into points, `z_j = t(lambda, eps_j)`, and writes `log q_lambda(z_j)` to `log_q`.
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
    /// [`Family::sample_into`](Family::sample_into). `noise` is memory for a noise per point; its content afterwards is not
    /// specified.
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

    /// Calls [`push`](Self::push), then `pull`, then [`add_push_gradients`](Self::add_push_gradients) at the same noise.
    ///
    /// `pull` replaces the log densities by the weights and fills the cotangents of the points. If it returns false, the gradient
    /// is not changed. Override this method if the reverse sweep can use results of the forward sweep.
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
