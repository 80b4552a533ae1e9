//! State of a fit between its stages, which is its checkpoint.

use mcsa_core::{Error, LogDensity, Seed, bits};
use mcsa_estimators::Draws;
use serde::{Deserialize, Serialize};

use super::answer::result::FitResult;
use super::chains::attempt::Attempt;
use super::checkpoint::TargetFingerprint;
use super::climb::refinement::Refinement;
use super::density::Evaluations;
use super::density::prior::PriorLook;
use super::density::rounding::Known;
use super::start::mode_search::ModeSearch;
use super::start::starts::Starts;
use super::verdict::look::Look;
use super::verdict::witness::Chains;
use super::{Objection, Options, Target};

/// Stage of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Ascents to modes, or tempering.
    #[default]
    Start,
    /// Rounds of the climb.
    Climb,
    /// No-U-turn chains, which may be the answer where q does not fit the posterior.
    Chains,
    /// The remaining ascents, weighted draws of q, and the other checks of the verdict.
    Verdict,
    /// Nothing is left to do.
    Done,
}

/// State of a fit between its stages: plain data, which can be [saved](Self::save) and continued with the same bits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FitState {
    /// The options.
    pub options: Options,
    /// The next stage.
    pub stage: Stage,
    /// The ascents so far.
    pub ascents: ModeSearch,
    /// The climbs so far; the last is the current one.
    pub climbs: Vec<Refinement>,
    /// Evaluations so far.
    pub spent: Evaluations,
    pub(crate) landmarks: TargetFingerprint,
    /// The highest log density so far.
    pub(super) known: Option<Known>,
    pub(super) objections: Vec<Objection>,
    pub(crate) starts: Starts,
    pub(super) drawn: CachedDraws,
    pub(super) chains: Option<Chains>,
    /// Rounds after the final draws.
    pub(super) again: usize,
    pub(super) mends: usize,
    pub(super) is_late: bool,
    /// True if the target has no gradient.
    pub(super) is_by_density: bool,
    /// The fit whose checks passed, while a mixture is tried because its weights are uneven.
    pub(super) kept: Option<Earlier>,
    /// What draws of the prior showed, if it is known apart.
    pub(super) prior: Option<PriorLook>,
    /// The chains that were tried as the answer.
    pub(super) attempt: Option<Attempt>,
    /// True if no points were found at which chains could begin.
    pub(super) has_no_places: bool,
    /// What the witnesses found, until a decision on it ends the piece of work.
    #[serde(skip)]
    pub(super) look: Option<Look>,
}

/// Draws that are made although a limit was reached.
const FEWEST_DRAWS: usize = 100;

impl FitState {
    /// A fit that has not begun.
    ///
    /// # Errors
    /// If the options are invalid.
    pub fn new(options: &Options) -> Result<Self, Error> {
        options.check()?;
        Ok(Self { options: options.clone(), ..Self::default() })
    }

    pub(super) fn seed(&self) -> Seed {
        Seed::new(self.options.seed).named("fit")
    }

    /// Forgets the climbs and their draws, so that a first climb may begin.
    pub(super) fn forget_climbs(&mut self) {
        self.climbs.clear();
        (self.drawn, self.again, self.kept) = (CachedDraws::default(), 0, None);
    }

    pub(super) fn current(&self) -> Result<&Refinement, Error> {
        self.climbs.last().ok_or_else(|| Error::invalid("no climb was begun"))
    }

    /// A round of the current climb. One after the final draws is counted, and ends without an objection at a limit.
    pub(super) fn round(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (seed, is_after) = (self.seed(), self.stage == Stage::Verdict);
        self.again += usize::from(is_after);
        let goes_on = || !target.gate().is_closed();
        let climb = self.climbs.last_mut().ok_or_else(|| Error::invalid("no climb was begun"))?;
        let is_whole = climb.advance(target.density(), seed, &goes_on)?;
        if is_whole || is_after { Ok(()) } else { self.cut(target, self.limit(target)) }
    }

    /// Weighted draws at the parameters reached, from memory if they are there. Each are counted once.
    pub(super) fn draws(&mut self, target: &Target<'_>) -> Result<Draws, Error> {
        let climb = self.current()?;
        let of = (climb.number, climb.steps());
        let is_counted = self.drawn.of == Some(of);
        if let Some(draws) = self.drawn.draws.take().filter(|_| is_counted) {
            return Ok(draws);
        }
        if is_counted {
            return self.draw(&target.uncounted(), self.drawn.count, &|| true);
        }
        let count = self.affordable_draws(target);
        let goes_on = || !target.gate().is_late();
        let draws = target.gate().unlimited(|| self.draw(target.density(), count, &goes_on))?;
        (self.drawn.of, self.drawn.count) = (Some(of), Some(draws.len()));
        Ok(draws)
    }

    /// Number of draws that the limits allow: the requested number, or at least the smallest that the options accept. Where the time is
    /// over they take about a second.
    fn affordable_draws(&self, target: &Target<'_>) -> Option<usize> {
        let gate = target.gate();
        let in_time = gate.in_a_second().filter(|_| gate.is_late()).unwrap_or(u64::MAX);
        let most = usize::try_from(gate.left().min(in_time)).unwrap_or(usize::MAX);
        Some(self.options.draws.min(most.max(FEWEST_DRAWS)))
    }

    /// The draws in memory, if they are those of the current climb.
    pub(super) fn drawn(&self) -> Option<&Draws> {
        let climb = self.climbs.last()?;
        self.drawn.draws.as_ref().filter(|_| self.drawn.of == Some((climb.number, climb.steps())))
    }

    /// Weighted draws at the parameters reached, whether they are in memory or not.
    pub(super) fn draw(
        &self,
        target: &dyn LogDensity,
        count: Option<usize>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Draws, Error> {
        let climb = self.current()?;
        let family = climb.shape.build(target.dim())?;
        let count = count.unwrap_or(self.options.draws);
        climb.draws(target, &*family, self.seed().named("draws"), count, goes_on)
    }

    /// The result, at the end of the last stage. The draws are those of the verdict; a state that was read from a file makes them again,
    /// uncounted.
    ///
    /// # Errors
    /// If a stage is left, or the target has another dimension than the state.
    pub fn finish(&self, target: &Target<'_>) -> Result<FitResult, Error> {
        if let Some((sampler, mixing, _)) = self.by_chains() {
            self.check(target)?;
            let (draws, chains) = sampler.answer(&mixing, self.options.draws)?;
            return FitResult::of(self, target, draws, chains);
        }
        let Some(chains) = self.chains.clone().filter(|_| self.stage == Stage::Done) else {
            return Err(Error::invalid("the fit is not finished").within("FitState"));
        };
        self.check(target)?;
        let draws = match &self.drawn.draws {
            Some(draws) => draws.clone(),
            None => {
                target.gate().guard().watch(self.known.as_ref());
                self.draw(&target.uncounted(), self.drawn.count, &|| true)?
            }
        };
        FitResult::of(self, target, draws, chains)
    }
}

/// Weighted draws of the last proposal that was drawn from, and which it was: draws are not saved, but made again with the same bits.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct CachedDraws {
    /// Number of the climb, and its steps.
    pub(super) of: Option<(u64, u64)>,
    /// Their number, if a limit may have reduced it.
    pub(super) count: Option<usize>,
    #[serde(skip)]
    pub(super) draws: Option<Draws>,
}

/// Equality of the proposals.
impl PartialEq for CachedDraws {
    fn eq(&self, other: &Self) -> bool {
        self.of == other.of
    }
}

/// Fit without an objection, to which the state can return from an attempt to improve it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Earlier {
    /// Number of climbs, of which it is the last.
    pub(super) climbs: usize,
    pub(super) drawn: CachedDraws,
    pub(super) chains: Chains,
    #[serde(with = "bits::scalar")]
    pub(super) log_evidence: f64,
    /// Standard error of the log evidence.
    #[serde(with = "bits::scalar")]
    pub(super) error: f64,
    #[serde(with = "bits::scalar")]
    pub(super) sample_size: f64,
}
