//! Gradient clipping: directions of bounded length.

use mcsa_core::{Error, Optimizer};
use serde::{Deserialize, Serialize};

use crate::domain::positive;

/// Bound on a direction: on its norm, or on each coordinate.
///
/// ```
/// use mcsa_optim::Clip;
/// let clip: Clip = toml::from_str("kind = 'norm'\nat = 10").unwrap();
/// assert_eq!(clip, Clip::norm(10.0)?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Bound")]
pub struct Clip(Bound);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Bound {
    Norm { at: f64 },
    Value { at: f64 },
}

impl Clip {
    /// Clipping by norm: a direction with a larger Euclidean norm is scaled to the norm `at`.
    ///
    /// # Errors
    /// If `at` is not positive and finite.
    pub fn norm(at: f64) -> Result<Self, Error> {
        Self::try_from(Bound::Norm { at })
    }

    /// Clipping by value: each coordinate is clamped to `[-at, at]`, which changes the angle of the direction.
    ///
    /// # Errors
    /// If `at` is not positive and finite.
    pub fn value(at: f64) -> Result<Self, Error> {
        Self::try_from(Bound::Value { at })
    }

    /// Writes the clipped direction, and returns whether `direction` exceeded the bound.
    fn clip_into(self, direction: &[f64], clipped: &mut [f64]) -> bool {
        match self.0 {
            Bound::Norm { at } => {
                let norm = norm(direction);
                let is_outside = norm > at;
                let factor = if is_outside { at / norm } else { 1.0 };
                for (clipped, &g) in clipped.iter_mut().zip(direction) {
                    *clipped = factor * g;
                }
                is_outside
            }
            Bound::Value { at } => {
                let mut outside = 0_u64;
                for (clipped, &g) in clipped.iter_mut().zip(direction) {
                    outside += u64::from(g.abs() > at);
                    *clipped = g.clamp(-at, at);
                }
                outside > 0
            }
        }
    }
}

/// The Euclidean norm, without overflow of the squares.
fn norm(direction: &[f64]) -> f64 {
    let squares: f64 = direction.iter().map(|g| g * g).sum();
    if squares.is_finite() {
        return squares.sqrt();
    }
    let largest = direction.iter().fold(0.0_f64, |largest, g| largest.max(g.abs()));
    largest * direction.iter().map(|g| (g / largest).powi(2)).sum::<f64>().sqrt()
}

impl TryFrom<Bound> for Clip {
    type Error = Error;

    fn try_from(bound: Bound) -> Result<Self, Error> {
        let (Bound::Norm { at } | Bound::Value { at }) = bound;
        positive("at", at).map_err(|error| error.within("Clip"))?;
        Ok(Self(bound))
    }
}

/// Optimiser with gradient clipping (Pascanu, Mikolov & Bengio 2013).
///
/// ```text
/// norm:  g <- g min(1, at / |g|)        value:  g_k <- max(-at, min(at, g_k))
/// ```
/// Scores of a Gaussian have heavy tails where a chain is far from q, and one step along such a score can move lambda far from the
/// optimum. Clipping bounds the step but biases the direction: if many directions are clipped, the optimum moves. The state counts
/// the clipped directions. A direction that holds NaN still holds NaN after clipping.
///
/// Units: the bound is in units of the direction, 1/lambda.
///
/// ```
/// use mcsa_core::Optimizer;
/// use mcsa_optim::{Clip, Clipped, Sgd};
/// let clipped = Clipped { clip: Clip::norm(1.0)?, optimizer: Sgd::new(1.0)? };
/// let (mut state, mut params) = (clipped.init(2), [0.0, 0.0]);
/// clipped.ascend(&mut state, &mut params, &[300.0, 400.0]);
/// assert!((params[0] - 0.6).abs() < 1e-12 && (params[1] - 0.8).abs() < 1e-12);
/// assert_eq!(state.times(), 1);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clipped<O> {
    /// The bound on directions.
    pub clip: Clip,
    /// The wrapped optimiser, which gets the clipped directions.
    pub optimizer: O,
}

/// State of [`Clipped`]: the state of the wrapped optimiser, and the number of clipped directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClippedState<S> {
    inner: S,
    times: u64,
    /// Buffer for the clipped direction. It is not saved; the first step after a restore allocates it again.
    #[serde(skip)]
    shortened: Vec<f64>,
}

impl<S> ClippedState<S> {
    /// The number of directions that were clipped.
    pub fn times(&self) -> u64 {
        self.times
    }

    /// The state of the wrapped optimiser.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

impl<O: Optimizer> Optimizer for Clipped<O> {
    type State = ClippedState<O::State>;

    fn config(&self) -> String {
        format!("Clipped {{ clip: {:?}, optimizer: {} }}", self.clip, self.optimizer.config())
    }

    fn init(&self, num_params: usize) -> Self::State {
        ClippedState { inner: self.optimizer.init(num_params), times: 0, shortened: vec![0.0; num_params] }
    }

    fn check(&self, num_params: usize, state: &Self::State) -> Result<(), Error> {
        self.optimizer.check(num_params, &state.inner).map_err(|error| error.within("Clipped"))
    }

    fn average<'s>(&self, state: &'s Self::State) -> Option<&'s [f64]> {
        self.optimizer.average(&state.inner)
    }

    fn ascend(&self, state: &mut Self::State, params: &mut [f64], direction: &[f64]) {
        state.shortened.resize(direction.len(), 0.0);
        state.times += u64::from(self.clip.clip_into(direction, &mut state.shortened));
        self.optimizer.ascend(&mut state.inner, params, &state.shortened);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adam, Averaged, Averaging, Sgd};

    fn clip(clip: Clip, direction: &[f64]) -> (Vec<f64>, bool) {
        let mut clipped = vec![0.0; direction.len()];
        let is_outside = clip.clip_into(direction, &mut clipped);
        (clipped, is_outside)
    }

    #[test]
    fn by_hand() {
        let norm = Clip::norm(5.0).unwrap();
        assert_eq!(clip(norm, &[6.0, -8.0]), (vec![3.0, -4.0], true));
        assert_eq!(clip(norm, &[3.0, -4.0]), (vec![3.0, -4.0], false));
        assert_eq!(clip(norm, &[]), (vec![], false));
        let value = Clip::value(5.0).unwrap();
        assert_eq!(clip(value, &[6.0, -8.0, 1.0]), (vec![5.0, -5.0, 1.0], true));
        assert_eq!(clip(value, &[5.0, -5.0]), (vec![5.0, -5.0], false));
    }

    #[test]
    fn squares_may_overflow() {
        let (clipped, is_outside) = clip(Clip::norm(5.0).unwrap(), &[3e200, 4e200]);
        assert!(is_outside && (clipped[0] - 3.0).abs() < 1e-14 && (clipped[1] - 4.0).abs() < 1e-14);
    }

    #[test]
    fn a_faulty_direction_is_not_hidden() {
        for clip_at in [Clip::norm(1.0).unwrap(), Clip::value(1.0).unwrap()] {
            assert!(clip(clip_at, &[0.5, f64::NAN]).0[1].is_nan());
        }
    }

    #[test]
    fn within_the_bound_no_bit_changes() {
        let adam = Adam::new(0.1).unwrap();
        let clipped = Clipped { clip: Clip::norm(100.0).unwrap(), optimizer: adam.clone() };
        let (mut state, mut alone) = (clipped.init(2), adam.init(2));
        let (mut a, mut b) = ([0.3, 0.7], [0.3, 0.7]);
        for t in 1..20 {
            let direction = [f64::from(t).sin(), f64::from(t).recip()];
            clipped.ascend(&mut state, &mut a, &direction);
            adam.ascend(&mut alone, &mut b, &direction);
        }
        assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits));
        assert_eq!((state.times(), state.inner()), (0, &alone));
    }

    /// The average of a wrapped rule is returned by the wrapper; negative control: a rule without average has none.
    #[test]
    fn the_average_inside_is_seen() {
        let averaged = Averaged { averaging: Averaging::all(), optimizer: Sgd::new(1.0).unwrap() };
        let clipped = Clipped { clip: Clip::norm(2.0).unwrap(), optimizer: averaged };
        let (mut state, mut params) = (clipped.init(1), [0.0]);
        assert_eq!(clipped.average(&state), None);
        clipped.ascend(&mut state, &mut params, &[1.0]); // at 1
        clipped.ascend(&mut state, &mut params, &[9.0]); // at 3
        assert_eq!(clipped.average(&state), Some(&[2.0][..]));
        assert_eq!(state.inner().average(), Some(&[2.0][..]));
        let plain = Clipped { clip: Clip::norm(2.0).unwrap(), optimizer: Sgd::new(1.0).unwrap() };
        assert_eq!(plain.average(&plain.init(1)), None);
    }

    #[test]
    fn files_and_states_are_checked() {
        let text = "clip = { kind = 'value', at = 3 }\noptimizer = { rate = 0.1 }";
        let expected = Clipped { clip: Clip::value(3.0).unwrap(), optimizer: Sgd::new(0.1).unwrap() };
        assert_eq!(toml::from_str::<Clipped<Sgd>>(text).unwrap(), expected);
        for at in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Clip::norm(at).is_err() && Clip::value(at).is_err(), "{at}");
        }
        assert!(toml::from_str::<Clip>("kind = 'norm'\nat = -1").is_err());
        assert!(toml::from_str::<Clip>("kind = 'norm'\nat = 1\nby = 2").is_err());
        let error = expected.check(3, &expected.init(2)).unwrap_err().to_string();
        assert_eq!(error, "Clipped: Sgd: params has length 2, expected 3");
    }
}
