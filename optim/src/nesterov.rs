//! Nesterov's accelerated momentum.

use mcsa_core::{Error, Optimizer, bits};
use serde::{Deserialize, Serialize};

use crate::domain::{assert_lengths, check_state, fraction};
use crate::{IntoSchedule, Schedule};

/// Gradient ascent with Nesterov's momentum (Nesterov 1983, as restated by Sutskever et al. 2013).
///
/// ```text
/// v <- momentum v + gamma_t g        lambda <- lambda + momentum v + gamma_t g
/// ```
/// Lambda is here the look-ahead point, to which the velocity alone would lead and at which the next direction is estimated (Bengio
/// et al. 2013); so the rule is used exactly like [`Momentum`](crate::Momentum). With noisy directions the accelerated rate of the
/// deterministic rule is lost, but the damping of oscillations remains.
///
/// Units: the direction of `KL` has units of 1/lambda, so the rate has units of lambda squared. For a mean with posterior standard
/// deviation `s`, a rate of `0.01 s^2` is a small step; coordinates of different scales need different rates, or a
/// [`Whitened`](mcsa_core::Whitened) target.
///
/// ```
/// use mcsa_core::Optimizer;
/// let nesterov = mcsa_optim::Nesterov::with(0.1, 0.5)?;
/// let (mut state, mut params) = (nesterov.init(1), [0.0]);
/// nesterov.ascend(&mut state, &mut params, &[10.0]);
/// assert_eq!(params, [1.5]); // the step, and half of it ahead
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Nesterov(Settings);

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

/// State of [`Nesterov`]: the velocity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NesterovState {
    steps: u64,
    #[serde(with = "bits::vector")]
    velocity: Vec<f64>,
}

impl Nesterov {
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
        let rate = rate.into_schedule().map_err(|error| error.within("Nesterov"))?;
        Self::try_from(Settings { rate, momentum })
    }

    /// The schedule of the rate `gamma_t`.
    pub fn rate(&self) -> &Schedule {
        &self.0.rate
    }
}

impl TryFrom<Settings> for Nesterov {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        fraction("momentum", settings.momentum).map_err(|error| error.within("Nesterov"))?;
        Ok(Self(settings))
    }
}

impl Optimizer for Nesterov {
    type State = NesterovState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> NesterovState {
        NesterovState { steps: 0, velocity: vec![0.0; num_params] }
    }

    fn check(&self, num_params: usize, state: &NesterovState) -> Result<(), Error> {
        check_state("velocity", num_params, &state.velocity).map_err(|error| error.within("Nesterov"))
    }

    fn ascend(&self, state: &mut NesterovState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.velocity.len(), params, direction);
        state.steps += 1;
        let (rate, momentum) = (self.0.rate.at(state.steps), self.0.momentum);
        for ((param, &g), v) in params.iter_mut().zip(direction).zip(&mut state.velocity) {
            *v = momentum * *v + rate * g;
            *param += momentum * *v + rate * g;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two sequences of the literature: look-ahead points y, iterates x, directions estimated at y.
    #[test]
    fn the_params_are_the_points_ahead() {
        let (rate, momentum, curvature) = (0.1, 0.8, 3.0);
        let nesterov = Nesterov::with(rate, momentum).unwrap();
        let (mut state, mut params) = (nesterov.init(1), [1.0]);
        let (mut x, mut y) = (1.0_f64, 1.0_f64);
        for t in 0..40 {
            let direction = [-curvature * params[0]];
            nesterov.ascend(&mut state, &mut params, &direction);
            let next = y + rate * (-curvature * y);
            y = next + momentum * (next - x);
            x = next;
            assert!((params[0] - y).abs() < 1e-14, "{t}");
        }
    }

    #[test]
    fn it_is_not_the_heavy_ball() {
        let (nesterov, heavy) = (Nesterov::new(0.1).unwrap(), crate::Momentum::new(0.1).unwrap());
        let (mut a, mut b) = ([0.0], [0.0]);
        nesterov.ascend(&mut nesterov.init(1), &mut a, &[1.0]);
        heavy.ascend(&mut heavy.init(1), &mut b, &[1.0]);
        assert_eq!((a, b), ([0.19], [0.1]));
    }

    #[test]
    fn constants_are_checked() {
        for momentum in [-0.1, 1.0, f64::NAN] {
            assert!(Nesterov::with(0.1, momentum).is_err(), "{momentum}");
        }
        let error = toml::from_str::<Nesterov>("rate = 1\nmomentum = 2").unwrap_err();
        assert_eq!(error.message(), "Nesterov: momentum is 2, expected at least 0 and less than 1");
        assert_eq!(toml::from_str::<Nesterov>("rate = 1").unwrap(), Nesterov::new(1.0).unwrap());
    }

    #[test]
    fn foreign_states_are_refused() {
        let nesterov = Nesterov::new(0.1).unwrap();
        assert!(nesterov.check(2, &nesterov.init(2)).is_ok());
        assert!(nesterov.check(3, &nesterov.init(2)).is_err());
        assert!(nesterov.check(1, &NesterovState { steps: 3, velocity: vec![f64::NAN] }).is_err());
    }
}
