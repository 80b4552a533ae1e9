//! Distance over gradients (DoG): a stochastic gradient rule without a learning rate.

use mcsa_core::{Error, Optimizer, bits};
use serde::{Deserialize, Serialize};

use crate::domain::{assert_lengths, check_state, not_negative, positive};

/// Distance over gradients, DoG (Ivgi, Hinder & Carmon 2023): stochastic gradient ascent without a learning rate.
///
/// ```text
/// r_t = max(movement (1 + |lambda_0|), max_{i <= t} |lambda_i - lambda_0|)        G_t = sum_{i <= t} |g_i|^2
/// lambda_{t+1} = lambda_t + (r_t / sqrt(G_t)) g_t
/// ```
/// The length of a step is proportional to the largest distance from the start so far. The only constant is the length of the first
/// step, `movement`, relative to `1 + |lambda_0|`. It must be small beside the distance to the optimum; making it ten times smaller
/// costs only a few more steps. The published guarantee is for an average of the iterates: wrap the rule in
/// [`Averaged`](crate::Averaged), as the authors do. All coordinates share one step length, so they should have similar scales.
///
/// As long as all directions are zero, lambda does not move.
///
/// Units: `movement` is relative to `1 + |lambda_0|`, so the first step is about `movement` in units of lambda. A posterior standard
/// deviation below that needs a smaller `movement` or a [`Whitened`](mcsa_core::Whitened) target.
///
/// ```
/// use mcsa_core::Optimizer;
/// let dog = mcsa_optim::Dog::new(0.1)?;
/// let (mut state, mut params) = (dog.init(2), [0.0, 0.0]);
/// dog.ascend(&mut state, &mut params, &[30.0, 40.0]); // 0.1 / 50 * direction
/// assert!((params[0] - 0.06).abs() < 1e-12 && (params[1] - 0.08).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Dog(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default = "Settings::movement")]
    movement: f64,
}

impl Settings {
    /// Default of the authors' program.
    fn movement() -> f64 {
        1e-6
    }
}

/// State of [`Dog`]: the start, the largest distance from it, and the sum of squared norms of the directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DogState {
    steps: u64,
    #[serde(with = "bits::vector")]
    start: Vec<f64>,
    #[serde(with = "bits::scalar")]
    farthest: f64,
    #[serde(with = "bits::scalar")]
    squares: f64,
}

impl Dog {
    /// The rule with `movement`, the length of the first step relative to `1 + |lambda_0|`.
    ///
    /// # Errors
    /// If `movement` is not positive and finite.
    pub fn new(movement: f64) -> Result<Self, Error> {
        Self::try_from(Settings { movement })
    }
}

impl Default for Dog {
    /// `movement = 1e-6`, the default of the authors' program.
    fn default() -> Self {
        Self(Settings { movement: Settings::movement() })
    }
}

impl TryFrom<Settings> for Dog {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        positive("movement", settings.movement).map_err(|error| error.within("Dog"))?;
        Ok(Self(settings))
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

impl Optimizer for Dog {
    type State = DogState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> DogState {
        DogState { steps: 0, start: vec![0.0; num_params], farthest: 0.0, squares: 0.0 }
    }

    fn check(&self, num_params: usize, state: &DogState) -> Result<(), Error> {
        check_state("start", num_params, &state.start)
            .and_then(|()| not_negative("farthest", state.farthest))
            .and_then(|()| not_negative("squares", state.squares))
            .map_err(|error| error.within("Dog"))
    }

    fn ascend(&self, state: &mut DogState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.start.len(), params, direction);
        if state.steps == 0 {
            state.start.copy_from_slice(params);
            state.farthest = self.0.movement * (1.0 + norm(params.iter().copied()));
        }
        state.steps += 1;
        let came = norm(params.iter().zip(&state.start).map(|(param, start)| param - start));
        state.farthest = state.farthest.max(came);
        state.squares += direction.iter().map(|g| g * g).sum::<f64>();
        if state.squares == 0.0 {
            return;
        }
        let rate = state.farthest / state.squares.sqrt();
        for (param, &g) in params.iter_mut().zip(direction) {
            *param += rate * g;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_steps_by_hand() {
        let dog = Dog::new(0.5).unwrap();
        let (mut state, mut params) = (dog.init(2), [0.0, 1.0]);
        dog.ascend(&mut state, &mut params, &[3.0, 0.0]); // r = 0.5 * 2, G = 9
        assert_eq!(params, [1.0, 1.0]);
        dog.ascend(&mut state, &mut params, &[0.0, 4.0]); // r = max(1, 1), G = 25
        assert_eq!(params, [1.0, 1.8]);
        dog.ascend(&mut state, &mut params, &[0.0, -12.0]); // r = |(1, 0.8)|, G = 169
        assert!((params[1] - (1.8 - 1.64_f64.sqrt() * 12.0 / 13.0)).abs() < 1e-15);
        dog.ascend(&mut state, &mut params, &[1.0, 0.0]); // it came back, but the farthest counts
        let third = (1.0 + (params[1] - 1.0).powi(2)).sqrt().max(1.64_f64.sqrt());
        assert!((params[0] - (1.0 + third / 170.0_f64.sqrt())).abs() < 1e-15);
    }

    /// The path does not depend on the scale of the objective.
    #[test]
    fn the_scale_of_the_objective_does_not_matter() {
        let dog = Dog::new(1e-3).unwrap();
        let (mut small, mut large) = ([0.0], [0.0]);
        let (mut state, mut other) = (dog.init(1), dog.init(1));
        for _ in 0..200 {
            let directions = [5.0 - small[0], 4096.0 * (5.0 - large[0])];
            dog.ascend(&mut state, &mut small, &directions[..1]);
            dog.ascend(&mut other, &mut large, &directions[1..]);
        }
        assert_eq!(small, large);
        assert!((small[0] - 5.0).abs() < 0.1, "{small:?}");
    }

    #[test]
    fn nothing_moves_without_a_direction() {
        let dog = Dog::default();
        let (mut state, mut params) = (dog.init(2), [1.0, 2.0]);
        dog.ascend(&mut state, &mut params, &[0.0, 0.0]);
        assert_eq!(params, [1.0, 2.0]);
    }

    #[test]
    fn constants_and_states_are_checked() {
        assert!(Dog::new(0.0).is_err() && Dog::new(f64::INFINITY).is_err());
        assert_eq!(toml::from_str::<Dog>("").unwrap(), Dog::default());
        assert!(toml::from_str::<Dog>("rate = 1").is_err());
        let dog = Dog::default();
        assert!(dog.check(2, &dog.init(2)).is_ok() && dog.check(1, &dog.init(2)).is_err());
        assert!(dog.check(2, &DogState { squares: f64::NAN, ..dog.init(2) }).is_err());
    }
}
