//! Smooth targets, and targets with a discontinuity.

use mcsa_core::{Gradient, LogDensity, from_fn};
use mcsa_models::{Funnel, Gaussian};

/// Banana: `z_1 ~ N(0, 1)`, `z_2 ~ N(z_1^2 / 2, 1)`; further coordinates do not enter.
pub(crate) fn banana_in(dim: usize) -> impl Gradient {
    let log_density = |z: &[f64]| -0.5 * (z[0] * z[0] + (z[1] - 0.5 * z[0] * z[0]).powi(2));
    from_fn(dim, log_density).with_gradient(|z, gradient| {
        let residual = z[1] - 0.5 * z[0] * z[0];
        gradient.fill(0.0);
        (gradient[0], gradient[1]) = (-z[0] + residual * z[0], -residual);
    })
}

pub(crate) fn banana() -> impl Gradient {
    banana_in(2)
}

/// Funnel: `v ~ N(0, 1)`, `x ~ N(0, e^v)`.
pub(crate) fn funnel() -> Funnel {
    Funnel::new(2, 1.0).unwrap()
}

/// A Gaussian with standard deviations 1 and 2 and correlation 0.6.
pub(crate) fn correlated() -> Gaussian {
    Gaussian::new(vec![1.0, -1.0], faer::mat![[1.0, 1.2], [1.2, 4.0]].as_ref()).unwrap()
}

/// A standard Gaussian in the plane with log density `beyond` where the first coordinate is above `edge`. There the first
/// entry of the gradient equals `beyond` too, unless `beyond` is `-inf`.
pub(crate) fn edge(edge: f64, beyond: f64) -> impl Gradient {
    let log_density = move |z: &[f64]| {
        assert!(z.iter().all(|z| z.is_finite()), "a target is never asked about a point that is not finite");
        if z[0] > edge { beyond } else { -0.5 * (z[0] * z[0] + z[1] * z[1]) }
    };
    from_fn(2, log_density).with_gradient(move |z, gradient| {
        gradient[0] = if z[0] > edge && beyond != f64::NEG_INFINITY { beyond } else { -z[0] };
        gradient[1] = -z[1];
    })
}

/// A standard Gaussian on the line, its log density lowered by `depth` between 0.7 and 1.1. The gradient ignores this, which keeps
/// the leapfrog reversible and volume-preserving.
pub(crate) fn pit(depth: f64) -> impl Gradient {
    let is_inside = |z: f64| (z - 0.9).abs() < 0.2;
    from_fn(1, move |z| -0.5 * z[0] * z[0] - if is_inside(z[0]) { depth } else { 0.0 })
        .with_gradient(|z, gradient| gradient[0] = -z[0])
}

/// Flat, 2000 higher from a half on.
pub(crate) fn cliff() -> impl Gradient {
    from_fn(1, |z| if z[0].abs() > 0.5 { 2_000.0 } else { 0.0 })
        .with_gradient(|_, gradient| gradient.fill(0.0))
}

/// A target's log density at a point.
pub(crate) fn log_p(target: &dyn LogDensity, z: &[f64]) -> f64 {
    target.log_density(z, &mut vec![f64::NAN; target.work_len(1)])
}
