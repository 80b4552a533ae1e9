//! Models with global parameters and one local latent point per datum.

use crate::minibatched::checked_rows;
use mcsa_core::{Error, Gradient, LogDensity};
use mcsa_models::LocalRobustRegression;

/// Model with global latents theta and one local latent point per datum, `log p(theta) + sum_n l_n(w_n; theta)`.
///
/// `l_n(w; theta) = log p(w | theta) + log p(y_n | w, theta)` is in unconstrained w, log-Jacobian included. Given theta the local
/// points are independent, so a method can treat a minibatch of them (SL-DAIS, App. A).
pub trait LocalLatents: Send + Sync {
    /// The number N of data.
    fn num_data(&self) -> usize;

    /// The dimension of theta.
    fn num_globals(&self) -> usize;

    /// The dimension of a local point.
    fn local_dim(&self) -> usize;

    /// Writes the gradient of `log p(theta)` and returns `log p(theta)`.
    fn global_gradient_into(&self, theta: &[f64], gradient: &mut [f64]) -> f64;

    /// Writes `dl_n/dw` to `slope`, adds `scale * dl_n/dtheta` to `theta_bar` unless that is empty, and returns `l_n(w; theta)`.
    ///
    /// # Panics
    /// If `row` is not less than the number of data.
    fn local_gradient_into(
        &self,
        row: usize,
        theta: &[f64],
        w: &[f64],
        slope: &mut [f64],
        scale: f64,
        theta_bar: &mut [f64],
    ) -> f64;

    /// `product += scale * (d^2 l_n/dw^2) u`, and `theta_bar += scale * d/dtheta [u . dl_n/dw]`.
    ///
    /// # Panics
    /// If `row` is not less than the number of data.
    #[expect(clippy::too_many_arguments, reason = "datum, point, direction, factor, two results")]
    fn add_local_second(
        &self,
        row: usize,
        theta: &[f64],
        w: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        theta_bar: &mut [f64],
    );
}

/// Minibatch of a model with local latents: `log p(theta) + N/B sum_{n in rows} l_n(w_n; theta)` at `z = (theta, w_n of the rows)`.
#[derive(Debug)]
pub struct LocalMinibatch<'a, M: ?Sized> {
    model: &'a M,
    rows: &'a [usize],
}

impl<'a, M: LocalLatents + ?Sized> LocalMinibatch<'a, M> {
    /// The minibatch of these rows.
    ///
    /// # Errors
    /// If there is no row, or a row is not less than the number of data.
    pub fn new(model: &'a M, rows: &'a [usize]) -> Result<Self, Error> {
        Ok(Self { model, rows: checked_rows("model", model.num_data(), rows)? })
    }
}

impl<M: LocalLatents + ?Sized> LogDensity for LocalMinibatch<'_, M> {
    fn dim(&self) -> usize {
        self.model.num_globals() + self.rows.len() * self.model.local_dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.gradient_into(z, &mut work[..z.len()], &mut [])
    }
}

impl<M: LocalLatents + ?Sized> Gradient for LocalMinibatch<'_, M> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        let (globals, d) = (self.model.num_globals(), self.model.local_dim());
        let scale = self.model.num_data() as f64 / self.rows.len() as f64;
        let (theta, points) = z.split_at(globals);
        let (of_theta, of_points) = gradient.split_at_mut(globals);
        let prior = self.model.global_gradient_into(theta, of_theta);
        let mut sum = 0.0;
        let locals = points.chunks_exact(d).zip(of_points.chunks_exact_mut(d));
        for (&row, (w, slope)) in self.rows.iter().zip(locals) {
            sum += self.model.local_gradient_into(row, theta, w, slope, scale, of_theta);
            slope.iter_mut().for_each(|slope| *slope *= scale);
        }
        prior + scale * sum
    }
}

/// Robust regression with one local latent point per datum.
impl LocalLatents for LocalRobustRegression {
    fn num_data(&self) -> usize {
        Self::num_data(self)
    }

    fn num_globals(&self) -> usize {
        Self::num_globals(self)
    }

    fn local_dim(&self) -> usize {
        1
    }

    fn global_gradient_into(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        self.add_prior_gradient(theta, gradient)
    }

    fn local_gradient_into(
        &self,
        row: usize,
        theta: &[f64],
        w: &[f64],
        slope: &mut [f64],
        scale: f64,
        theta_bar: &mut [f64],
    ) -> f64 {
        let term = self.term(row, theta);
        slope[0] = term.slope(w[0]);
        if !theta_bar.is_empty() {
            self.add_theta_gradient(row, theta, scale * term.of_square(w[0]), scale, theta_bar);
        }
        term.log_density(w[0])
    }

    fn add_local_second(
        &self,
        row: usize,
        theta: &[f64],
        w: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        theta_bar: &mut [f64],
    ) {
        let term = self.term(row, theta);
        product[0] += scale * term.curvature(w[0]) * u[0];
        self.add_theta_gradient(row, theta, scale * u[0] * term.of_square(w[0]), 0.0, theta_bar);
    }
}
