//! State-space form of the volatility model: transitions, observations and their gradient in theta.

use crate::{GaussianDynamics, StateSpace};
use mcsa_core::numeric::exp;
use mcsa_core::{LogDensity, Stream};

use super::{FirstState, Theta};
use mcsa_models::support::{HALF_LOG_TAU, decided};

/// Quantities computed once per theta.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    theta: Theta,
    phi: f64,
    first: FirstState,
    pub(super) first_mean: f64,
    pub(super) first_variance: f64,
    pub(super) variance: f64,
    precision: f64,
    scale: f64,
}

impl Law {
    pub(super) fn new(theta: Theta, first: FirstState) -> Self {
        let variance = theta.variance();
        let first_mean = match first {
            FirstState::Level => theta.mu,
            FirstState::Zero => 0.0,
        };
        let first_variance = variance * (-theta.log_gap()).exp();
        Self {
            theta,
            phi: theta.phi(),
            first,
            first_mean,
            first_variance,
            variance,
            precision: variance.recip(),
            scale: variance.sqrt(),
        }
    }

    pub(super) fn mean(&self, previous: f64) -> f64 {
        self.theta.mu + self.phi * (previous - self.theta.mu)
    }

    /// Adds `weight d/dtheta log p(z, x; theta)` to `gradient`, in the order of the fields of [`Theta`].
    pub(super) fn add_gradient(&self, squares: &[f64], z: &[f64], weight: f64, gradient: &mut [f64]) {
        assert_eq!(z.len(), squares.len() + 1, "a path of states");
        assert_eq!(gradient.len(), 4, "four parameters");
        let (Theta { mu, log_beta, .. }, phi) = (self.theta, self.phi);
        let (gap, precision) = (self.theta.log_gap().exp(), self.variance.recip());
        let off = z[0] - self.first_mean;
        let (mut sum, mut gaps, mut crosses, mut surprise) = (gap * off * off, 0.0, 0.0, 0.0);
        for (pair, square) in z.windows(2).zip(squares) {
            let before = pair[0] - mu;
            let gap = pair[1] - mu - phi * before;
            sum += gap * gap;
            gaps += gap;
            crosses += gap * before;
            surprise += square * (-log_beta - pair[1]).exp() - 1.0;
        }
        let pull = match self.first {
            FirstState::Level => gap * off,
            FirstState::Zero => 0.0,
        };
        gradient[0] += weight * precision * (pull + (1.0 - phi) * gaps);
        gradient[1] += weight * (gap * precision * (phi * off * off + crosses) - phi);
        gradient[2] += weight * (precision * sum - z.len() as f64);
        gradient[3] += weight * 0.5 * surprise;
    }
}

/// [`FxVolatility`](crate::FxVolatility) at one theta, as a state-space model: one state before the first return, then one per
/// return.
#[derive(Debug, Clone, Copy)]
pub struct FxStates<'a> {
    pub(super) squares: &'a [f64],
    pub(super) law: Law,
}

impl LogDensity for FxStates<'_> {
    fn dim(&self) -> usize {
        self.num_states()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        decided(self.log_path(z), z)
    }
}

impl StateSpace for FxStates<'_> {
    fn num_states(&self) -> usize {
        self.squares.len() + 1
    }

    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        if t == 0 {
            let scale = self.law.first_variance.sqrt();
            z.iter_mut().for_each(|z| *z = self.law.first_mean + scale * *z);
        } else {
            assert_eq!(z.len(), previous.len(), "a predecessor per state");
            let scale = self.law.scale;
            for (z, &previous) in z.iter_mut().zip(previous) {
                *z = self.law.mean(previous) + scale * *z;
            }
        }
    }

    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        assert_eq!(z.len(), out.len(), "a density per state");
        if t == 0 {
            let (mean, precision) = (self.law.first_mean, self.law.first_variance.recip());
            let peak = 0.5 * precision.ln() - HALF_LOG_TAU;
            for (out, z) in out.iter_mut().zip(z) {
                *out = peak - 0.5 * precision * (z - mean) * (z - mean);
            }
        } else {
            assert_eq!(z.len(), previous.len(), "a predecessor per state");
            let (precision, peak) = (self.law.precision, -self.law.theta.log_sigma - HALF_LOG_TAU);
            for ((out, z), &previous) in out.iter_mut().zip(z).zip(previous) {
                let gap = z - self.law.mean(previous);
                *out = peak - 0.5 * precision * gap * gap;
            }
        }
    }

    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        assert_eq!(z.len(), out.len(), "a density per state");
        let (Some(&square), log_beta) = (self.squares.get(t.wrapping_sub(1)), self.law.theta.log_beta) else {
            return out.fill(0.0);
        };
        for (out, z) in out.iter_mut().zip(z) {
            *out = -log_beta - z;
        }
        exp(out);
        for (out, z) in out.iter_mut().zip(z) {
            *out = -0.5 * (log_beta + z + square * *out) - HALF_LOG_TAU;
        }
    }
}

impl GaussianDynamics for FxStates<'_> {
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64 {
        if t == 0 {
            means.fill(self.law.first_mean);
            return self.law.first_variance;
        }
        assert_eq!(means.len(), previous.len(), "a mean per predecessor");
        for (mean, &previous) in means.iter_mut().zip(previous) {
            *mean = self.law.mean(previous);
        }
        self.law.variance
    }
}
