//! What fits: maps from lambda to a distribution.

use faer::{MatMut, MatRef};

use crate::{Error, Stream, all_finite, columns, same_length};

/// A map `lambda -> q_lambda`; lambda is one flat slice of unconstrained numbers, `params`.
///
/// Estimators are weighted sums of scores, so the third verb accumulates them. The single-point
/// forms are the batched forms on one column: a column has the same bits alone and in company.
///
/// Every slice of params must have passed [`check`](Family::check); [`At`](crate::At) and the loop see to it.
pub trait Family: Send + Sync {
    /// The dimension of a point.
    fn dim(&self) -> usize;

    /// The length of lambda. The type's documentation says how it is packed.
    fn num_params(&self) -> usize;

    /// Numbers of lent memory that any method needs for a batch of so many columns.
    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        0
    }

    /// Refuses a lambda of the wrong length, one with a NaN or an infinity, or one the family
    /// cannot represent.
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

    /// `log q_lambda` of each column of `z`.
    ///
    /// # Panics
    /// If the shapes differ.
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]);

    /// Draws every column of `z`, and says its log density, which is free here. With `c` columns
    /// and `l` lanes, lane `j` draws columns `j c/l .. (j+1) c/l`, in that order.
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

    /// `gradient += sum_j weights[j] * d/dlambda log q_lambda(z_j)`, added in the order of `j`. Where `log q_lambda` is
    /// `-inf` there is no score, and what is added may not be finite.
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

    /// Replaces `z` by its mirror image in the centre of `q_lambda`, `2 m - z`, which is as likely and, if `z` is a draw,
    /// a draw. False where the family knows no such symmetry; then `z` stays.
    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        let _ = (params, z);
        false
    }

    /// `log q_lambda(z)`.
    fn log_prob(&self, params: &[f64], z: &[f64], work: &mut [f64]) -> f64 {
        let mut log_q = [0.0];
        self.log_probs(params, columns::one(z), &mut log_q, work);
        log_q[0]
    }

    /// `gradient += weight * d/dlambda log q_lambda(z)`.
    fn add_score(&self, params: &[f64], z: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        self.add_scores(params, columns::one(z), &[weight], gradient, work);
    }
}

/// A family whose draws are a differentiable function of lambda and of noise that does not depend on it:
/// `z = t(lambda, eps)`.
pub trait Reparameterised: Family {
    /// The dimension of the noise.
    fn noise_dim(&self) -> usize {
        self.dim()
    }

    /// Draws every column of `noise`; lanes as in [`Family::sample_into`]. `-eps` must be as likely as `eps`.
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>);

    /// Writes `z_j = t(lambda, eps_j)`.
    ///
    /// # Panics
    /// If the shapes differ.
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, work: &mut [f64]);

    /// `gradient += sum_j (d t(lambda, eps_j) / d lambda)^T cotangents_j`, added in the order of `j`.
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

    /// `slopes_j += weight * d/dz log q_lambda(z_j)` for each column.
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

    /// The entropy `-E_q[log q_lambda]`, with memory for a batch of one.
    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64;

    /// `gradient += weight * d/dlambda entropy(lambda)`, with memory for a batch of one.
    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]);
}

impl<F: Family + ?Sized> Family for &F {
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
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        (**self).log_probs(params, z, log_q, work);
    }
    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        (**self).sample_into(params, lanes, z, log_q, work);
    }
    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        (**self).add_scores(params, z, weights, gradient, work);
    }
    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        (**self).reflect(params, z)
    }
}

impl<F: Reparameterised + ?Sized> Reparameterised for &F {
    fn noise_dim(&self) -> usize {
        (**self).noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        (**self).sample_noise_into(lanes, noise);
    }
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, work: &mut [f64]) {
        (**self).transport(params, noise, z, work);
    }
    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        (**self).add_pullbacks(params, noise, cotangents, gradient, work);
    }
    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        slopes: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        (**self).add_slopes(params, z, weight, slopes, work);
    }
    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        (**self).entropy(params, work)
    }
    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        (**self).add_entropy_gradient(params, weight, gradient, work);
    }
}
