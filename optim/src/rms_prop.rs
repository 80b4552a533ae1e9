//! RMSProp: steps divided by the root of a running mean of squared directions.

use mcsa_core::{Error, Optimizer, bits};
use serde::{Deserialize, Serialize};

use crate::domain::{assert_lengths, check_squares, fraction, positive};
use crate::{IntoSchedule, Schedule};

/// RMSProp (Tieleman & Hinton 2012, lecture 6.5): steps divided by the root of a running mean of squared directions.
///
/// ```text
/// v <- memory v + (1 - memory) g^2        lambda <- lambda + gamma_t g / (sqrt(v) + epsilon)
/// ```
/// There is no bias correction: the first step is `1 / sqrt(1 - memory)` times the rate, 3.2 times with the default memory of 0.9.
/// [`Adam`](crate::Adam) has a bias correction.
///
/// Units: the rate is in units of lambda itself, and equal for all coordinates: one step moves a mean by up to the rate. With
/// a posterior standard deviation of 0.017, a rate of 0.005 is 0.3 standard deviations per step, and a fit wanders off. Use about
/// 0.01 standard deviations of the narrowest coordinate, or a [`Whitened`](mcsa_core::Whitened) target, whose coordinates all have
/// a standard deviation of about 1.
///
/// ```
/// use mcsa_core::Optimizer;
/// let rms = mcsa_optim::RmsProp::with(0.1, 0.75, 1e-12)?;
/// let (mut state, mut params) = (rms.init(1), [0.0]);
/// rms.ascend(&mut state, &mut params, &[1000.0]);
/// assert!((params[0] - 0.2).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct RmsProp(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    rate: Schedule,
    #[serde(default = "Settings::memory")]
    memory: f64,
    #[serde(default = "Settings::epsilon")]
    epsilon: f64,
}

impl Settings {
    fn memory() -> f64 {
        0.9
    }
    fn epsilon() -> f64 {
        1e-8
    }
}

/// State of [`RmsProp`]: for each coordinate, the running mean of squared directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RmsPropState {
    steps: u64,
    #[serde(with = "bits::vector")]
    squares: Vec<f64>,
}

impl RmsProp {
    /// RMSProp with a constant rate or a schedule, memory 0.9 and epsilon `1e-8`.
    ///
    /// # Errors
    /// If the rate is not positive and finite.
    pub fn new(rate: impl IntoSchedule) -> Result<Self, Error> {
        Self::with(rate, Settings::memory(), Settings::epsilon())
    }

    /// RMSProp with all its constants.
    ///
    /// # Errors
    /// If the rate or epsilon is not positive and finite, or the memory outside `[0, 1)`.
    pub fn with(rate: impl IntoSchedule, memory: f64, epsilon: f64) -> Result<Self, Error> {
        let rate = rate.into_schedule().map_err(|error| error.within("RmsProp"))?;
        Self::try_from(Settings { rate, memory, epsilon })
    }

    /// The schedule of the rate `gamma_t`.
    pub fn rate(&self) -> &Schedule {
        &self.0.rate
    }
}

impl TryFrom<Settings> for RmsProp {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        fraction("memory", settings.memory)
            .and_then(|()| positive("epsilon", settings.epsilon))
            .map_err(|error| error.within("RmsProp"))?;
        Ok(Self(settings))
    }
}

impl Optimizer for RmsProp {
    type State = RmsPropState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> RmsPropState {
        RmsPropState { steps: 0, squares: vec![0.0; num_params] }
    }

    fn check(&self, num_params: usize, state: &RmsPropState) -> Result<(), Error> {
        check_squares("squares", num_params, &state.squares).map_err(|error| error.within("RmsProp"))
    }

    fn ascend(&self, state: &mut RmsPropState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.squares.len(), params, direction);
        let Settings { memory, epsilon, .. } = self.0;
        state.steps += 1;
        let rate = self.0.rate.at(state.steps);
        for ((param, &g), v) in params.iter_mut().zip(direction).zip(&mut state.squares) {
            *v = memory * *v + (1.0 - memory) * g * g;
            *param += rate * g / (v.sqrt() + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let rms = RmsProp::with(0.5, 0.75, 1e-300).unwrap();
        let (mut state, mut params) = (rms.init(2), [1.0, 0.0]);
        rms.ascend(&mut state, &mut params, &[4.0, 0.0]); // v = 4, step 0.5 * 4/2
        assert_eq!(params, [2.0, 0.0]);
        rms.ascend(&mut state, &mut params, &[-2.0, 1.0]); // v = 3 + 1 = 4, and 1/4
        assert_eq!(params, [1.5, 1.0]);
    }

    #[test]
    fn a_constant_direction_ends_in_steps_of_the_rate() {
        let rms = RmsProp::new(Schedule::constant(0.01).unwrap()).unwrap();
        let (mut state, mut params) = (rms.init(1), [0.0]);
        let mut before = 0.0;
        for t in 1..=300 {
            before = params[0];
            rms.ascend(&mut state, &mut params, &[7.0]);
            let expected = 0.01 / (1.0 - 0.9_f64.powi(t)).sqrt();
            assert!((params[0] - before - expected).abs() < 1e-9, "{t}");
        }
        assert!((params[0] - before - 0.01).abs() < 1e-9);
    }

    #[test]
    fn constants_and_states_are_checked() {
        assert!(RmsProp::with(0.1, 1.0, 1e-8).is_err() && RmsProp::with(0.1, 0.9, 0.0).is_err());
        assert!(RmsProp::new(0.0).is_err());
        assert_eq!(toml::from_str::<RmsProp>("rate = 1").unwrap(), RmsProp::new(1.0).unwrap());
        assert!(toml::from_str::<RmsProp>("rate = 1\nrho = 0.9").is_err());
        let rms = RmsProp::new(0.1).unwrap();
        assert!(rms.check(2, &rms.init(2)).is_ok() && rms.check(1, &rms.init(2)).is_err());
        assert!(rms.check(1, &RmsPropState { steps: 1, squares: vec![-1.0] }).is_err());
    }
}
