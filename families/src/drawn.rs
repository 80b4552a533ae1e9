//! Pushforward view of any reparameterised family.

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, Error, Parametric, Pushforward, Reparameterised, Stream, batch, batch_mut, borrow, one,
};

/// A [`Reparameterised`] family as a [`Pushforward`], so that it can be fitted to the exclusive divergence by the same code as a
/// flow.
///
/// ```text
/// d/dlambda [log q_lambda(t(lambda, eps))] = (dt/dlambda)^T d/dz log q_lambda(z) + d/dlambda log q_lambda(z),   z = t(lambda, eps)
/// ```
/// The gradient has a path term and a score term; their sum is `-d/dlambda log |dt/deps|`. Each draw costs one slope and one score.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::{Drawn, MeanField};
/// let q = Drawn(MeanField::new(2));
/// assert_eq!((q.dim(), q.num_params()), (2, 4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn<F>(
    /// The family.
    pub F,
);

impl<F: Reparameterised> Parametric for Drawn<F> {
    fn config(&self) -> String {
        format!("Drawn({})", self.0.config())
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn num_params(&self) -> usize {
        self.0.num_params()
    }

    fn work_len(&self, columns: usize) -> usize {
        2 * self.0.dim() * columns + self.0.work_len(columns)
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        self.0.check(params)
    }
}

impl<F: Reparameterised> Pushforward for Drawn<F> {
    fn noise_dim(&self) -> usize {
        self.0.noise_dim()
    }

    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        self.0.sample_noise_into(lanes, noise);
    }

    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.0.transport(params, noise, z.rb_mut(), work);
        self.0.log_probs(params, z.as_ref(), log_q, work);
    }

    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (dim, n) = (self.0.dim(), weights.len());
        assert_eq!((cotangents.nrows(), cotangents.ncols()), (dim, n), "a cotangent and a weight per draw");
        let points = borrow(&mut work, dim * n);
        let slopes = borrow(&mut work, dim * n);
        self.0.transport(params, noise, batch_mut(points, dim, n), work);
        slopes.fill(0.0);
        self.0.add_slopes(params, batch(points, dim, n), 1.0, batch_mut(slopes, dim, n), work);
        // One draw at a time, so that each draw adds the same bits to the gradient whatever the batch.
        for (j, &weight) in weights.iter().enumerate() {
            let slope = &mut slopes[j * dim..(j + 1) * dim];
            for (slope, cotangent) in slope.iter_mut().zip(cotangents.column(j)) {
                *slope = cotangent + weight * *slope;
            }
            self.0.add_pullbacks(params, noise.subcols(j, 1), one(slope), gradient, work);
            self.0.add_scores(params, one(&points[j * dim..(j + 1) * dim]), &[weight], gradient, work);
        }
    }
}
