//! State of a fit between its stages, which is its checkpoint.

use faer::Mat;
use mcsa_core::{AffineMap, Error, LogDensity, Seed, bits};
use mcsa_estimators::Draws;
use serde::{Deserialize, Serialize};

use super::by_chains::Attempt;
use super::checkpoint::TargetFingerprint;
use super::enlargement::mixture_start;
use super::mode_search::{ModeSearch, Starts};
use super::moments::white;
use super::prior::PriorLook;
use super::refinement::Refinement;
use super::result::FitResult;
use super::shape::DENSE;
use super::summary::Evidence;
use super::tails::tail_objection;
use super::target::Evaluations;
use super::witness::{self, CHAINS, Chains, FrozenProposal};
use super::{Check, Objection, Options, Shape, Target, verdict, wider_proposals};

/// Stage of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Ascents to modes, or tempering.
    #[default]
    Start,
    /// Rounds of the climb.
    Climb,
    /// Chains that may be the answer, where no q of location and scale carries the posterior.
    Chains,
    /// Draws, witnesses, verdict. The first witnesses are the starts that are left.
    Verdict,
    /// Nothing is left to do.
    Done,
}

/// State of a fit between its stages: plain data, which can be [saved](Self::save) and continued with the same bits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
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
    pub(super) objections: Vec<Objection>,
    pub(crate) starts: Starts,
    pub(super) drawn: CachedDraws,
    pub(super) chains: Option<Chains>,
    again: usize,
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
}

/// Ratio of effective shares from which on a larger family has helped.
const HELPED: f64 = 1.2;
/// Decrease of k-hat from which on a larger family has helped.
const LIGHTER: f64 = 0.1;
/// k-hat of the final draws above which the climb goes on, and how often it may.
const HEAVY_DRAWS: f64 = 0.7;
/// Number of further rounds after the final draws.
const AGAIN: usize = 1;
/// k-hat of the draws above which q is mended once although all checks passed.
const SOFT: f64 = 0.45;
/// As [`SOFT`], of the difference of mean log weights.
const SOFT_OFFSET: f64 = 0.15;
/// Draws that are made although a limit was reached.
const FEWEST_DRAWS: usize = 100;
/// Points at which a mixture begins.
const POINTS: usize = 400;

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

    /// Does the next piece of work: an ascent, tempering, a round, or the witnesses.
    ///
    /// # Errors
    /// If no start was found, a step of the climb cannot be made, two parameters of the target have the same name, the target has another
    /// dimension than the state, or its [check](Target::checked) fails.
    pub fn advance(&mut self, target: &Target<'_>) -> Result<(), Error> {
        self.check(target)?;
        self.is_by_density = target.gradient().is_none();
        if self.stage == Stage::Start {
            target.check_names()?;
        }
        let before = target.evaluations();
        let random = self.landmarks.note(target, &self.ascents.modes, self.seed());
        if !self.objections.iter().any(|objection| matches!(objection, Objection::Random { .. })) {
            self.objections.extend(random);
        }
        target.gate().open(self.left(), self.held_back(target));
        let done = match self.stage {
            Stage::Start => self.start(target),
            Stage::Climb => self.climb(target),
            Stage::Chains => self.sample(target),
            Stage::Verdict => self.judge(target),
            Stage::Done => Ok(()),
        };
        self.is_late |= target.gate().is_late();
        target.gate().end();
        self.spent = self.spent.and(before, target.evaluations());
        target.check()?;
        done
    }

    fn climb(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let seed = self.seed();
        let climb = self.current()?;
        if climb.is_slow() && self.begin_chains(target) {
            return Ok(());
        }
        let climb = self.current()?;
        if climb.is_settled(&self.options, target.dim()) {
            return self.bend(target);
        }
        if self.is_spent(target) {
            return self.cut(target, Objection::Budget);
        }
        let goes_on = || !target.gate().is_closed();
        match self.current_mut()?.advance(target.density(), seed, &goes_on) {
            // A limit ended the round.
            Ok(false) => self.cut(target, self.limit(target)),
            done => done.map(drop),
        }
    }

    /// After a climb: chains if the weights are bad, then a larger mixture as long as that helps, then the verdict.
    fn bend(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (last, before) = match &self.climbs[..] {
            [] => return Err(Error::invalid("no climb was begun")),
            [last] => (last, None),
            [.., before, last] => (last, Some(before)),
        };
        let is_good = last.is_good();
        let helped = self.mends > 0
            || before.is_none_or(|before| {
                let lighter = last.tail() < before.tail() - LIGHTER && last.share() > 0.5 * before.share();
                last.share() > HELPED * before.share() || lighter
            });
        let larger = last.shape.larger(target.dim()).filter(|_| !is_good && helped && self.mends == 0);
        if !is_good && self.begin_chains(target) {
            return Ok(());
        }
        let Some(larger) = larger else {
            if !helped {
                // The larger family is no better: the smaller one stays.
                self.climbs.pop();
            }
            return self.end_climb();
        };
        if !self.allows(larger, target) {
            return self.cut(target, Objection::Budget);
        }
        let Shape::Mixture { components } = larger else { return self.densify(target.dim()) };
        let draws = self.draws(target)?;
        let points = draws.resampled(POINTS, &mut self.seed().named("bend").stream(0, components as u64))?;
        // They serve again if the larger mixture is no better.
        self.drawn.draws = Some(draws);
        if !self.enlarge(&points, components)? {
            return self.end_climb();
        }
        Ok(())
    }

    /// A climb of a mixture that begins at points of p; false if too few of them differ for a covariance.
    pub(super) fn enlarge(&mut self, points: &Mat<f64>, components: usize) -> Result<bool, Error> {
        let number = self.climbs.last().map_or(0, |climb| climb.number) + 1;
        let params = match mixture_start(points, components, self.seed().child(number)) {
            Err(Error::NotPositiveDefinite { .. }) => return Ok(false),
            params => params?,
        };
        self.climbs.push(Refinement::new(number, Shape::Mixture { components }, params));
        self.stage = Stage::Climb;
        Ok(true)
    }

    /// Forgets the climbs and their draws, so that a first climb may begin.
    pub(super) fn forget_climbs(&mut self) {
        self.climbs.clear();
        (self.drawn, self.again, self.kept) = (CachedDraws::default(), 0, None);
    }

    fn current_mut(&mut self) -> Result<&mut Refinement, Error> {
        self.climbs.last_mut().ok_or_else(|| Error::invalid("no climb was begun"))
    }

    pub(super) fn current(&self) -> Result<&Refinement, Error> {
        self.climbs.last().ok_or_else(|| Error::invalid("no climb was begun"))
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
            return self.draw(*target.density().inner(), self.drawn.count, &|| true);
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

    fn judge(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let seed = self.seed();
        if self.is_another_start(target)? {
            return Ok(());
        }
        if self.is_back() {
            return self.go_back(target);
        }
        let draws = self.draws(target)?;
        let family = self.current()?.shape.build(target.dim())?;
        let params = self.current()?.proposal(target.dim())?;
        if draws.shape > HEAVY_DRAWS && self.again < AGAIN && !self.is_spent(target) {
            self.again += 1;
            self.current_mut()?.advance(target.density(), seed, &|| !target.gate().is_closed())?;
            return Ok(());
        }
        let is_light = draws.shape < draws.shape_threshold && draws.sample_size >= verdict::FEWEST;
        if !is_light && self.kept.is_none() && self.begin_chains(target) {
            return Ok(());
        }
        let map = white(&draws, self.current()?)?;
        let of_chains = seed.named("chains").child(self.mends as u64);
        let q = FrozenProposal { family: &*family, params: &params, map: &map };
        let mut unverified = Vec::new();
        let mut verified = |check: Check, is_affordable: bool| {
            if !is_affordable || target.gate().is_closed() {
                unverified.push(check);
            }
            is_affordable && !target.gate().is_closed()
        };
        let none = || (Chains::none(target.dim()), Mat::zeros(target.dim(), 0));
        let cost = Chains::cost(target.dim(), target.gradient().is_some());
        let (chains, mut points) = match verified(Check::Chains, cost <= target.gate().left()) {
            false => none(),
            true => {
                let starts = witness::starts(target, &self.ascents.modes, CHAINS, seed, self.mends as u64)?;
                let run = Chains::run(&q, target, &starts, of_chains)?;
                let is_whole = verified(Check::Chains, run.is_some());
                run.filter(|_| is_whole).unwrap_or_else(none)
            }
        };
        let evidence =
            verdict::Evidence { target, q: &q, draws: &draws, ascents: &self.ascents, chains: &chains };
        let mut found = evidence.objections();
        let (offset, _) = evidence.offset();
        let passed = evidence.passed_points();
        let passed = Mat::from_fn(target.dim(), passed.len(), |i, j| passed[j].0[i]);
        points = faer::concat![[points, passed]];
        if target.dim() <= DENSE
            && verified(Check::WiderProposals, wider_proposals::LEAST <= target.gate().left())
        {
            let around = seed.named("verdict").child(self.mends as u64);
            let far = wider_proposals::look(target, self.current()?.shape, &q, &draws, around)?;
            if let Some((objection, far)) = far.filter(|_| verified(Check::WiderProposals, true)) {
                found.extend(objection);
                points = faer::concat![[points, far]];
            }
        }
        let by = self.limit(target);
        found.extend(unverified.into_iter().map(|check| Objection::unverified(check, &by)));
        let is_soft = self.mends == 0 && (draws.shape > SOFT || offset > SOFT_OFFSET);
        if self.returns(&draws, &found) {
            return self.go_back(target);
        }
        if (is_soft || found.iter().any(Objection::is_to_q)) && self.mend(target, &draws, &points)? {
            self.keep(draws, chains, &found);
            return Ok(());
        }
        if found.iter().any(Objection::is_to_q) && self.kept.is_none() && self.begin_chains(target) {
            self.drawn.draws = Some(draws);
            return Ok(());
        }
        let is_elsewhere =
            |found: &Objection| matches!(found, Objection::Mixing { .. } | Objection::Missed { .. });
        if found.iter().any(is_elsewhere) && self.begin_tempered(target, draws.log_evidence())? {
            return Ok(());
        }
        self.look_at_tails(target, &map, &draws);
        self.objections.extend(found);
        self.conclude(draws, chains);
        Ok(())
    }

    /// Notes an objection to the tails of the density, or to a limit that ended the look at them.
    pub(super) fn look_at_tails(&mut self, target: &Target<'_>, map: &AffineMap, draws: &Draws) {
        let found = tail_objection(target, map, self.seed(), &draws.points, &draws.weights());
        if self.objections.iter().any(|objection| matches!(objection, Objection::Tail { .. })) {
            return;
        }
        self.objections.extend(match target.gate().is_closed() {
            true => Some(Objection::unverified(Check::Tails, &self.limit(target))),
            false => found,
        });
    }

    /// The last stage ends with these draws and chains.
    pub(super) fn conclude(&mut self, draws: Draws, chains: Chains) {
        if draws.len() < self.options.draws {
            self.objections.push(Objection::Draws { made: draws.len(), of: self.options.draws });
        }
        if self.ascents.made >= self.options.starts {
            // All ascents look for what a start of q missed.
            self.objections.retain(|objection| !matches!(objection, Objection::Tempering { .. }));
        }
        self.chains = Some(chains);
        self.drawn.draws = Some(draws);
        self.stage = Stage::Done;
    }

    /// The result, at the end of the last stage. The draws are those of the verdict; a state that was read from a file makes them again,
    /// uncounted.
    ///
    /// # Errors
    /// If a stage is left, or the target has another dimension than the state.
    pub fn finish(&self, target: &Target<'_>) -> Result<FitResult, Error> {
        if let Some((sampler, _)) = self.by_chains() {
            self.check(target)?;
            let (draws, chains) = sampler.answer(self.options.draws)?;
            return FitResult::of(self, target, draws, chains);
        }
        let Some(chains) = self.chains.clone().filter(|_| self.stage == Stage::Done) else {
            return Err(Error::invalid("the fit is not finished").within("FitState"));
        };
        self.check(target)?;
        let draws = match &self.drawn.draws {
            Some(draws) => draws.clone(),
            None => self.draw(*target.density().inner(), self.drawn.count, &|| true)?,
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
    #[serde(default)]
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

/// Fit to which the state can return from an attempt to improve it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Earlier {
    /// Number of climbs, of which it is the last.
    pub(super) climbs: usize,
    pub(super) drawn: CachedDraws,
    pub(super) chains: Chains,
    pub(super) objections: Vec<Objection>,
    #[serde(with = "bits::scalar")]
    pub(super) log_evidence: f64,
    /// Standard error of the log evidence.
    #[serde(with = "bits::scalar")]
    pub(super) error: f64,
    #[serde(with = "bits::scalar")]
    pub(super) sample_size: f64,
}

impl FitState {
    /// The fit of the climb with this number, which has been judged.
    pub(super) fn judged(
        &self,
        climbs: usize,
        draws: Draws,
        chains: Chains,
        objections: &[Objection],
    ) -> Earlier {
        let Evidence { log: log_evidence, error, .. } = Evidence::of(&draws, &[]);
        let (sample_size, objections) = (draws.sample_size, objections.to_vec());
        let drawn = CachedDraws { draws: Some(draws), ..self.drawn };
        Earlier { climbs, drawn, chains, objections, log_evidence, error, sample_size }
    }

    /// Returns to an earlier fit; its draws and its chains.
    pub(super) fn restore(
        &mut self,
        earlier: Earlier,
        target: &Target<'_>,
    ) -> Result<(Draws, Chains), Error> {
        self.climbs.truncate(earlier.climbs);
        (self.drawn, self.objections) = (earlier.drawn, earlier.objections);
        Ok((self.draws(target)?, earlier.chains))
    }
}
