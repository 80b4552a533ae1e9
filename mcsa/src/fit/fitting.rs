//! State of a fit between its stages, which is its checkpoint.

use std::ops::ControlFlow;

use mcsa_core::{Error, LogDensity, MomentMatched, Seed};
use mcsa_estimators::Draws;
use serde::{Deserialize, Serialize};

use faer::Mat;

use super::ascents::{Ascents, Mode};
use super::bend::mixture_start;
use super::climb::Climb;
use super::fitted::Fitted;
use super::gradient_check::gradient_objection;
use super::landmarks::Landmarks;
use super::moments::white;
use super::pace::Pace;
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
    objections: Vec<Objection>,
    chains: Option<Chains>,
    distrusted: bool,
}

/// Most modes that a first mixture has.
const MODES: usize = 8;
/// Share of the evidence below which a mode has no component of its own.
const NEGLIGIBLE: f64 = 1e-4;
/// Degrees of freedom at the start.
const FREEDOM: f64 = 8.0;
/// Effective share of the draws below which a larger family is tried.
const POOR: f64 = 0.3;
/// k-hat above which a larger family is tried.
const HEAVY: f64 = 0.5;
/// Ratio of effective shares from which on a larger family has helped.
const HELPED: f64 = 1.2;
/// Decrease of k-hat from which on a larger family has helped.
const LIGHTER: f64 = 0.1;
/// Components of the first mixture for a posterior that is no Student t.
const BENT: usize = 4;
/// Most components.
const COMPONENTS: usize = 16;

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
        })
    }

    fn seed(&self) -> Seed {
        Seed::new(self.options.seed).named("fit")
    }

    pub(crate) fn climb_seed(&self) -> Seed {
        self.seed().named("climb").child(self.climbs.len() as u64)
    }

    /// Does the next piece of work: an ascent, tempering, a round, or the witnesses.
    ///
    /// # Errors
    /// If no start was found, a step of the climb cannot be made, or the target has another dimension than the state.
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
        done
    }

    /// Does all that is left, piece by piece; `after` sees the state after each, and can end the run. Limit of time, progress and
    /// checkpoint file are those of the options.
    ///
    /// # Errors
    /// As [`advance`](Self::advance); if the checkpoint file cannot be written, or holds something that is not an earlier state of this
    /// fit.
    pub fn run(
        &mut self,
        target: &Target<'_>,
        after: &mut dyn FnMut(&Self) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut pace = Pace::begin(self)?;
        while self.stage != Stage::Done {
            if pace.is_over(self) {
                self.cut(target, Objection::Time)?;
            }
            self.advance(target)?;
            pace.after(self);
            if after(self).is_break() {
                break;
            }
        }
        pace.end(self)
    }

    /// Ends starts or climb early, if they have given what the next stage needs; a climb's end has the objection `limit`.
    fn cut(&mut self, target: &Target<'_>, limit: Objection) -> Result<(), Error> {
        let is_begun = |climb: &Climb| !climb.rounds.is_empty();
        if self.stage == Stage::Start && !self.ascents.modes.is_empty() {
            self.objections.push(Objection::Starts { made: self.ascents.made, of: self.options.starts });
            self.begin_climb(target)?;
        } else if self.stage == Stage::Climb && self.climbs.first().is_some_and(is_begun) {
            // The larger of two families stays if it has given better weights so far.
            if let [.., before, last] = &self.climbs[..]
                && share(last) < share(before)
            {
                self.climbs.pop();
            }
            self.objections.push(limit);
            self.stage = Stage::Verdict;
        }
        Ok(())
    }

    /// Evaluations that the starts have left.
    fn left_for_starts(&self) -> u64 {
        (self.options.evaluations / 2).saturating_sub(self.spent.total())
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

    fn begin_climb(&mut self, target: &Target<'_>) -> Result<(), Error> {
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
            1 => Climb::new(Shape::StudentT, parts.remove(0)),
            components => {
                let weights: Vec<f64> = best.iter().map(|&k| weights[k]).collect();
                let params = Shape::mixture(dim, components)?.at(&weights, &parts)?;
                Climb::new(Shape::Mixture { components }, params)
            }
        };
        self.climbs.push(climb);
        self.stage = Stage::Climb;
        Ok(())
    }

    fn climb(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let seed = self.climb_seed();
        let dim = target.dim();
        let left = self.options.evaluations.saturating_sub(self.spent.total());
        let is_first = self.climbs.len() == 1;
        let Some(climb) = self.climbs.last_mut() else { return Err(Error::invalid("no climb was begun")) };
        if climb.is_settled(&self.options) {
            return self.bend(target);
        }
        if climb.next_cost(dim) > left && !(is_first && climb.rounds.is_empty()) {
            return self.cut(target, Objection::Budget);
        }
        climb.advance(target.density(), seed)
    }

    /// After a climb: a climb of a larger mixture if the weights are bad and the last enlargement helped, else the verdict.
    fn bend(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (last, before) = match &self.climbs[..] {
            [] => return Err(Error::invalid("no climb was begun")),
            [last] => (last, None),
            [.., before, last] => (last, Some(before)),
        };
        let shape = |climb: &Climb| climb.rounds.last().map_or(f64::NAN, |round| round.shape);
        let is_good = share(last) >= POOR && shape(last) < HEAVY;
        let helped = before.is_none_or(|before| {
            let lighter = shape(last) < shape(before) - LIGHTER && share(last) > 0.5 * share(before);
            share(last) > HELPED * share(before) || lighter
        });
        let components = match last.shape {
            Shape::StudentT => BENT,
            Shape::Mixture { components } => 2 * components,
        };
        if is_good || !helped || components > COMPONENTS {
            if !helped {
                // The larger mixture is no better: the smaller one stays.
                self.climbs.pop();
            }
            self.stage = Stage::Verdict;
            return Ok(());
        }
        // Nothing is drawn for a climb that the budget does not allow.
        let shape = Shape::Mixture { components };
        let cost = self.options.draws as u64 + Climb::new(shape, Vec::new()).next_cost(target.dim());
        if self.spent.total() + cost > self.options.evaluations {
            return self.cut(target, Objection::Budget);
        }
        let (_, draws) = self.draws(target)?;
        let params = mixture_start(&draws, components, self.seed().child(self.climbs.len() as u64))?;
        self.climbs.push(Climb::new(shape, params));
        Ok(())
    }

    fn current(&self) -> Result<&Climb, Error> {
        self.climbs.last().ok_or_else(|| Error::invalid("no climb was begun"))
    }

    /// Family and weighted draws at the parameters reached.
    fn draws(&self, target: &Target<'_>) -> Result<(Box<dyn MomentMatched>, Draws), Error> {
        let climb = self.current()?;
        let family = climb.shape.build(target.dim())?;
        let draws =
            climb.draws(target.density(), &*family, self.seed().named("draws"), self.options.draws)?;
        Ok((family, draws))
    }

    fn judge(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let seed = self.seed();
        let (family, draws) = self.draws(target)?;
        let params = self.current()?.params().to_vec();
        let map = white(&draws)?;
        let chains =
            Chains::run(target, &*family, &params, &map, &self.starts(target)?, seed.named("chains"))?;
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
        self.objections.extend(tail_objection(target, &map, seed));
        self.objections.extend(found);
        self.chains = Some(chains);
        self.stage = Stage::Done;
        Ok(())
    }

    /// Starting points of the witness chains: around the modes in turn, twice as far out as their Gaussians.
    fn starts(&self, target: &Target<'_>) -> Result<Mat<f64>, Error> {
        let dim = target.dim();
        let mut starts = Mat::zeros(dim, witness::CHAINS);
        let mut work = vec![0.0; target.density().work_len(1)];
        for j in 0..witness::CHAINS {
            let mode = &self.ascents.modes[j % self.ascents.modes.len()];
            let map = mode.map()?;
            let mut stream = self.seed().named("witness").stream(j as u64, 0);
            let mut y = vec![0.0; dim];
            for trial in 0..20 {
                stream.normals_into(&mut y);
                let spread = 2.0 * 0.7_f64.powi(trial);
                y.iter_mut().for_each(|y| *y *= spread);
                map.forward_into(&y, starts.col_as_slice_mut(j));
                if target.density().log_density(starts.col_as_slice(j), &mut work).is_finite() {
                    break;
                }
            }
        }
        Ok(starts)
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
            params: climb.params().to_vec(),
            parameters: summary::parameters(*target.density().inner(), &draws),
            evidence: summary::Evidence::of(&draws, &chains.log_weights),
            verdict: Verdict { objections: self.objections.clone() },
            evaluations: self.spent + (target.evaluations() - before),
            draws,
            chains,
        })
    }
}

/// Effective share of the draws after the last round of a climb; 0 before the first.
fn share(climb: &Climb) -> f64 {
    climb.rounds.last().map_or(0.0, |round| round.share)
}
