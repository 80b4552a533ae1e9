//! Wrappers of any optimiser: clipping of directions, and averages of the path of lambda.

use mcsa_core::{Error, Optimizer, bits};
use serde::{Deserialize, Serialize};

use crate::rules::{check_state, not_negative, positive};

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

/// Weights of the iterates in an average.
///
/// ```
/// use mcsa_optim::Averaging;
/// let tail: Averaging = toml::from_str("kind = 'tail'\nfrom = 5001").unwrap();
/// assert_eq!(tail, Averaging::tail(5001)?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Weights")]
pub struct Averaging(Weights);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Weights {
    Tail { from: u64 },
    Polynomial { power: f64 },
}

impl Averaging {
    /// Polyak–Ruppert averaging: equal weights for all iterates from the first step on.
    pub const fn all() -> Self {
        Self(Weights::Tail { from: 1 })
    }

    /// Tail averaging: equal weights for the iterates after step `from` and after later steps; steps are counted from 1.
    ///
    /// # Errors
    /// If `from` is 0.
    pub fn tail(from: u64) -> Result<Self, Error> {
        Self::try_from(Weights::Tail { from })
    }

    /// Polynomial-decay averaging (Shamir & Zhang 2013): the `t`-th iterate has a weight of about `t^power`.
    ///
    /// The last iterates have the largest weights, wherever the run ends. Power 0 is [`all`](Self::all); 3 is a common choice, and
    /// the authors of `Dog` choose 8.
    ///
    /// # Errors
    /// If the power is negative or not finite.
    pub fn polynomial(power: f64) -> Result<Self, Error> {
        Self::try_from(Weights::Polynomial { power })
    }

    /// Weight of the newest iterate in the average after step `t`; `None` if averaging has not begun.
    fn weight(self, t: u64) -> Option<f64> {
        match self.0 {
            Weights::Tail { from } => (t >= from).then(|| 1.0 / (t - from + 1) as f64),
            Weights::Polynomial { power } => Some((1.0 + power) / (t as f64 + power)),
        }
    }
}

impl TryFrom<Weights> for Averaging {
    type Error = Error;

    fn try_from(weights: Weights) -> Result<Self, Error> {
        match weights {
            Weights::Tail { from: 0 } => Err(Error::parameter("from", 0.0, "at least 1")),
            Weights::Tail { .. } => Ok(()),
            Weights::Polynomial { power } => not_negative("power", power),
        }
        .map_err(|error| error.within("Averaging"))?;
        Ok(Self(weights))
    }
}

/// Optimiser with iterate averaging (Ruppert 1988; Polyak & Juditsky 1992).
///
/// ```text
/// average_t = average_{t-1} + w_t (lambda_t - average_{t-1})
/// w_t = 1 / (t - from + 1)   (tail)        w_t = (1 + power) / (t + power)   (polynomial)
/// ```
/// The path of the wrapped optimiser does not change. [`AveragedState::average`] reads the average from the state, and so does
/// [`Optimizer::average`], also through further wrappers. With constant steps, or steps that decrease more slowly than `1/t`, the
/// average has the least asymptotic variance any rule can have; the last iterate has a larger one. Start to average when the path
/// is near the optimum: an average with equal weights never loses the bias of a distant start.
///
/// Lambda is averaged in the unconstrained coordinates of the family: a mean of log scales is the logarithm of a geometric mean.
///
/// Units: those of lambda; the average has no rate of its own.
///
/// ```
/// use mcsa_core::Optimizer;
/// use mcsa_optim::{Averaged, Averaging, Sgd};
/// let averaged = Averaged { averaging: Averaging::all(), optimizer: Sgd::new(1.0)? };
/// let (mut state, mut params) = (averaged.init(1), [0.0]);
/// assert_eq!(state.average(), None);
/// averaged.ascend(&mut state, &mut params, &[1.0]); // at 1
/// averaged.ascend(&mut state, &mut params, &[4.0]); // at 5
/// assert_eq!(state.average(), Some(&[3.0][..]));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Averaged<O> {
    /// The weights of the iterates.
    pub averaging: Averaging,
    /// The wrapped optimiser, whose path is averaged.
    pub optimizer: O,
}

/// State of [`Averaged`]: the state of the wrapped optimiser, and the average of its path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AveragedState<S> {
    inner: S,
    steps: u64,
    has_begun: bool,
    #[serde(with = "bits::vector")]
    average: Vec<f64>,
}

impl<S> AveragedState<S> {
    /// The averaged lambda; `None` before averaging begins.
    pub fn average(&self) -> Option<&[f64]> {
        self.has_begun.then_some(&self.average[..])
    }

    /// The state of the wrapped optimiser.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

impl<O: Optimizer> Optimizer for Averaged<O> {
    type State = AveragedState<O::State>;

    fn config(&self) -> String {
        format!("Averaged {{ averaging: {:?}, optimizer: {} }}", self.averaging, self.optimizer.config())
    }

    fn init(&self, num_params: usize) -> Self::State {
        let inner = self.optimizer.init(num_params);
        AveragedState { inner, steps: 0, has_begun: false, average: vec![0.0; num_params] }
    }

    fn check(&self, num_params: usize, state: &Self::State) -> Result<(), Error> {
        check_state("average", num_params, &state.average)
            .and_then(|()| self.optimizer.check(num_params, &state.inner))
            .map_err(|error| error.within("Averaged"))
    }

    /// The average of this wrapper or, before it begins, that of the wrapped optimiser.
    fn average<'s>(&self, state: &'s Self::State) -> Option<&'s [f64]> {
        state.average().or_else(|| self.optimizer.average(&state.inner))
    }

    fn ascend(&self, state: &mut Self::State, params: &mut [f64], direction: &[f64]) {
        self.optimizer.ascend(&mut state.inner, params, direction);
        state.steps += 1;
        let Some(weight) = self.averaging.weight(state.steps) else {
            return;
        };
        state.has_begun = true;
        for (average, &param) in state.average.iter_mut().zip(&*params) {
            *average += weight * (param - *average);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adam, Dog, Sgd};

    fn clip(clip: Clip, direction: &[f64]) -> (Vec<f64>, bool) {
        let mut clipped = vec![0.0; direction.len()];
        let is_outside = clip.clip_into(direction, &mut clipped);
        (clipped, is_outside)
    }

    #[test]
    fn clips_by_hand() {
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
    fn bounds_are_checked() {
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

    /// The averages after each step of a path that visits 1, 4, 9, 16, ..
    fn averages(averaging: Averaging) -> Vec<Option<f64>> {
        let averaged = Averaged { averaging, optimizer: Sgd::new(1.0).unwrap() };
        let (mut state, mut params) = (averaged.init(1), [0.0]);
        let mut step = |t: i32| {
            averaged.ascend(&mut state, &mut params, &[f64::from(2 * t - 1)]);
            assert_eq!(params[0], f64::from(t * t));
            state.average().map(|average| average[0])
        };
        (1..=6).map(&mut step).collect()
    }

    #[test]
    fn all_and_tail_are_plain_means() {
        let close = |found: Vec<Option<f64>>, expected: [Option<f64>; 6]| {
            let is_close = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-13,
                (a, b) => a == b,
            };
            found.iter().zip(&expected).all(is_close)
        };
        let mean = |from: i32, to: i32| {
            let count = f64::from(to - from + 1);
            Some((from..=to).map(|t| f64::from(t * t)).sum::<f64>() / count)
        };
        assert!(close(averages(Averaging::all()), [1, 2, 3, 4, 5, 6].map(|to| mean(1, to))));
        let tail = [None, None, None, mean(4, 4), mean(4, 5), mean(4, 6)];
        assert!(close(averages(Averaging::tail(4).unwrap()), tail));
        assert_eq!(averages(Averaging::polynomial(0.0).unwrap()), averages(Averaging::all()));
    }

    /// With power 1 the t-th of T iterates weighs `2 t / (T (T + 1))`.
    #[test]
    fn polynomial_weights_by_hand() {
        let found = averages(Averaging::polynomial(1.0).unwrap())[5].unwrap();
        let expected: f64 = (1..=6).map(|t| f64::from(t * t * t)).sum::<f64>() * 2.0 / 42.0;
        assert!((found - expected).abs() < 1e-13);
    }

    #[test]
    fn the_path_is_untouched() {
        let averaged = Averaged { averaging: Averaging::polynomial(8.0).unwrap(), optimizer: Dog::default() };
        let (mut state, mut alone) = (averaged.init(1), Dog::default().init(1));
        let (mut a, mut b) = ([0.0], [0.0]);
        for _ in 0..50 {
            let direction = [2.0 - a[0]];
            averaged.ascend(&mut state, &mut a, &direction);
            Dog::default().ascend(&mut alone, &mut b, &direction);
        }
        assert_eq!((a, state.inner()), (b, &alone));
    }

    #[test]
    fn averages_are_checked() {
        let text = "averaging = { kind = 'polynomial', power = 3 }\noptimizer = { rate = 0.1 }";
        let averaging = Averaging::polynomial(3.0).unwrap();
        let expected = Averaged { averaging, optimizer: Sgd::new(0.1).unwrap() };
        assert_eq!(toml::from_str::<Averaged<Sgd>>(text).unwrap(), expected);
        assert!(Averaging::tail(0).is_err() && Averaging::polynomial(-1.0).is_err());
        assert!(toml::from_str::<Averaging>("kind = 'tail'\nfrom = 0").is_err());
        assert!(
            expected.check(3, &expected.init(2)).is_err() && expected.check(2, &expected.init(2)).is_ok()
        );
        let broken = AveragedState { average: vec![f64::NAN; 2], ..expected.init(2) };
        assert!(expected.check(2, &broken).is_err());
    }
}
