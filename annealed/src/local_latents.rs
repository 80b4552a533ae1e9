//! Minibatches of a model with global parameters and one local latent point per datum.

use crate::minibatched::checked_rows;
use mcsa_core::{Error, Gradient, LogDensity};
use mcsa_models::LocalRobustRegression;

/// Minibatch of a model with one local latent point per datum: `log p(theta) + N/B sum_{n in rows} l_n(w_n; theta)` at
/// `z = (theta, w_n of the rows)`.
///
/// Given theta the local points are independent, so a method can treat a minibatch of them (SL-DAIS, App. A).
#[derive(Debug)]
pub struct LocalMinibatch<'a> {
    model: &'a LocalRobustRegression,
    rows: &'a [usize],
}

impl<'a> LocalMinibatch<'a> {
    /// The minibatch of these rows.
    ///
    /// # Errors
    /// If there is no row, or a row is not less than the number of data.
    pub fn new(model: &'a LocalRobustRegression, rows: &'a [usize]) -> Result<Self, Error> {
        Ok(Self { model, rows: checked_rows("model", model.num_data(), rows)? })
    }
}

impl LogDensity for LocalMinibatch<'_> {
    fn dim(&self) -> usize {
        self.model.num_globals() + self.rows.len()
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.gradient_into(z, &mut work[..z.len()], &mut [])
    }
}

impl Gradient for LocalMinibatch<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        let scale = self.model.num_data() as f64 / self.rows.len() as f64;
        let (theta, points) = z.split_at(self.model.num_globals());
        let (of_theta, slopes) = gradient.split_at_mut(theta.len());
        of_theta.fill(0.0);
        let prior = self.model.add_prior_gradient(theta, of_theta);
        let mut sum = 0.0;
        for ((&row, &w), slope) in self.rows.iter().zip(points).zip(slopes) {
            let term = self.model.term(row, theta);
            *slope = scale * term.slope(w);
            self.model.add_theta_gradient(row, theta, scale * term.of_square(w), scale, of_theta);
            sum += term.log_density(w);
        }
        prior + scale * sum
    }
}
