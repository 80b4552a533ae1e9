//! Smooth targets, and targets with a discontinuity.

use mcsa_core::{Gradient, LogDensity};

/// Banana: `z_1 ~ N(0, 1)`, `z_2 ~ N(z_1^2 / 2, 1)`.
pub(crate) struct Banana;

impl LogDensity for Banana {
    fn dim(&self) -> usize {
        2
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        -0.5 * (z[0] * z[0] + (z[1] - 0.5 * z[0] * z[0]).powi(2))
    }
}

impl Gradient for Banana {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let residual = z[1] - 0.5 * z[0] * z[0];
        gradient[0] = -z[0] + residual * z[0];
        gradient[1] = -residual;
        self.log_density(z, work)
    }
}

/// Funnel: `v ~ N(0, 1)`, `x ~ N(0, e^v)`.
pub(crate) struct Funnel;

impl LogDensity for Funnel {
    fn dim(&self) -> usize {
        2
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        -0.5 * (z[0] * z[0] + z[1] * z[1] * (-z[0]).exp() + z[0])
    }
}

impl Gradient for Funnel {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let precision = (-z[0]).exp();
        gradient[0] = -z[0] + 0.5 * (z[1] * z[1] * precision - 1.0);
        gradient[1] = -z[1] * precision;
        self.log_density(z, work)
    }
}

/// A Gaussian with standard deviations 1 and 2 and correlation 0.6.
pub(crate) fn correlated() -> mcsa_models::Gaussian {
    mcsa_models::Gaussian::new(vec![1.0, -1.0], faer::mat![[1.0, 1.2], [1.2, 4.0]].as_ref()).unwrap()
}

/// A standard Gaussian in the plane with log density `beyond` where the first coordinate is above `edge`. There the first
/// entry of the gradient equals `beyond` too, unless `beyond` is `-inf`.
pub(crate) struct Edge {
    pub(crate) edge: f64,
    pub(crate) beyond: f64,
}

impl LogDensity for Edge {
    fn dim(&self) -> usize {
        2
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        assert!(z.iter().all(|z| z.is_finite()), "a target is never asked about a point that is not finite");
        if z[0] > self.edge { self.beyond } else { -0.5 * (z[0] * z[0] + z[1] * z[1]) }
    }
}

impl Gradient for Edge {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let log_p = self.log_density(z, work);
        gradient[0] = if z[0] > self.edge && self.beyond != f64::NEG_INFINITY { self.beyond } else { -z[0] };
        gradient[1] = -z[1];
        log_p
    }
}

/// A standard Gaussian on the line, its log density lowered by `depth` near `place`. The gradient ignores this, which keeps
/// the leapfrog reversible and volume-preserving.
pub(crate) struct Pit {
    pub(crate) place: f64,
    pub(crate) half_width: f64,
    pub(crate) depth: f64,
}

impl LogDensity for Pit {
    fn dim(&self) -> usize {
        1
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let inside = (z[0] - self.place).abs() < self.half_width;
        -0.5 * z[0] * z[0] - if inside { self.depth } else { 0.0 }
    }
}

impl Gradient for Pit {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient[0] = -z[0];
        self.log_density(z, work)
    }
}
