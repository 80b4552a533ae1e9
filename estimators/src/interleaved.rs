//! Alternation of two estimators.

use mcsa_core::{Ensemble, Error, Estimator, Metric, Record, Stream};
use mcsa_kernels::Hmc;
use serde::{Deserialize, Serialize};

use crate::{ScoreClimb, ScoreWeights, single, snis};

/// Alternating estimator: the direction is that of one estimator in most steps, and that of another in one step per round,
/// with one lambda and one optimiser.
///
/// ```text
/// often seldom often .. often | often seldom often .. often | ..     `period` of the first to one of the second
/// ```
///
/// Used for the wake steps of [`rws`]: `period` iterations in the papers' count are `period + 1` steps here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interleaved<A, B> {
    /// The estimator of all steps but one in each round.
    pub often: A,
    /// The estimator of the second step of each round.
    pub seldom: B,
    /// Number of steps of `often` per round, at least one.
    pub period: u64,
}

/// The state of [`Interleaved`]: both estimators' states and the number of steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterleavedState<A, B> {
    /// The state of `often`.
    pub often: A,
    /// The state of `seldom`.
    pub seldom: B,
    step: u64,
}

/// Metrics of the estimator that made the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InterleavedInfo<A, B> {
    /// A step of `often`.
    Often(A),
    /// A step of `seldom`.
    Seldom(B),
}

impl<A: Default, B> Default for InterleavedInfo<A, B> {
    fn default() -> Self {
        Self::Often(A::default())
    }
}

impl<A: Record, B: Record> Record for InterleavedInfo<A, B> {
    /// Metrics of the estimator that made the step.
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        match self {
            Self::Often(info) => info.record(sink),
            Self::Seldom(info) => info.record(sink),
        }
    }
}

/// Reweighted wake-sleep as the papers reinterpret it: self-normalised importance sampling in every iteration, and in every
/// fifth iteration a further step along the score at the state of a Hamiltonian chain (CW).
pub fn rws(samples: usize, hmc: Hmc) -> Interleaved<ScoreWeights, ScoreClimb<Hmc>> {
    Interleaved { often: snis(samples), seldom: single(hmc), period: 5 }
}

impl<P, F, A, B> Estimator<P, F> for Interleaved<A, B>
where
    P: ?Sized,
    F: ?Sized,
    A: Estimator<P, F>,
    B: Estimator<P, F>,
{
    type State = InterleavedState<A::State, B::State>;
    type Info = InterleavedInfo<A::Info, B::Info>;

    fn config(&self) -> String {
        let (often, seldom) = (self.often.config(), self.seldom.config());
        format!("Interleaved {{ often: {often}, seldom: {seldom}, period: {} }}", self.period)
    }

    fn family_config(&self, family: &F) -> String {
        self.often.family_config(family)
    }

    fn verify(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        self.often.verify(target, family, &state.often)?;
        self.seldom.verify(target, family, &state.seldom)
    }

    fn num_params(&self, target: &P, family: &F) -> usize {
        self.often.num_params(target, family)
    }

    fn check_params(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error> {
        self.often.check_params(target, family, params)?;
        self.seldom.check_params(target, family, params)
    }

    fn lanes(&self) -> usize {
        self.often.lanes() + self.seldom.lanes()
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        self.often.work_len(target, family).max(self.seldom.work_len(target, family))
    }

    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        if self.period == 0 {
            return Err(Error::parameter("period", 0.0, "at least 1").within("Interleaved"));
        }
        let (first, second) = lanes.split_at_mut(self.often.lanes());
        let often = self.often.init(target, family, params, first)?;
        let seldom = self.seldom.init(target, family, params, second)?;
        Ok(InterleavedState { often, seldom, step: 0 })
    }

    fn check(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        self.often.check(target, family, &state.often)?;
        self.seldom.check(target, family, &state.seldom)
    }

    fn chains<'s>(&self, state: &'s Self::State) -> Option<&'s Ensemble> {
        self.often.chains(&state.often).or_else(|| self.seldom.chains(&state.seldom))
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<Self::Info, Error> {
        let (first, second) = lanes.split_at_mut(self.often.lanes());
        let turn = state.step % (self.period + 1);
        state.step += 1;
        if turn == 1 {
            let state = &mut state.seldom;
            let info =
                self.seldom.ascent_direction(target, family, params, state, second, direction, work)?;
            return Ok(InterleavedInfo::Seldom(info));
        }
        let info =
            self.often.ascent_direction(target, family, params, &mut state.often, first, direction, work)?;
        Ok(InterleavedInfo::Often(info))
    }
}
