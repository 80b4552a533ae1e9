//! Adam: adaptive moment estimation.

use mcsa_core::{Error, Optimizer, bits};
use serde::{Deserialize, Serialize};

use crate::domain::{assert_lengths, check_squares, check_state, fraction, positive};
use crate::{IntoSchedule, Schedule};

/// Adam with bias correction (Kingma & Ba 2015, Alg. 1), as an ascent rule.
///
/// ```text
/// m <- b1 m + (1 - b1) g        v <- b2 v + (1 - b2) g^2
/// lambda <- lambda + gamma_t * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
/// ```
/// A step is at most about `gamma_t` long in each coordinate, whatever the scale of the direction. With a constant rate Adam does
/// not converge but fluctuates around the optimum; on some convex problems it does not converge with a decreasing rate either
/// (Reddi, Kale & Kumar 2018).
///
/// Units: the rate is in units of lambda itself, and equal for all coordinates: one step moves a mean by up to the rate. With
/// a posterior standard deviation of 0.017, a rate of 0.005 is 0.3 standard deviations per step, and a fit wanders off. Use about
/// 0.01 standard deviations of the narrowest coordinate, or a [`Whitened`](mcsa_core::Whitened) target, whose coordinates all have
/// a standard deviation of about 1.
///
/// ```
/// use mcsa_core::Optimizer;
/// let adam = mcsa_optim::Adam::new(0.1)?;
/// let (mut state, mut params) = (adam.init(1), [0.0]);
/// adam.ascend(&mut state, &mut params, &[3.0]);
/// assert!((params[0] - 0.1).abs() < 1e-9); // the first step has the length of the rate
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Adam(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    rate: Schedule,
    #[serde(default = "Settings::momentum")]
    momentum: f64,
    #[serde(default = "Settings::memory")]
    memory: f64,
    #[serde(default = "Settings::epsilon")]
    epsilon: f64,
}

impl Settings {
    fn momentum() -> f64 {
        0.9
    }
    fn memory() -> f64 {
        0.999
    }
    fn epsilon() -> f64 {
        1e-8
    }
}

/// State of [`Adam`]: running means of the directions and of their squares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdamState {
    steps: u64,
    #[serde(with = "bits::vector")]
    first: Vec<f64>,
    #[serde(with = "bits::vector")]
    second: Vec<f64>,
}

impl Adam {
    /// Adam with the published constants: `b1 = 0.9`, `b2 = 0.999`, `epsilon = 1e-8`.
    ///
    /// # Errors
    /// If the rate is not positive and finite.
    pub fn new(rate: impl IntoSchedule) -> Result<Self, Error> {
        Self::with(rate, Settings::momentum(), Settings::memory(), Settings::epsilon())
    }

    /// Adam with all its constants: `b1` is `momentum`, `b2` is `memory`.
    ///
    /// # Errors
    /// If the rate or epsilon is not positive and finite, or `momentum` or `memory` is outside `[0, 1)`.
    pub fn with(rate: impl IntoSchedule, momentum: f64, memory: f64, epsilon: f64) -> Result<Self, Error> {
        let rate = rate.into_schedule().map_err(|error| error.within("Adam"))?;
        Self::try_from(Settings { rate, momentum, memory, epsilon })
    }

    /// The schedule of the rate `gamma_t`.
    pub fn rate(&self) -> &Schedule {
        &self.0.rate
    }
}

/// Bias correction `1 - b^t`. For large `t` it is 1 to the last digit, because `b^t <= e^-(t (1 - b))`; then the power is not
/// computed.
fn bias(b: f64, t: f64) -> f64 {
    if t * (1.0 - b) > 40.0 { 1.0 } else { 1.0 - b.powf(t) }
}

impl TryFrom<Settings> for Adam {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        positive("epsilon", settings.epsilon)
            .and_then(|()| fraction("momentum", settings.momentum))
            .and_then(|()| fraction("memory", settings.memory))
            .map_err(|error| error.within("Adam"))?;
        Ok(Self(settings))
    }
}

impl Optimizer for Adam {
    type State = AdamState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> AdamState {
        AdamState { steps: 0, first: vec![0.0; num_params], second: vec![0.0; num_params] }
    }

    fn check(&self, num_params: usize, state: &AdamState) -> Result<(), Error> {
        check_state("first moments", num_params, &state.first)
            .and_then(|()| check_squares("second moments", num_params, &state.second))
            .map_err(|error| error.within("Adam"))
    }

    fn ascend(&self, state: &mut AdamState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.first.len(), params, direction);
        let Settings { momentum, memory, epsilon, .. } = self.0;
        state.steps += 1;
        let rate = self.0.rate.at(state.steps);
        let t = state.steps as f64;
        let (first_bias, second_bias) = (bias(momentum, t), bias(memory, t));
        let moments = state.first.iter_mut().zip(&mut state.second);
        for ((param, &g), (m, v)) in params.iter_mut().zip(direction).zip(moments) {
            *m = momentum * *m + (1.0 - momentum) * g;
            *v = memory * *v + (1.0 - memory) * g * g;
            *param += rate * (*m / first_bias) / ((*v / second_bias).sqrt() + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three steps on two coordinates, followed by hand in 30 digits.
    #[test]
    fn three_steps_by_hand() {
        let adam = Adam::with(0.5, 0.5, 0.75, 1e-8).unwrap();
        let (mut state, mut params) = (adam.init(1), [1.0]);
        let (mut m, mut v, mut x) = (0.0_f64, 0.0_f64, 1.0_f64);
        for (t, g) in [(1, 2.0_f64), (2, -1.0), (3, 0.5)] {
            adam.ascend(&mut state, &mut params, &[g]);
            m = 0.5 * m + 0.5 * g;
            v = 0.75 * v + 0.25 * g * g;
            x += 0.5 * (m / (1.0 - 0.5_f64.powi(t))) / ((v / (1.0 - 0.75_f64.powi(t))).sqrt() + 1e-8);
            assert!((params[0] - x).abs() < 1e-14);
        }
    }

    /// A constant direction has its own square as second moment: every step then has the length of the rate.
    /// Without bias correction the first would be `(1 - b1) / sqrt(1 - b2)` as long: 3.16 times with the usual constants.
    #[test]
    fn missing_bias_correction_is_noticed() {
        let adam = Adam::new(0.25).unwrap();
        let (mut state, mut params) = (adam.init(1), [0.0]);
        for t in 1..=50 {
            adam.ascend(&mut state, &mut params, &[-3.0]);
            assert!((params[0] + 0.25 * f64::from(t)).abs() < 1e-7, "{t}: {}", params[0]);
        }
        let (m, v) = (0.1 * -3.0_f64, 0.001 * 9.0_f64);
        let uncorrected = 0.25 * m / (v.sqrt() + 1e-8);
        assert!((uncorrected + 0.25).abs() > 0.5);
    }

    #[test]
    fn a_bias_without_its_power_has_the_same_bits() {
        for b in [0.0, 0.5, 0.9, 0.999, 1.0 - 1e-7] {
            let end = 40.0 / (1.0 - b);
            for t in [0.9_f64, 0.999, 1.0, 1.001, 2.0].map(|share| (share * end).round().max(1.0)) {
                assert_eq!(bias(b, t), 1.0 - f64::powf(b, t), "{b} {t}");
            }
        }
        assert!(bias(0.999, 30_000.0) < 1.0);
    }

    #[test]
    fn the_schedule_scales_each_step() {
        let adam = Adam::with(Schedule::inverse(1.0).unwrap(), 0.0, 0.0, 1e-300).unwrap();
        let (mut state, mut params) = (adam.init(1), [0.0]);
        let harmonic = [1.0, 1.5, 1.5 + 1.0 / 3.0];
        for expected in harmonic {
            adam.ascend(&mut state, &mut params, &[5.0]);
            assert_eq!(params[0], expected);
        }
        let text = r#"{"rate":{"kind":"inverse","gamma":1},"momentum":0,"memory":0,"epsilon":1e-300}"#;
        assert_eq!(serde_json::from_str::<Adam>(text).unwrap(), adam);
    }

    #[test]
    fn foreign_states_are_refused() {
        let adam = Adam::new(0.1).unwrap();
        assert!(adam.check(2, &adam.init(2)).is_ok());
        assert_eq!(
            adam.check(3, &adam.init(2)).unwrap_err().to_string(),
            "Adam: first moments has length 2, expected 3"
        );
        let negative = AdamState { steps: 1, first: vec![0.0], second: vec![-1.0] };
        assert!(adam.check(1, &negative).is_err());
        let broken = AdamState { steps: 1, first: vec![f64::NAN], second: vec![1.0] };
        assert!(adam.check(1, &broken).is_err());
    }

    #[test]
    fn without_memory_it_is_the_sign_of_the_direction() {
        let adam = Adam::with(0.1, 0.0, 0.0, 1e-300).unwrap();
        let (mut state, mut params) = (adam.init(3), [0.0; 3]);
        adam.ascend(&mut state, &mut params, &[4.0, -1e-9, 0.0]);
        assert_eq!(params, [0.1, -0.1, 0.0]);
    }

    #[test]
    fn impossible_constants_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Adam::new(rate).is_err(), "{rate}");
        }
        assert!(Adam::with(0.1, 1.0, 0.999, 1e-8).is_err());
        assert!(Adam::with(0.1, 0.9, f64::NAN, 1e-8).is_err());
        assert!(Adam::with(0.1, 0.9, 0.999, 0.0).is_err());
    }

    #[test]
    fn a_config_comes_from_a_file_and_is_checked_there() {
        let adam: Adam = serde_json::from_str(r#"{"rate":0.01}"#).unwrap();
        assert_eq!(adam, Adam::new(0.01).unwrap());
        let error = serde_json::from_str::<Adam>(r#"{"rate":-1}"#).unwrap_err().to_string();
        assert!(error.starts_with("rate is -1, expected positive and finite"), "{error}");
        assert!(serde_json::from_str::<Adam>(r#"{"rate":1,"beta":2}"#).is_err());
    }

    #[test]
    fn a_restored_state_goes_on_bit_for_bit() {
        let adam = Adam::new(0.01).unwrap();
        let (mut state, mut params) = (adam.init(2), [0.3, -0.7]);
        adam.ascend(&mut state, &mut params, &[0.1, 1e-12]);
        let mut restored: AdamState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        let mut again = params;
        adam.ascend(&mut state, &mut params, &[0.2, -3.0]);
        adam.ascend(&mut restored, &mut again, &[0.2, -3.0]);
        assert_eq!(params.map(f64::to_bits), again.map(f64::to_bits));
    }
}
