//! Variational families `q_lambda`: densities, draws, scores, and reparameterisations.

use faer::{MatMut, MatRef};

use crate::{Parametric, Stream};

/// Variational family: the map from lambda to the distribution `q_lambda`, with its density at every point. Dimension, lambda and
/// lent memory are those of [`Parametric`].
///
/// Estimators are weighted sums of scores, so [`add_scores`](Family::add_scores) adds a weighted sum to its result. The
/// single-point methods call the batched ones with one column, so the result of a point is bit-identical whatever the batch.
pub trait Family: Parametric {
    /// `log q_lambda` of each column of `z`, written to `log_q`.
    ///
    /// # Panics
    /// If the shapes differ.
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]);

    /// Draws every column of `z` from `q_lambda` and writes the log densities of the draws, which cost nothing extra here, to
    /// `log_q`.
    ///
    /// With `c` columns and `l` lanes, lane `j` draws columns `j c/l .. (j+1) c/l`, in that order.
    ///
    /// # Panics
    /// If the shapes differ, or the lanes do not divide the columns.
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
    ///
    /// # Panics
    /// If the shapes differ.
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    );

    /// Draws columns of `z` from several members of the family, without densities: `pick` chooses the member of a column from its stream
    /// before the column is drawn, and the parameters of member k are the k-th part of `members`. The points are those of
    /// [`sample_into`](Family::sample_into) for one column after the other. `false`, and nothing is drawn, if the family has no faster
    /// way than that; `work` as for a batch of these columns.
    ///
    /// # Panics
    /// If the shapes differ, or the lanes do not divide the columns.
    fn sample_members_into(
        &self,
        _members: &[f64],
        _pick: &mut dyn FnMut(&mut Stream) -> usize,
        _lanes: &mut [Stream],
        _z: MatMut<'_, f64>,
        _work: &mut [f64],
    ) -> bool {
        false
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

    /// Draws every column of `noise`, with lanes as in [`Family::sample_into`]. The distribution of the noise must be symmetric:
    /// `-eps` has the same density as `eps`.
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>);

    /// Transforms noise into points, `z_j = t(lambda, eps_j)`.
    ///
    /// # Panics
    /// If the shapes differ.
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, work: &mut [f64]);

    /// Pathwise gradient, `gradient += sum_j (d t(lambda, eps_j) / d lambda)^T cotangents_j`, added in the order of `j`.
    ///
    /// # Panics
    /// If the shapes differ.
    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    );

    /// Gradient in z, `slopes_j += weight * d/dz log q_lambda(z_j)` for each column `j`.
    ///
    /// # Panics
    /// If the shapes differ.
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
