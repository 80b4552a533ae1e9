//! Robust regression as a model with one local latent point per datum.

use mcsa_core::LocalLatents;

use super::LocalRobustRegression;

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
