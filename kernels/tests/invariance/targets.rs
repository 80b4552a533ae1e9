//! Targets of the tests. Each has a property that breaks some kernel: correlation, curvature, varying scale, separate modes,
//! heavy tails.

use faer::{Mat, mat};
use mcsa_core::{ExactDraws, Gradient, LogDensity, Stream};
use mcsa_models::{Banana, Funnel, Gaussian, LinearRegression, Mixture, Student};

/// Mean 0, variance 1, and correlation `rho^|i - j|`: a stationary autoregression.
pub(crate) fn correlated(dim: usize, rho: f64) -> Gaussian {
    let covariance = Mat::from_fn(dim, dim, |i, j| rho.powi(i.abs_diff(j) as i32));
    Gaussian::new(vec![0.0; dim], covariance.as_ref()).expect("a correlation")
}

pub(crate) fn banana() -> Banana {
    Banana::new(1.5, 0.4).expect("a width and a bend")
}

/// Three dimensions and scale 1, so that short chains still reach both ends.
pub(crate) fn funnel() -> Funnel {
    Funnel::new(3, 1.0).expect("a scale")
}

pub(crate) fn mixture() -> Mixture {
    Mixture::modes(2, 4.0, 0.3).expect("a distance and a share")
}

pub(crate) fn student(dim: usize, freedom: f64) -> Student {
    Student::new(vec![0.0; dim], vec![1.0; dim], freedom).expect("degrees of freedom")
}

/// A posterior with exact draws, of six data.
pub(crate) fn regression() -> LinearRegression {
    let x = mat![[1.0, 0.3], [1.0, -1.2], [1.0, 0.8], [1.0, 2.0], [1.0, -0.4], [1.0, 1.1]];
    LinearRegression::new(x.as_ref(), &[0.2, 1.5, -0.3, -1.0, 0.9, 0.1], 0.7, 1.5).unwrap()
}

/// The density of a Gaussian to a power, with the draws of the Gaussian itself: a target that its draws do not follow.
pub(crate) struct Narrow(pub(crate) Gaussian, pub(crate) f64);

impl LogDensity for Narrow {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn work_len(&self, columns: usize) -> usize {
        self.0.work_len(columns)
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.1 * self.0.log_density(z, work)
    }
}

impl Gradient for Narrow {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.1 * self.0.gradient_into(z, gradient, work)
    }
}

impl ExactDraws for Narrow {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        self.0.draw_into(stream, z);
    }
}
