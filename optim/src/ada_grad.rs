//! AdaGrad: steps divided by the root of the sum of squared directions.

use mcsa_core::{Error, Optimizer, bits};
use serde::{Deserialize, Serialize};

use crate::domain::{assert_lengths, check_squares, positive};
use crate::{IntoSchedule, Schedule};

/// AdaGrad, diagonal version (Duchi, Hazan & Singer 2011): steps divided by the root of the sum of all squared directions.
///
/// ```text
/// v <- v + g^2        lambda <- lambda + gamma_t g / (sqrt(v) + epsilon)
/// ```
/// With a constant rate the steps already decrease like `1 / sqrt(t)`. All directions count equally: directions that are large at
/// the start, far from the optimum, make all later steps small.
///
/// Units: the rate is in units of lambda itself, and equal for all coordinates: one step moves a mean by up to the rate in the beginning. With
/// a posterior standard deviation of 0.017, a rate of 0.005 is 0.3 standard deviations per step, and a fit wanders off. Use about
/// 0.01 standard deviations of the narrowest coordinate, or a [`Whitened`](mcsa_core::Whitened) target, whose coordinates all have
/// a standard deviation of about 1.
///
/// ```
/// use mcsa_core::Optimizer;
/// let ada = mcsa_optim::AdaGrad::new(1.0)?;
/// let (mut state, mut params) = (ada.init(1), [0.0]);
/// ada.ascend(&mut state, &mut params, &[3.0]); // 3 / 3
/// ada.ascend(&mut state, &mut params, &[4.0]); // 4 / 5
/// assert!((params[0] - 1.8).abs() < 1e-8);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct AdaGrad(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    rate: Schedule,
    #[serde(default = "Settings::epsilon")]
    epsilon: f64,
}

impl Settings {
    fn epsilon() -> f64 {
        1e-8
    }
}

/// State of [`AdaGrad`]: for each coordinate, the sum of squares of all directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdaGradState {
    steps: u64,
    #[serde(with = "bits::vector")]
    squares: Vec<f64>,
}

impl AdaGrad {
    /// AdaGrad with a constant rate or a schedule, and epsilon `1e-8`.
    ///
    /// # Errors
    /// If the rate is not positive and finite.
    pub fn new(rate: impl IntoSchedule) -> Result<Self, Error> {
        Self::with(rate, Settings::epsilon())
    }

    /// AdaGrad with all its constants.
    ///
    /// # Errors
    /// If the rate or epsilon is not positive and finite.
    pub fn with(rate: impl IntoSchedule, epsilon: f64) -> Result<Self, Error> {
        let rate = rate.into_schedule().map_err(|error| error.within("AdaGrad"))?;
        Self::try_from(Settings { rate, epsilon })
    }

    /// The schedule of the rate `gamma_t`.
    pub fn rate(&self) -> &Schedule {
        &self.0.rate
    }
}

impl TryFrom<Settings> for AdaGrad {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        positive("epsilon", settings.epsilon).map_err(|error| error.within("AdaGrad"))?;
        Ok(Self(settings))
    }
}

impl Optimizer for AdaGrad {
    type State = AdaGradState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> AdaGradState {
        AdaGradState { steps: 0, squares: vec![0.0; num_params] }
    }

    fn check(&self, num_params: usize, state: &AdaGradState) -> Result<(), Error> {
        check_squares("squares", num_params, &state.squares).map_err(|error| error.within("AdaGrad"))
    }

    fn ascend(&self, state: &mut AdaGradState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.squares.len(), params, direction);
        let epsilon = self.0.epsilon;
        state.steps += 1;
        let rate = self.0.rate.at(state.steps);
        for ((param, &g), v) in params.iter_mut().zip(direction).zip(&mut state.squares) {
            *v += g * g;
            *param += rate * g / (v.sqrt() + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythagorean_steps_by_hand() {
        let ada = AdaGrad::with(1.0, 1e-300).unwrap();
        let (mut state, mut params) = (ada.init(2), [0.0, 0.0]);
        for (direction, expected) in [
            ([3.0, 0.0], [1.0, 0.0]),
            ([4.0, -2.0], [1.0 + 4.0 / 5.0, -1.0]),
            ([-12.0, 0.0], [1.0 + 4.0 / 5.0 - 12.0 / 13.0, -1.0]),
        ] {
            ada.ascend(&mut state, &mut params, &direction);
            assert_eq!(params, expected);
        }
    }

    #[test]
    fn a_constant_direction_gives_the_sum_of_inverse_roots() {
        let ada = AdaGrad::with(0.5, 1e-300).unwrap();
        let (mut state, mut params) = (ada.init(1), [0.0]);
        let mut expected = 0.0;
        for t in 1..=100 {
            ada.ascend(&mut state, &mut params, &[-7.0]);
            expected -= 0.5 / f64::from(t).sqrt();
            assert!((params[0] - expected).abs() < 1e-12, "{t}");
        }
    }

    #[test]
    fn constants_and_states_are_checked() {
        assert!(AdaGrad::new(-1.0).is_err() && AdaGrad::with(1.0, f64::NAN).is_err());
        assert_eq!(toml::from_str::<AdaGrad>("rate = 1").unwrap(), AdaGrad::new(1.0).unwrap());
        assert!(toml::from_str::<AdaGrad>("rate = 1\nmemory = 0.9").is_err());
        let ada = AdaGrad::new(0.1).unwrap();
        assert!(ada.check(2, &ada.init(2)).is_ok() && ada.check(1, &ada.init(2)).is_err());
        assert!(ada.check(1, &AdaGradState { steps: 1, squares: vec![f64::INFINITY] }).is_err());
    }
}
