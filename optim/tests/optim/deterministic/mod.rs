//! Tests of deterministic optimisation against closed forms.

mod gaussians;
mod lbfgs;
mod propagation;

use mcsa_core::{Gradient, LogDensity};

/// Target made of a function that returns the log density and writes the gradient.
struct Density<F>(usize, F);

impl<F: Fn(&[f64], &mut [f64]) -> f64 + Send + Sync> LogDensity for Density<F> {
    fn dim(&self) -> usize {
        self.0
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.1(z, &mut vec![0.0; z.len()])
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> f64 + Send + Sync> Gradient for Density<F> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.1(z, gradient)
    }
}

/// Distribution of the logarithm of a Gamma variable with shape `a` and rate 1: log density `a z - exp(z)`, mode `ln a`, mass
/// `Gamma(a)`.
fn log_gamma(a: f64) -> Density<impl Fn(&[f64], &mut [f64]) -> f64 + Send + Sync> {
    Density(1, move |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = a - z[0].exp();
        a * z[0] - z[0].exp()
    })
}

/// A correlated Gaussian of any dimension, its scales spread over `spread` powers of ten.
fn gaussian(dim: usize, spread: f64) -> mcsa_models::Gaussian {
    let scale = |i: usize| 10.0_f64.powf(spread * i as f64 / dim as f64);
    let covariance = faer::Mat::from_fn(dim, dim, |i, j| {
        scale(i) * scale(j) * 0.5_f64.powi(i32::try_from(i.abs_diff(j)).expect("small"))
    });
    let mean = (0..dim).map(|i| (i as f64).sin()).collect();
    mcsa_models::Gaussian::new(mean, covariance.as_ref()).expect("positive definite")
}
