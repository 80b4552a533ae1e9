//! Stochastic gradient ascent.

use mcsa_core::{Error, Optimizer};
use serde::{Deserialize, Serialize};

use crate::domain::assert_lengths;
use crate::{IntoSchedule, Schedule};

/// Stochastic gradient ascent (Robbins & Monro 1951).
///
/// ```text
/// lambda <- lambda + gamma_t g
/// ```
/// The convergence theory of stochastic approximation is about this rule. The length of a step is proportional to that of the
/// direction, so a rate that suits one scaling of lambda may be far too large or too small for another.
///
/// Units: the direction of `KL` has units of 1/lambda, so the rate has units of lambda squared. For a mean with posterior standard
/// deviation `s`, a rate of `0.01 s^2` is a small step; coordinates of different scales need different rates, or a
/// [`Whitened`](mcsa_core::Whitened) target.
///
/// ```
/// use mcsa_core::Optimizer;
/// use mcsa_optim::{Schedule, Sgd};
/// let sgd = Sgd::new(Schedule::inverse(0.5)?)?;
/// let (mut state, mut params) = (sgd.init(1), [0.0]);
/// sgd.ascend(&mut state, &mut params, &[4.0]); // 0.5/1 * 4
/// sgd.ascend(&mut state, &mut params, &[4.0]); // 0.5/2 * 4
/// assert_eq!(params, [3.0]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sgd {
    /// The schedule of the rate `gamma_t`.
    pub rate: Schedule,
}

/// State of [`Sgd`]: the number of steps taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SgdState {
    steps: u64,
    num_params: usize,
}

impl Sgd {
    /// Gradient ascent with a constant rate or a schedule.
    ///
    /// # Errors
    /// If the rate is not positive and finite.
    pub fn new(rate: impl IntoSchedule) -> Result<Self, Error> {
        let rate = rate.into_schedule().map_err(|error| error.within("Sgd"))?;
        Ok(Self { rate })
    }
}

impl Optimizer for Sgd {
    type State = SgdState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> SgdState {
        SgdState { steps: 0, num_params }
    }

    fn check(&self, num_params: usize, state: &SgdState) -> Result<(), Error> {
        mcsa_core::same_length("params", num_params, state.num_params).map_err(|error| error.within("Sgd"))
    }

    fn ascend(&self, state: &mut SgdState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.num_params, params, direction);
        state.steps += 1;
        let rate = self.rate.at(state.steps);
        for (param, &g) in params.iter_mut().zip(direction) {
            *param += rate * g;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_one_over_t_gives_the_mean() {
        let sgd = Sgd::new(Schedule::inverse(1.0).unwrap()).unwrap();
        let (mut state, mut params) = (sgd.init(1), [7.0]);
        for draw in [1.0, 3.0, 8.0, -2.0] {
            let direction = [draw - params[0]];
            sgd.ascend(&mut state, &mut params, &direction);
        }
        assert!((params[0] - 2.5).abs() < 1e-15);
    }

    #[test]
    fn on_a_parabola_the_error_shrinks_by_a_constant_factor() {
        let sgd = Sgd::new(0.25).unwrap();
        let (mut state, mut params) = (sgd.init(2), [1.0, -4.0]);
        for _ in 0..10 {
            let direction = [-2.0 * params[0], -params[1]];
            sgd.ascend(&mut state, &mut params, &direction);
        }
        assert_eq!(params, [0.5_f64.powi(10), -4.0 * 0.75_f64.powi(10)]);
    }

    #[test]
    fn foreign_states_are_refused() {
        let sgd = Sgd::new(0.25).unwrap();
        let error = sgd.check(3, &sgd.init(2)).unwrap_err().to_string();
        assert_eq!(error, "Sgd: params has length 2, expected 3");
        assert!(sgd.check(2, &sgd.init(2)).is_ok());
    }

    #[test]
    fn a_file_is_checked() {
        assert_eq!(toml::from_str::<Sgd>("rate = 0.5").unwrap(), Sgd::new(0.5).unwrap());
        assert!(toml::from_str::<Sgd>("rate = 0.5\nmomentum = 0.9").is_err());
        assert!(Sgd::new(f64::NAN).is_err());
    }
}
