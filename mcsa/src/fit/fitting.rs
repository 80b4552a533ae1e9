//! State of a fit between its stages, which is its checkpoint.

use mcsa_core::{Error, Family, Seed};
use mcsa_estimators::Draws;
use serde::{Deserialize, Serialize};

use faer::Mat;

use super::ascents::{Ascents, Mode};
use super::bend::mixture_start;
use super::climb::Climb;
use super::fitted::Fitted;
use super::gradient_check::gradient_objection;
use super::landmarks::Landmarks;
use super::low_rank::{DENSE, low_rank_start};
use super::moments::white;
use super::shape::{BENT, COMPONENTS};
use super::summary;
use super::tails::tail_objection;
use super::target::Evaluations;
use super::tempering::tempered;
use super::verdict;
use super::witness::{self, Chains};
use super::{Objection, Options, Shape, Target, Verdict};

/// Stage of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Ascents to modes, or tempering.
    Start,
    /// Rounds of the climb.
    Climb,
    /// Draws, witnesses, verdict.
    Verdict,
    /// Nothing is left to do.
    Done,
}

/// State of a fit between its stages: plain data, which can be [saved](Self::save) and continued with the same bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitting {
    /// The options.
    pub options: Options,
    /// The next stage.
    pub stage: Stage,
    /// The ascents so far.
    pub ascents: Ascents,
    /// The climbs so far; the last is the current one.
    pub climbs: Vec<Climb>,
    /// Evaluations so far.
    pub spent: Evaluations,
    pub(crate) landmarks: Landmarks,
    pub(super) objections: Vec<Objection>,
    chains: Option<Chains>,
    distrusted: bool,
    again: usize,
    pub(super) mends: usize,
}

/// Most modes that a first mixture has.
const MODES: usize = 8;
/// Share of the evidence below which a mode has no component of its own.
const NEGLIGIBLE: f64 = 1e-4;
/// Degrees of freedom at the start.
pub(super) const FREEDOM: f64 = 8.0;
/// Ratio of effective shares from which on a larger family has helped.
const HELPED: f64 = 1.2;
/// Decrease of k-hat from which on a larger family has helped.
const LIGHTER: f64 = 0.1;
/// k-hat of the final draws above which the climb goes on, and how often it may.
const HEAVY_DRAWS: f64 = 0.7;
/// Number of further rounds after the final draws.
const AGAIN: usize = 1;
/// k-hat of the draws above which q is mended once although no witness objects.
const SOFT: f64 = 0.45;
/// As [`SOFT`], of the difference of mean log weights.
const SOFT_OFFSET: f64 = 0.15;
/// Points at which a mixture begins.
const POINTS: usize = 400;
/// Number of climbs that begin at the points of the witness chains.
const MENDS: usize = 2;

impl Fitting {
    /// A fit that has not begun.
    ///
    /// # Errors
    /// If the options are invalid.
    pub fn new(options: &Options) -> Result<Self, Error> {
        options.check()?;
        Ok(Self {
            options: options.clone(),
            stage: Stage::Start,
            ascents: Ascents::default(),
            climbs: Vec::new(),
            spent: Evaluations::default(),
            landmarks: Landmarks::default(),
            objections: Vec::new(),
            chains: None,
            distrusted: false,
            again: 0,
            mends: 0,
        })
    }

    pub(super) fn seed(&self) -> Seed {
        Seed::new(self.options.seed).named("fit")
    }

    /// Does the next piece of work: an ascent, tempering, a round, or the witnesses.
    ///
    /// # Errors
    /// If no start was found, a step of the climb cannot be made, the target has another dimension than the state, or its
    /// [check](Target::checked) fails.
    pub fn advance(&mut self, target: &Target<'_>) -> Result<(), Error> {
        self.check(target)?;
        let before = target.evaluations();
        self.landmarks.note(target, &self.ascents.modes, self.seed());
        let done = match self.stage {
            Stage::Start => self.start(target),
            Stage::Climb => self.climb(target),
            Stage::Verdict => self.judge(target),
            Stage::Done => Ok(()),
        };
        self.spent = self.spent + (target.evaluations() - before);
        target.check()?;
        done
    }

    fn start(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let seed = self.seed();
        if self.left_for_starts() == 0 && !self.ascents.modes.is_empty() {
            return self.cut(target, Objection::Budget);
        }
        match target.gradient().filter(|_| !self.distrusted) {
            Some(gradient) => {
                let is_first = self.ascents.modes.is_empty();
                self.ascents.advance(gradient, seed)?;
                if let Some(mode) = self.ascents.modes.first().filter(|_| is_first) {
                    let scales: Vec<f64> =
                        (0..target.dim()).map(|i| mode.covariance[(i, i)].sqrt()).collect();
                    if let Some(objection) = gradient_objection(target, &mode.point, &scales, seed) {
                        self.objections.push(objection);
                        self.distrusted = true;
                        self.ascents = Ascents::default();
                        return Ok(());
                    }
                }
                // Without any mode the ascents have nothing to say.
                let hopeless = self.ascents.modes.is_empty() && self.ascents.made >= 10;
                if hopeless {
                    self.temper(target)?;
                }
                if hopeless || self.ascents.made >= self.options.starts {
                    self.begin_climb(target)?;
                }
            }
            None => {
                self.temper(target)?;
                self.begin_climb(target)?;
            }
        }
        Ok(())
    }

    fn temper(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (gaussian, log_evidence, exponent) =
            tempered(target.density(), self.left_for_starts(), self.seed())?;
        if exponent < 1.0 {
            self.objections.push(Objection::Tempering { exponent });
        }
        let (point, covariance) = (gaussian.mean, gaussian.covariance);
        self.ascents.modes.push(Mode { point, covariance, log_evidence, reached: 1 });
        Ok(())
    }

    pub(super) fn begin_climb(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let dim = target.dim();
        let weights = self.ascents.weights();
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let best: Vec<usize> = order.into_iter().take(MODES).filter(|&k| weights[k] > NEGLIGIBLE).collect();
        let family = Shape::student_t(dim)?;
        let part = |&k: &usize| {
            let mode = &self.ascents.modes[k];
            family.at(&mode.point, mode.factor()?.as_ref(), FREEDOM)
        };
        let mut parts = best.iter().map(part).collect::<Result<Vec<_>, _>>()?;
        let climb = match parts.len() {
            1 => match low_rank_start(&self.ascents.modes[best[0]])? {
                Some((rank, start)) => Climb::new(0, Shape::LowRank { rank }, start),
                None => Climb::new(0, Shape::StudentT, parts.remove(0)),
            },
            components => {
                let weights: Vec<f64> = best.iter().map(|&k| weights[k]).collect();
                let params = Shape::mixture(dim, components)?.at(&weights, &parts)?;
                Climb::new(0, Shape::Mixture { components }, params)
            }
        };
        self.climbs.push(climb);
        self.stage = Stage::Climb;
        Ok(())
    }

    fn climb(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let seed = self.seed();
        let climb = self.current()?;
        if climb.is_settled(&self.options) {
            return self.bend(target);
        }
        let is_flow = climb.shape == Shape::Flow;
        if self.is_spent(target.dim()) {
            return if is_flow { self.bend(target) } else { self.cut(target, Objection::Budget) };
        }
        match self.current_mut()?.advance(target.density(), seed) {
            // A flow is an attempt, without which the fit goes on.
            Err(_) if is_flow => {
                self.climbs.pop();
                self.end_climb()
            }
            done => done,
        }
    }

    /// After a climb: a climb of a larger mixture if the weights are bad and the last enlargement helped, else of a flow, else the verdict.
    fn bend(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (last, before) = match &self.climbs[..] {
            [] => return Err(Error::invalid("no climb was begun")),
            [last] => (last, None),
            [.., before, last] => (last, Some(before)),
        };
        let (is_good, is_flow) = (last.is_good(), last.shape == Shape::Flow);
        let helped = self.mends > 0
            || before.is_none_or(|before| {
                let lighter = last.tail() < before.tail() - LIGHTER && last.share() > 0.5 * before.share();
                last.share() > HELPED * before.share() || lighter
            });
        let larger = last.shape.larger(target.dim()).filter(|_| !is_good && helped && self.mends == 0);
        let Some(larger) = larger else {
            if !helped {
                // The larger family is no better: the smaller one stays.
                self.climbs.pop();
            }
            return if is_flow { self.end_climb() } else { self.flow(target) };
        };
        if !self.allows(larger, target.dim()) {
            return self.cut(target, Objection::Budget);
        }
        let Shape::Mixture { components } = larger else { return self.densify(target.dim()) };
        let (_, draws) = self.draws(target)?;
        let points = draws.resampled(POINTS, &mut self.seed().named("bend").stream(0, components as u64))?;
        if !self.enlarge(&points, components)? {
            return self.end_climb();
        }
        Ok(())
    }

    /// A climb of a mixture that begins at points of p; false if too few of them differ for a covariance.
    fn enlarge(&mut self, points: &Mat<f64>, components: usize) -> Result<bool, Error> {
        let number = self.climbs.last().map_or(0, |climb| climb.number) + 1;
        let params = match mixture_start(points, components, self.seed().child(number)) {
            Err(Error::NotPositiveDefinite { .. }) => return Ok(false),
            params => params?,
        };
        self.climbs.push(Climb::new(number, Shape::Mixture { components }, params));
        self.stage = Stage::Climb;
        Ok(true)
    }

    /// A climb that begins at the points of the witness chains and as many of the draws, if a witness objects to q and there is
    /// budget left.
    fn mend(&mut self, target: &Target<'_>, draws: &Draws, points: &Mat<f64>) -> Result<bool, Error> {
        let dim = target.dim();
        let components = match self.current()?.shape {
            Shape::Mixture { components } => (components + BENT).min(COMPONENTS),
            _ => BENT,
        };
        let is_over = self.mends == MENDS || dim > DENSE || self.current()?.shape == Shape::Flow;
        let is_over = is_over || self.is_spent(dim);
        if is_over || !self.allows(Shape::Mixture { components }, dim) {
            return Ok(false);
        }
        self.mends += 1;
        let mut stream = self.seed().named("mend").stream(0, self.mends as u64);
        let drawn = draws.resampled(points.ncols(), &mut stream)?;
        let both =
            Mat::from_fn(target.dim(), 2 * points.ncols(), |i, j| match j.checked_sub(points.ncols()) {
                None => points[(i, j)],
                Some(j) => drawn[(i, j)],
            });
        self.enlarge(&both, components)
    }

    fn current_mut(&mut self) -> Result<&mut Climb, Error> {
        self.climbs.last_mut().ok_or_else(|| Error::invalid("no climb was begun"))
    }

    pub(super) fn current(&self) -> Result<&Climb, Error> {
        self.climbs.last().ok_or_else(|| Error::invalid("no climb was begun"))
    }

    /// Family and weighted draws at the parameters reached.
    pub(super) fn draws(&self, target: &Target<'_>) -> Result<(Box<dyn Family>, Draws), Error> {
        let climb = self.current()?;
        let family = climb.shape.build(target.dim())?;
        let draws =
            climb.draws(target.density(), &*family, self.seed().named("draws"), self.options.draws)?;
        Ok((family, draws))
    }

    fn judge(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let seed = self.seed();
        let (family, draws) = self.draws(target)?;
        let params = self.current()?.proposal(target.dim())?;
        if draws.shape > HEAVY_DRAWS && self.again < AGAIN && !self.is_spent(target.dim()) {
            self.again += 1;
            self.current_mut()?.advance(target.density(), seed)?;
            return Ok(());
        }
        let map = white(&draws, self.current()?)?;
        let of_chains = seed.named("chains").child(self.mends as u64);
        let starts = witness::starts(target, &self.ascents.modes, seed, self.mends as u64)?;
        let (chains, points) = Chains::run(target, &*family, &params, &map, &starts, of_chains)?;
        let evidence = verdict::Evidence {
            target,
            family: &*family,
            params: &params,
            draws: &draws,
            map: &map,
            ascents: &self.ascents,
            chains: &chains,
        };
        let found = evidence.objections();
        let is_soft = self.mends == 0 && (draws.shape > SOFT || evidence.offset().0 > SOFT_OFFSET);
        if (is_soft || found.iter().any(Objection::is_to_q)) && self.mend(target, &draws, &points)? {
            return Ok(());
        }
        self.objections.extend(tail_objection(target, &map, seed));
        self.objections.extend(found);
        self.chains = Some(chains);
        self.stage = Stage::Done;
        Ok(())
    }

    /// The result, at the end of the last stage.
    ///
    /// # Errors
    /// If a stage is left, or the target has another dimension than the state.
    pub fn finish(&self, target: &Target<'_>) -> Result<Fitted, Error> {
        let Some(chains) = self.chains.clone().filter(|_| self.stage == Stage::Done) else {
            return Err(Error::invalid("the fit has not come to its end").within("Fitting"));
        };
        self.check(target)?;
        let before = target.evaluations();
        let (_, draws) = self.draws(target)?;
        let climb = self.current()?;
        Ok(Fitted {
            shape: climb.shape,
            params: climb.proposal(target.dim())?,
            parameters: summary::parameters(*target.density().inner(), &draws),
            evidence: summary::Evidence::of(&draws, &chains.log_weights),
            verdict: Verdict { objections: self.objections.clone() },
            evaluations: self.spent + (target.evaluations() - before),
            draws,
            chains,
        })
    }
}
