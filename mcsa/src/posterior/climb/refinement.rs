//! Refinement of a fit: running moments of parallel chains, in rounds that end with a look at the weights.

use std::ops::ControlFlow;
use std::sync::Arc;

use mcsa_core::{Error, Family, LogDensity, Parametric, Seed, bits};
use mcsa_estimators::{
    Ascent, AscentState, Draws, Moments, MomentsState, Run, Stop, TailWeight, View, pmcsa,
};
use mcsa_kernels::ImhState;
use mcsa_optim::{Sgd, SgdState};
use serde::{Deserialize, Serialize};

use super::shape::DENSE;
use crate::posterior::rule::RULE;
use crate::posterior::{Gated, Options, Shape};

/// Refinement of one family of q, called a climb: running moments ([`Moments`]) lead q towards the minimum of KL(p || q).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refinement {
    /// The family.
    pub shape: Shape,
    /// Parameters at the start.
    #[serde(with = "bits::vector")]
    pub start: Vec<f64>,
    /// Number of the climb in its fit, from which its random numbers come.
    pub number: u64,
    /// Rounds so far, each twice as long as the one before.
    pub rounds: Vec<Round>,
    fit: Option<AscentState<MomentsState<ImhState>, SgdState>>,
}

/// Weights of draws of q at the end of a round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Steps so far.
    pub steps: u64,
    /// k-hat.
    #[serde(with = "bits::scalar")]
    pub shape: f64,
    /// Effective sample size per draw.
    #[serde(with = "bits::scalar")]
    pub share: f64,
    /// Verdict on the tail of the weights.
    pub tail: TailWeight,
}

/// Evaluations of a first round per dimension, and at least.
const FIRST: (usize, usize) = (40, 600);
/// Draws at the end of a round.
const LOOK: usize = 1_000;
/// Smallest number of chains of a component; the largest of all is [`MOST_CHAINS`].
const CHAINS: usize = 10;
/// Largest number of chains.
const MOST_CHAINS: usize = 256;
/// Prior sample size of the start, per dimension.
const START_DRAWS: f64 = 10.0;
/// Degrees of freedom of a Student t that is nearly Gaussian.
const LIGHT: f64 = 200.0;
/// Share of the proposal's weights that is equal for all components.
const EVEN: f64 = 0.2;
/// Least weight of a component for which the start is worth ten draws per dimension.
const LEAST: f64 = 0.02;

impl Round {
    fn of(steps: u64, draws: &Draws) -> Self {
        let share = draws.sample_size / draws.len() as f64;
        Self { steps, shape: draws.shape, share, tail: draws.tail_weight() }
    }
}

impl Refinement {
    pub(crate) fn new(number: u64, shape: Shape, start: Vec<f64>) -> Self {
        Self { number, shape, start, rounds: Vec::new(), fit: None }
    }

    /// Parameters reached.
    pub fn params(&self) -> &[f64] {
        self.fit.as_ref().map_or(&self.start, AscentState::params)
    }

    /// Steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.fit.as_ref().map_or(0, AscentState::step)
    }

    /// Effective share of the draws after the last round; 0 before the first.
    pub(crate) fn share(&self) -> f64 {
        self.rounds.last().map_or(0.0, |round| round.share)
    }

    /// k-hat of the draws after the last round; NaN before the first.
    pub(crate) fn tail(&self) -> f64 {
        self.rounds.last().map_or(f64::NAN, |round| round.shape)
    }

    /// True if the weights are poor and a round has not improved them, as far as can be seen, or the third has not.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self.rounds[..], [.., before, last] if before.share.max(last.share) < RULE.noise)
            || matches!(self.made(), [.., before, last] if last.share < RULE.slowest && last.share < (1.0 + RULE.slow) * before.share)
            || matches!(self.made(), [_, _, last] if last.share < RULE.slowest)
    }

    /// True if the weights are so even that no larger family is tried.
    pub(crate) fn is_good(&self) -> bool {
        self.share() >= RULE.poor && self.tail() < RULE.heavy
    }

    /// Parameters of the proposal of the final draws: those reached, with weights of a mixture moved a fifth of the way to equal ones, so
    /// that modes with little mass have draws enough.
    pub(crate) fn proposal(&self, dim: usize) -> Result<Vec<f64>, Error> {
        let params = self.params();
        let Shape::Mixture { components } = self.shape else { return Ok(params.to_vec()) };
        let family = Shape::mixture(dim, components)?;
        let even = |weight: f64| (1.0 - EVEN) * weight + EVEN / components as f64;
        let logits = family.weights(params).into_iter().map(|weight| even(weight).ln());
        Ok(logits.chain(params[components..].iter().copied()).collect())
    }

    /// Prior sample size of the start: ten per dimension for the component with the least weight, and `d^2 / 10` for a
    /// dense scale matrix in more than 100 dimensions.
    fn start_draws(&self, dim: usize) -> Result<f64, Error> {
        let draws = START_DRAWS * dim as f64;
        Ok(match self.shape {
            Shape::LowRank { .. } => draws,
            // A covariance with d (d + 1) / 2 entries needs draws in proportion.
            Shape::StudentT => draws * (dim as f64 / DENSE as f64).max(1.0),
            Shape::Mixture { components } => {
                let weights = Shape::mixture(dim, components)?.weights(&self.start);
                draws / weights.into_iter().fold(1.0, f64::min).max(LEAST)
            }
        })
    }

    /// Rounds without the look at the start.
    fn made(&self) -> &[Round] {
        &self.rounds[usize::from(self.rounds.first().is_some_and(|round| round.steps == 0))..]
    }

    /// Number of chains in `dim` dimensions: as many for each component as there are dimensions, or ten.
    fn chains(&self, dim: usize) -> usize {
        let components = match self.shape {
            Shape::LowRank { .. } | Shape::StudentT => 1,
            Shape::Mixture { components } => components,
        };
        (components * dim.max(CHAINS)).min(MOST_CHAINS)
    }

    /// Evaluations of the next round, without those of its look.
    fn next_steps(&self, dim: usize) -> u64 {
        let first = (FIRST.0 * dim).max(FIRST.1).div_ceil(self.chains(dim));
        (first as u64) << self.made().len()
    }

    /// Number of evaluations of the next round.
    pub(crate) fn next_cost(&self, dim: usize) -> u64 {
        self.next_steps(dim).saturating_mul(self.chains(dim) as u64) + LOOK as u64
    }

    /// Makes one more round; false if it ended early, because `goes_on` was false.
    pub(crate) fn advance(
        &mut self,
        target: &Gated<&dyn LogDensity>,
        seed: Seed,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<bool, Error> {
        let dim = target.dim();
        if dim > DENSE && self.rounds.is_empty() {
            return self.look_at_start(target, seed, goes_on);
        }
        self.go_on(target, seed, self.next_steps(dim), goes_on)?;
        Ok(self.look(target, seed, goes_on)?.is_some())
    }

    /// Draws at the parameters reached, with which a round ends; `None` if it ended early, because `goes_on` was false.
    pub(crate) fn look(
        &mut self,
        target: &Gated<&dyn LogDensity>,
        seed: Seed,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<Draws>, Error> {
        let (step, family) = (self.steps(), self.shape.build(target.dim())?);
        let seed = seed.named("climb").child(self.number).named("look").child(step);
        let draws = self.draws(target, &*family, seed, LOOK, goes_on)?;
        if !goes_on() {
            return Ok(None);
        }
        self.rounds.push(Round::of(step, &draws));
        Ok(Some(draws))
    }

    /// Makes `steps` more steps, or fewer if `goes_on` is false after one.
    fn go_on(
        &mut self,
        target: &Gated<&dyn LogDensity>,
        seed: Seed,
        steps: u64,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let (dim, seed) = (target.dim(), seed.named("climb").child(self.number));
        let (chains, draws) = (pmcsa(self.chains(dim)), self.start_draws(dim)?);
        let (family, estimator) = (self.shape.build(dim)?, Moments::new(chains, draws));
        let ascent = Ascent { target, family: &*family, estimator, optimizer: Sgd::new(1.0)?, seed };
        let mut begun = match self.fit.take() {
            Some(fit) => fit,
            None => ascent.start(self.start.clone())?,
        };
        let mut watch = |_: &View<'_, MomentsState<ImhState>, SgdState>| match goes_on() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(Stop::because("a limit was reached")),
        };
        let ran = ascent.run(&mut begun, Run::of(steps).observe(&mut watch)).map(drop);
        self.fit = Some(begun);
        ran
    }

    /// Round without steps: in many dimensions the start may be as good as what chains can reach. Of a Student t it is the better one of the
    /// start and of a t that is nearly Gaussian. False if it ended early.
    fn look_at_start(
        &mut self,
        target: &Gated<&dyn LogDensity>,
        seed: Seed,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<bool, Error> {
        let is_whole = self.look(target, seed, goes_on)?.is_some();
        if !is_whole || self.shape != Shape::StudentT {
            return Ok(is_whole);
        }
        let family = Shape::student_t(target.dim())?;
        let mut light = Self::new(self.number, self.shape, self.start.clone());
        light.start[family.num_params() - 1] = family.law.param(LIGHT)?;
        match light.look(target, seed, goes_on)? {
            None => self.rounds.clear(),
            Some(_) if light.share() > self.share() => *self = light,
            Some(_) => {}
        }
        Ok(!self.rounds.is_empty())
    }

    /// Checks that the chains, read from a file, are those of this target, so that the next round need not.
    ///
    /// # Errors
    /// If the stored densities of the chains are not those of `target`, or the seed differs.
    pub(crate) fn verify(&mut self, target: &dyn LogDensity, seed: Seed) -> Result<(), Error> {
        if self.fit.is_none() {
            return Ok(());
        }
        self.go_on(&Gated::new(target, &Arc::default()), seed, 0, &|| true)
    }

    /// Weighted draws of the [`proposal`](Self::proposal).
    pub(crate) fn draws(
        &self,
        target: &dyn LogDensity,
        family: &dyn Family,
        seed: Seed,
        count: usize,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Draws, Error> {
        let params = self.proposal(family.dim())?;
        Draws::while_going(target, family, &params, seed.stream(0, 0), count, goes_on)
    }

    /// True if the weights are as even as required, if a doubling of the steps gained little, or if another round would not pay.
    pub(crate) fn is_settled(&self, options: &Options, dim: usize) -> bool {
        let settled = matches!(self.rounds[..], [.., last] if last.share >= options.share);
        settled
            || matches!(self.made(), [.., first, second, last] if last.share < (1.0 + RULE.slow) * first.share.max(second.share))
            || !self.pays(options.draws, dim)
    }

    /// False if the next round of a good climb takes more evaluations than it could save.
    ///
    /// ```text
    /// draws / share - draws        evaluations that the largest possible gain saves: an effective share of one in place of `share`
    /// ```
    /// Fewer draws than the default count as those of the default: the verdict is about q, whose quality must not depend on them.
    fn pays(&self, draws: usize, dim: usize) -> bool {
        let draws = draws.max(Options::seeded(0).draws);
        let saved = draws as f64 * (1.0 / self.share() - 1.0);
        !self.is_good() || self.next_cost(dim) as f64 <= saved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A climb in ten dimensions after `rounds` rounds, the last of which has this effective share and k-hat.
    fn climbed(rounds: usize, share: f64, shape: f64) -> Refinement {
        let mut climb = Refinement::new(0, Shape::StudentT, Vec::new());
        for k in 0..rounds {
            let (share, shape) = if k + 1 == rounds { (share, shape) } else { (0.1 * share, 1.0) };
            let steps = climb.steps() + climb.next_steps(10);
            climb.rounds.push(Round { steps, shape, share, tail: TailWeight::NotKnown });
        }
        climb
    }

    #[test]
    fn a_climb_is_slow_where_two_looks_show_nothing_or_three_rounds_little() {
        // The share of each round but the last is a tenth of the last one.
        for (rounds, share, is_slow) in
            [(2, 0.004, true), (2, 0.006, false), (3, 0.09, true), (3, 0.11, false)]
        {
            assert_eq!(climbed(rounds, share, 1.0).is_slow(), is_slow, "{rounds} {share}");
        }
        // The look at the start counts, in many dimensions.
        let mut climb = climbed(1, 0.004, 1.0);
        assert!(!climb.is_slow());
        climb.rounds.insert(0, Round { steps: 0, ..climb.rounds[0] });
        assert!(climb.is_slow());
    }

    /// After three rounds the next one takes 4800 evaluations and 1000 draws. More than that is saved if 4000 draws have an effective share
    /// below `4000 / 9800 = 0.408`.
    #[test]
    fn a_climb_ends_where_another_round_takes_more_than_it_can_save() {
        let options = Options::seeded(1);
        assert_eq!(climbed(3, 0.5, 0.2).next_cost(10), 5_800);
        for (rounds, share, shape, is_settled) in [
            (3, 0.40, 0.2, false),
            (3, 0.42, 0.2, true),
            // A round of 2400 evaluations may save more, heavy weights are not kept, and the first rounds need no gain.
            (2, 0.42, 0.2, false),
            (3, 0.42, 0.8, false),
            (0, 0.0, f64::NAN, false),
            // Asked for.
            (1, 0.70, 0.2, true),
        ] {
            assert_eq!(
                climbed(rounds, share, shape).is_settled(&options, 10),
                is_settled,
                "{rounds} {share}"
            );
        }
        // More draws are worth more steps, and fewer as many.
        let many = Options { draws: 40_000, ..options.clone() };
        assert!(!climbed(3, 0.42, 0.2).is_settled(&many, 10));
        let few = Options { draws: 500, ..options };
        assert!(!climbed(3, 0.40, 0.2).is_settled(&few, 10));
    }
}
