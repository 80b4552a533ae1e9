//! Natural-gradient score ascent without a learning rate: running moments of a kernel's points.

use crate::{ChainScore, Guard};
use faer::Mat;
use mcsa_core::{
    Ensemble, Error, Estimator, Kernel, LogDensity, Metric, Record, Stream, bits, borrow, positive,
};
use mcsa_families::MomentMatched;
use serde::{Deserialize, Serialize};

/// Natural-gradient ascent of `-KL(p || q)` as a running mean of moments, with a gain from the acceptance rate.
///
/// ```text
/// E_q'[T] = (1 - gain_t) E_q[T] + gain_t sum_i w_i T(z_i)        z_i, w_i the points of a kernel that leaves p invariant
/// gain_t  = r_t / (n_t + r_t),     n_t = start_draws + memory A_t
/// A_t     = sum_{s < t} a_s,       r_t a running mean of a_s over s < t,      a_s = chains times acceptance rate of step s
/// ```
/// The direction is the whole step `lambda' - lambda`: use it with an optimiser that adds it unchanged, `Sgd` with rate 1. The gain
/// decreases like `1 / (memory t)`; with `memory` below one the start and the first, worse points are forgotten like
/// `t^(-1 / memory)`.
///
/// The gain of a step depends on earlier steps alone, and the mean `r_t` covers about the last quarter of them. With `a_t / n_t` in its
/// place, steps in which chains move would count more than steps in which they stay, and the fixed point would be
/// `E_p[a T] / E_p[a]` instead of `E_p[T]`. The first step has gain zero: nothing has arrived yet.
///
/// Chains of a random walk or of Hamiltonian dynamics depend on their past, so an accepted move is worth less than one draw there; the
/// fixed point is the same. If the moments leave the range of the family, lambda stays and the step is counted as
/// `refused_moments`.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_estimators::{Ascent, Moments, pmcsa};
/// let (target, family) = (mcsa_models::Gaussian::standard(2), mcsa_families::FullRank::new(2));
/// let start = family.at(&[1.0, -1.0], faer::mat![[1.5, 0.0], [0.5, 1.5]].as_ref())?;
/// let (estimator, optimizer) = (Moments::new(pmcsa(10), 10.0), mcsa_optim::Sgd::new(1.0)?);
/// let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
/// let mut fit = ascent.start(start)?;
/// ascent.run(&mut fit, 500)?;
/// assert!(fit.params()[..2].iter().all(|mean| mean.abs() < 0.1));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moments<K, G = ()> {
    /// Kernel, chains and points of a step.
    pub climb: ChainScore<K, G>,
    /// Prior sample size of the start in independent draws of p, positive: 2 d to 10 d for a Laplace approximation.
    pub start_draws: f64,
    /// Share of the accepted draws in the running mean, in `(0, 1]`; one is the plain mean of all steps.
    pub memory: f64,
}

/// The state of [`Moments`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MomentsState<S> {
    /// The state of the kernel.
    pub kernel: S,
    /// Accepted draws of all steps, `A_t`.
    #[serde(with = "bits::scalar")]
    pub accepted: f64,
    /// Running mean of the accepted draws per step, `r_t`.
    #[serde(with = "bits::scalar")]
    pub recent: f64,
    /// Number of steps.
    pub steps: u64,
}

/// Metrics of a step of [`Moments`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MomentsInfo<I> {
    /// Metrics of the kernel.
    pub kernel: I,
    /// The gain of the step.
    pub gain: f64,
    /// 1 if the family has no member with the moments of the step, else 0.
    pub refused: u64,
}

/// Weights of the running mean of acceptance are those of `t^(AGEING - 1)`: it covers about the last quarter of the steps.
const AGEING: f64 = 4.0;

impl<K, G> Moments<K, G> {
    /// Running moments of half of what arrived: their variance is 4/3 of that of a plain mean, and the start is forgotten
    /// like `1/t^2`.
    pub const fn new(climb: ChainScore<K, G>, start_draws: f64) -> Self {
        Self { climb, start_draws, memory: 0.5 }
    }

    fn begin<S>(&self, kernel: Result<S, Error>) -> Result<MomentsState<S>, Error> {
        positive("start_draws", self.start_draws).map_err(|error| error.within("Moments"))?;
        if !(self.memory > 0.0 && self.memory <= 1.0) {
            return Err(Error::parameter("memory", self.memory, "positive and at most 1").within("Moments"));
        }
        Ok(MomentsState { kernel: kernel?, accepted: 0.0, recent: 0.0, steps: 0 })
    }
}

impl<I: Record> Record for MomentsInfo<I> {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        self.kernel.record(sink);
        sink(Metric::mean("gain"), self.gain);
        sink(Metric::sum("refused_moments"), self.refused as f64);
    }
}

/// The acceptance rate of a step; zero if it is NaN.
fn acceptance(info: &dyn Record) -> Result<f64, Error> {
    let mut rate = None;
    info.record(&mut |metric, value| {
        if metric.is(Metric::ACCEPTANCE) {
            rate = Some(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) });
        }
    });
    rate.ok_or_else(|| {
        Error::invalid("the kernel reports no acceptance rate, from which the gain is computed")
            .within("Moments")
    })
}

impl<P, F, K, G> Estimator<P, F> for Moments<K, G>
where
    P: LogDensity + ?Sized,
    F: MomentMatched + ?Sized,
    K: Kernel<P>,
    G: Guard,
{
    type State = MomentsState<K::State>;
    type Info = MomentsInfo<K::Info>;

    fn config(&self) -> String {
        let climb = Estimator::<P, F>::config(&self.climb);
        format!(
            "Moments {{ climb: {climb}, start_draws: {:?}, memory: {:?} }}",
            self.start_draws, self.memory
        )
    }

    crate::family_parameters::family_parameters!(P, F);

    fn verify(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        self.climb.verify(target, family, &state.kernel)
    }

    fn lanes(&self) -> usize {
        self.climb.lanes
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        family.work_len(self.climb.columns()) + self.climb.work_len(target, family)
    }

    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        self.begin(self.climb.init(target, family, params, lanes))
    }

    fn init_at(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        positions: Mat<f64>,
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        self.begin(self.climb.init_at(target, family, params, positions, lanes))
    }

    fn check(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        for (what, number) in [("accepted", state.accepted), ("recent", state.recent)] {
            if !(number >= 0.0 && number.is_finite()) {
                return Err(Error::parameter(what, number, "finite and not negative").within("Moments"));
            }
        }
        self.climb.check(target, family, &state.kernel)
    }

    fn chains<'s>(&self, state: &'s Self::State) -> Option<&'s Ensemble> {
        Estimator::<P, F>::chains(&self.climb, &state.kernel)
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<Self::Info, Error> {
        let memory = borrow(&mut work, family.work_len(self.climb.columns()));
        let equal = borrow(&mut work, self.climb.columns());
        let (_, kernel) =
            self.climb.transition(target, family, params, &mut state.kernel, lanes, None, work)?;
        let (points, weights) = self.climb.averaged(&state.kernel, equal);
        let gain = state.recent / (self.start_draws + self.memory * state.accepted + state.recent);
        let refused = gain > 0.0 && !family.match_moments(params, gain, points, weights, direction, memory);
        if gain == 0.0 || refused {
            direction.fill(0.0);
        } else {
            direction.iter_mut().zip(params).for_each(|(matched, param)| *matched -= param);
        }
        let accepted = self.climb.lanes as f64 * acceptance(&kernel)?;
        state.steps += 1;
        state.accepted += accepted;
        state.recent += (accepted - state.recent) * (AGEING / state.steps as f64).min(1.0);
        Ok(MomentsInfo { kernel, gain, refused: refused.into() })
    }
}
