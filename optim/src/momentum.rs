//! Momentum: the heavy-ball method.

use mcsa_core::{Error, Optimizer, bits};
use serde::{Deserialize, Serialize};

use crate::domain::{assert_lengths, check_state, fraction};
use crate::{IntoSchedule, Schedule};

/// Gradient ascent with heavy-ball momentum (Polyak 1964).
///
/// ```text
/// v <- momentum v + gamma_t g        lambda <- lambda + v
/// ```
/// The rate is part of the velocity `v`, so a smaller rate does not reduce the velocity gained before. Over all later steps a
/// direction contributes `1 / (1 - momentum)` times its first step: with momentum 0.9, use a tenth of the rate of
/// [`Sgd`](crate::Sgd).
///
/// Units: the direction of `KL` has units of 1/lambda, so the rate has units of lambda squared. For a mean with posterior standard
/// deviation `s`, a rate of `0.01 s^2` is a small step; coordinates of different scales need different rates, or a
/// [`Whitened`](mcsa_core::Whitened) target.
///
/// ```
/// use mcsa_core::Optimizer;
/// let heavy = mcsa_optim::Momentum::with(0.1, 0.5)?;
/// let (mut state, mut params) = (heavy.init(1), [0.0]);
/// heavy.ascend(&mut state, &mut params, &[10.0]);
/// heavy.ascend(&mut state, &mut params, &[0.0]); // it rolls on
/// assert_eq!(params, [1.5]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Momentum(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    rate: Schedule,
    #[serde(default = "Settings::momentum")]
    momentum: f64,
}

impl Settings {
    fn momentum() -> f64 {
        0.9
    }
}

/// State of [`Momentum`]: the velocity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MomentumState {
    steps: u64,
    #[serde(with = "bits::vector")]
    velocity: Vec<f64>,
}

impl Momentum {
    /// The rule with a constant rate or a schedule, and momentum 0.9.
    ///
    /// # Errors
    /// If the rate is not positive and finite.
    pub fn new(rate: impl IntoSchedule) -> Result<Self, Error> {
        Self::with(rate, Settings::momentum())
    }

    /// The rule with all its constants.
    ///
    /// # Errors
    /// If the rate is not positive and finite, or the momentum outside `[0, 1)`.
    pub fn with(rate: impl IntoSchedule, momentum: f64) -> Result<Self, Error> {
        let rate = rate.into_schedule().map_err(|error| error.within("Momentum"))?;
        Self::try_from(Settings { rate, momentum })
    }

    /// The schedule of the rate `gamma_t`.
    pub fn rate(&self) -> &Schedule {
        &self.0.rate
    }
}

impl TryFrom<Settings> for Momentum {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        fraction("momentum", settings.momentum).map_err(|error| error.within("Momentum"))?;
        Ok(Self(settings))
    }
}

impl Optimizer for Momentum {
    type State = MomentumState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> MomentumState {
        MomentumState { steps: 0, velocity: vec![0.0; num_params] }
    }

    fn check(&self, num_params: usize, state: &MomentumState) -> Result<(), Error> {
        check_state("velocity", num_params, &state.velocity).map_err(|error| error.within("Momentum"))
    }

    fn ascend(&self, state: &mut MomentumState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.velocity.len(), params, direction);
        state.steps += 1;
        let (rate, momentum) = (self.0.rate.at(state.steps), self.0.momentum);
        for ((param, &g), v) in params.iter_mut().zip(direction).zip(&mut state.velocity) {
            *v = momentum * *v + rate * g;
            *param += *v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On `-h x^2 / 2` the error obeys `x'' = (1 + m - r h) x' - m x`: solved with its roots 3/4 and 1/4.
    #[test]
    fn on_a_parabola_it_is_a_recurrence_of_second_order() {
        let (root, other) = (0.75_f64, 0.25_f64);
        let momentum = root * other;
        let rate_times_curvature = 1.0 + momentum - (root + other);
        let heavy = Momentum::with(rate_times_curvature / 3.0, momentum).unwrap();
        let (mut state, mut params) = (heavy.init(1), [1.0]);
        // The velocity starts at 0: the first point and the one before it are both 1.
        let first = (1.0 - other) / (root - other);
        for t in 1..30 {
            let direction = [-3.0 * params[0]];
            heavy.ascend(&mut state, &mut params, &direction);
            let expected = first * root.powi(t + 1) + (1.0 - first) * other.powi(t + 1);
            assert!((params[0] - expected).abs() < 1e-14, "{t}: {} {expected}", params[0]);
        }
    }

    #[test]
    fn constants_are_checked() {
        for momentum in [-0.1, 1.0, f64::NAN] {
            assert!(Momentum::with(0.1, momentum).is_err(), "{momentum}");
        }
        let error = toml::from_str::<Momentum>("rate = 1\nmomentum = 2").unwrap_err();
        assert_eq!(error.message(), "Momentum: momentum is 2, expected at least 0 and less than 1");
        assert_eq!(toml::from_str::<Momentum>("rate = 1").unwrap(), Momentum::new(1.0).unwrap());
    }

    #[test]
    fn foreign_states_are_refused() {
        let heavy = Momentum::new(0.1).unwrap();
        assert!(heavy.check(2, &heavy.init(2)).is_ok());
        assert!(heavy.check(3, &heavy.init(2)).is_err());
        assert!(heavy.check(1, &MomentumState { steps: 3, velocity: vec![f64::NAN] }).is_err());
    }
}
