//! Optimiser that averages the path of another one.

use mcsa_core::{Error, Optimizer, bits};
use serde::{Deserialize, Serialize};

use crate::rules::{check_state, not_negative};

/// Weights of the iterates in an average.
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
/// [`Optimizer::average`]. With constant steps, or steps that decrease more slowly than `1/t`, the
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
    use crate::{Dog, Sgd};

    /// The averages after each step of a path that visits 1, 4, 9, 16, ..
    fn averages(averaging: Averaging) -> Vec<Option<f64>> {
        let averaged = Averaged { averaging, optimizer: Sgd::new(1.0).unwrap() };
        let (mut state, mut params) = (averaged.init(1), [0.0]);
        let mut step = |t: i32| {
            averaged.ascend(&mut state, &mut params, &[f64::from(2 * t - 1)]);
            assert_eq!(params[0], f64::from(t * t));
            assert_eq!(averaged.average(&state), state.average());
            state.average().map(|average| average[0])
        };
        (1..=6).map(&mut step).collect()
    }

    /// Plain means from a step on; with power 1 the t-th of T iterates weighs `2 t / (T (T + 1))`.
    #[test]
    fn averages_by_hand() {
        let mean = |from: i32, to: i32| {
            let count = f64::from(to - from + 1);
            (to >= from).then(|| (from..=to).map(|t| f64::from(t * t)).sum::<f64>() / count)
        };
        let linear =
            |to: i32| (1..=to).map(|t| f64::from(t * t * t)).sum::<f64>() * 2.0 / f64::from(to * (to + 1));
        let to = [1, 2, 3, 4, 5, 6];
        for (averaging, expected) in [
            (Averaging::all(), to.map(|to| mean(1, to))),
            (Averaging::tail(4).unwrap(), to.map(|to| mean(4, to))),
            (Averaging::polynomial(0.0).unwrap(), to.map(|to| mean(1, to))),
            (Averaging::polynomial(1.0).unwrap(), to.map(|to| Some(linear(to)))),
        ] {
            for (found, expected) in averages(averaging).into_iter().zip(expected) {
                assert_eq!(found.is_some(), expected.is_some(), "{averaging:?}");
                assert!((found.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs() < 1e-13, "{averaging:?}");
            }
        }
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
