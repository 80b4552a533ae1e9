//! Starts of a fit: ascents before the first climb, and those that the verdict adds as witnesses.

use mcsa_core::{Error, Gradient};
use mcsa_estimators::Draws;
use serde::{Deserialize, Serialize};

use super::mode_search::{Mode, ModeSearch};
use super::tempering::{Tempered, tempered};
use crate::posterior::climb::moments::of_climb;
use crate::posterior::climb::shape::{DENSE, FREEDOM, low_rank_start};
use crate::posterior::density::gradient_check::gradient_objection;
use crate::posterior::plot::Piece;
use crate::posterior::rule::RULE;
use crate::posterior::verdict::checks::weight_outside;
use crate::posterior::{Approximation, Check, FitState, Gated, Objection, Refinement, Shape, Stage, Target};

/// Progress of the starts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Starts {
    /// True if no ascents are to follow: all are made, a limit ended them, or tempering took the place of those that ended nowhere.
    pub(crate) are_over: bool,
    /// True if the q of an earlier fit was tried as the start.
    pub(crate) is_earlier_tried: bool,
    /// True if tempering was tried beside the ascents.
    pub(crate) are_tempered: bool,
    /// True if the gradient was found to be wrong.
    pub(crate) distrusted: bool,
    /// True if an ascent by the log density alone ended at a mode outside q.
    pub(crate) is_outside: bool,
    /// Number of modes at which the first climb began.
    pub(crate) known: usize,
    /// Evaluations that the first climb leaves to the ascents that follow it.
    pub(crate) reserved: u64,
}

/// Number of ascents before the first climb. The verdict makes the others.
const FIRST: usize = 10;
/// Most modes that a first mixture has.
const MODES: usize = 8;
/// Gradients that an ascent by the log density alone is expected to take.
const SLOPES: u64 = 20;

/// Factor `1 + 1/sqrt(d)` by which the scale of a first Student t exceeds that of the Laplace approximation.
///
/// A q as narrow as the mode of a wider posterior gives the chains rare points with large weights, at which they stay; a q that is too
/// wide narrowed within a round or two in trials. For a Gaussian q and a Gaussian posterior the factor divides the effective share by at
/// most `e^2`, in any dimension. Above [`DENSE`] dimensions, where the start may be as good as what chains can reach, it is one.
fn wide(dim: usize) -> f64 {
    if dim > DENSE { 1.0 } else { 1.0 + 1.0 / (dim as f64).sqrt() }
}

impl FitState {
    /// Ascents before the first climb: one, or a round of them.
    pub(crate) fn ascend(&mut self, target: &Target<'_>) -> Result<Piece, Error> {
        let seed = self.seed();
        let Some(gradient) = self.trusted_gradient(target) else { return Ok(Piece::GoesOn) };
        let (is_first, before) = (self.ascents.modes.is_empty(), self.ascents.clone());
        self.ascents.advance(target.shared(gradient), FIRST.min(self.options.starts), seed)?;
        if target.gate().is_closed() {
            self.ascents = before;
            if is_first {
                self.objections.push(Objection::unverified(Check::Gradient, &self.limit(target)));
            }
            if self.ascents.modes.is_empty() {
                self.ascents.modes.push(Mode::unknown(target.dim()));
            }
            return self.cut(target, self.limit(target)).map(|()| Piece::Done);
        }
        if is_first && self.distrusts_gradient(target) {
            self.ascents = ModeSearch::default();
            return Ok(Piece::Done);
        }
        Ok(if self.ascents.made >= FIRST.min(self.options.starts) { Piece::GoesOn } else { Piece::Done })
    }

    /// True if the ascents before the first climb are made. Without any mode they are no evidence.
    pub(crate) fn is_started(&self) -> bool {
        let fewest = if self.ascents.modes.is_empty() { FIRST } else { FIRST.min(self.options.starts) };
        self.ascents.made >= fewest
    }

    /// Begins the climb at the q of an earlier fit, unless the weights of its draws are too uneven. Then the usual starts follow.
    pub(crate) fn begin_from_earlier(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let Some(Approximation { shape, params }) = self.options.earlier.clone() else { return Ok(()) };
        self.starts.is_earlier_tried = true;
        let (dim, seed) = (target.dim(), self.seed());
        let check = || shape.build(dim)?.check(&params);
        check().map_err(|error: Error| error.within("start from an earlier fit"))?;
        let centres = shape.centres(dim, &params)?;
        let mut climb = Refinement::new(0, shape, params);
        let goes_on = || !target.gate().is_closed();
        let Some(draws) = climb.look(target.density(), seed, &goes_on)? else { return Ok(()) };
        if !climb.is_good() {
            return Ok(());
        }
        let before = (self.ascents.clone(), target.evaluations().total());
        let each = match self.trusted_gradient(target) {
            Some(gradient) => {
                let mut stream = seed.named("earlier").stream(0, 0);
                self.ascents.begin_from(target.shared(gradient), &centres, &mut stream)?;
                if target.gate().is_closed() || self.ascents.modes.is_empty() {
                    self.ascents = before.0;
                    return Ok(());
                }
                if self.distrusts_gradient(target) {
                    self.ascents = ModeSearch::default();
                    return Ok(());
                }
                (target.evaluations().total() - before.1) / centres.len() as u64
            }
            None => {
                self.ascents.keep(of_climb(&draws, &climb)?, draws.log_evidence());
                self.ascents.made = 1;
                SLOPES * (dim as u64 + 1)
            }
        };
        self.enter_climb(climb, each);
        Ok(())
    }

    /// Checks the gradient near the first mode. True if it is wrong: then it is not used, and ascents by it are no evidence.
    fn distrusts_gradient(&mut self, target: &Target<'_>) -> bool {
        let Some(mode) = self.ascents.modes.first() else { return false };
        let scales: Vec<f64> = (0..target.dim()).map(|i| mode.covariance[(i, i)].sqrt()).collect();
        if let Some(objection) = gradient_objection(target, &mode.point, &scales, self.seed()) {
            self.objections.push(objection);
            self.starts.distrusted = true;
            return true;
        }
        if target.gate().is_closed() {
            self.objections.push(Objection::unverified(Check::Gradient, &self.limit(target)));
        }
        false
    }

    /// Tempering, and the first climb from its Gaussian.
    pub(crate) fn begin_from_tempering(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let Tempered { gaussian, log_evidence, exponent } =
            tempered(target.density(), self.left_for_starts(), self.seed(), &|| !target.gate().is_closed())?;
        if exponent < 1.0 {
            self.objections.push(Objection::Tempering { exponent });
        }
        self.ascents.keep(gaussian, log_evidence);
        // Tempering is the first of the starts by the log density alone, and the end of ascents that led nowhere: perhaps by the
        // gradient's fault.
        match self.has_gradient(target) && !self.distrusts_gradient(target) {
            true => self.starts.are_over = true,
            false => self.ascents.made = 1,
        }
        self.begin_climb(target)
    }

    /// A first climb from the modes known so far.
    pub(crate) fn begin_climb(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let dim = target.dim();
        let weights = self.ascents.weights();
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let best: Vec<usize> =
            order.into_iter().take(MODES).filter(|&k| weights[k] > RULE.no_component).collect();
        let family = Shape::student_t(dim)?;
        let wide = if best.len() == 1 { wide(dim) } else { 1.0 };
        let part = |&k: &usize| {
            let mode = &self.ascents.modes[k];
            let mut factor = mode.factor()?;
            factor *= wide;
            family.at(&mode.point, factor.as_ref(), FREEDOM)
        };
        let mut parts = best.iter().map(part).collect::<Result<Vec<_>, _>>()?;
        let climb = match parts.len() {
            1 => match low_rank_start(&self.ascents.modes[best[0]], &|| !self.is_out(target))? {
                Some((rank, start)) => Refinement::new(0, Shape::LowRank { rank }, start),
                None => Refinement::new(0, Shape::StudentT, parts.remove(0)),
            },
            components => {
                let weights: Vec<f64> = best.iter().map(|&k| weights[k]).collect();
                let params = Shape::mixture(dim, components)?.at(&weights, &parts)?;
                Refinement::new(0, Shape::Mixture { components }, params)
            }
        };
        let each = match self.has_gradient(target) {
            true => self.spent.total() / (self.ascents.made as u64).saturating_sub(1).max(1),
            false => SLOPES * (dim as u64 + 1),
        };
        self.enter_climb(climb, each);
        Ok(())
    }

    /// The first climb. It leaves so many evaluations to each of the ascents that follow.
    fn enter_climb(&mut self, climb: Refinement, each: u64) {
        self.climbs.push(climb);
        self.stage = Stage::Climb;
        let following = self.options.starts.saturating_sub(self.ascents.made) as u64;
        self.starts.known = self.ascents.modes.len();
        self.starts.reserved = each.saturating_mul(following).min(self.left_for_starts());
    }

    /// Makes more of the ascents that the verdict adds. A limit ends them.
    pub(crate) fn ascend_more(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let before = self.ascents.clone();
        match self.trusted_gradient(target) {
            Some(gradient) => {
                self.ascents.advance(target.shared(gradient), self.options.starts, self.seed())?;
            }
            None => self.start_by_density(target)?,
        }
        if target.gate().is_closed() {
            self.ascents = before;
            self.end_starts(target)?;
        }
        Ok(())
    }

    /// The last ascents, from draws of the prior. The climb begins again if a mode was found; else the verdict goes on.
    pub(crate) fn ascend_last(&mut self, target: &Target<'_>) -> Result<Piece, Error> {
        self.start_from_prior(target)?;
        self.end_starts(target)?;
        Ok(if self.stage == Stage::Verdict { Piece::GoesOn } else { Piece::Done })
    }

    /// Ascents from draws of the prior, if there is one, that lie farthest outside q.
    fn start_from_prior(&mut self, target: &Target<'_>) -> Result<(), Error> {
        if target.density().inner().prior().is_none() || self.prior.is_some() {
            return Ok(());
        }
        let draws = self.draws(target)?;
        let climb = self.current()?;
        let (family, params) = (climb.shape.build(target.dim())?, climb.proposal(target.dim())?);
        let mut work = vec![0.0; family.work_len(1)];
        let known = self.ascents.modes.len();
        let mut search = std::mem::take(&mut self.ascents);
        let done = self.look_from_prior(target, &mut search, &mut |z| family.log_prob(&params, z, &mut work));
        self.ascents = search;
        let outside = |mode: &Mode| weight_outside(target, &*family, &params, &draws, mode).is_some();
        self.starts.is_outside |= self.ascents.modes[known..].iter().any(outside);
        self.drawn.draws = Some(draws);
        done
    }

    /// One more ascent by the log density alone. Its end is outside q if its weight is far above that of every draw.
    fn start_by_density(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let draws = self.draws(target)?;
        let (seed, climb) = (self.seed(), self.current()?);
        let (family, params) = (climb.shape.build(target.dim())?, climb.proposal(target.dim())?);
        if let Some(mode) = self.ascents.advance_by_density(target.density(), seed)? {
            let outside = weight_outside(target, &*family, &params, &draws, mode);
            self.starts.is_outside |= outside.is_some();
        }
        self.drawn.draws = Some(draws);
        Ok(())
    }

    /// The gradient, if there is one and it was not found to be wrong.
    pub(crate) fn trusted_gradient<'t, 'a>(
        &self,
        target: &'t Target<'a>,
    ) -> Option<&'t Gated<&'a dyn Gradient>> {
        target.gradient().filter(|_| !self.starts.distrusted)
    }

    /// True if the target has a gradient that was not found to be wrong.
    pub(crate) fn has_gradient(&self, target: &Target<'_>) -> bool {
        self.trusted_gradient(target).is_some()
    }

    /// Ends the ascents, with an objection if not all were made. If modes with a share of the evidence were found since the first climb
    /// began, it begins anew at all modes, unless a limit ended the ascents.
    pub(crate) fn end_starts(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (made, of) = (self.ascents.made, self.options.starts);
        if self.starts.are_over {
            return Ok(());
        }
        if made < of {
            self.objections.push(Objection::Starts { made, of });
        }
        let goes_on = !self.is_out(target) && self.left() > self.held_back(target);
        self.starts.are_over = true;
        // The Gaussian of tempering may hold modes that ascents find in it.
        let is_found = (self.has_gradient(target) || self.starts.is_outside)
            && self.ascents.weights().iter().skip(self.starts.known).any(|share| *share > RULE.no_component);
        if self.stage == Stage::Start || (is_found && goes_on) {
            self.forget_climbs();
            self.begin_climb(target)?;
        }
        Ok(())
    }

    /// True if a tempered start was not tried, and may be.
    pub(crate) fn may_temper(&self, target: &Target<'_>) -> bool {
        !self.starts.are_tempered && target.dim() <= DENSE && !self.is_out(target)
    }

    /// Begins the first climb anew at a tempered start, once, if that has more evidence than the draws: where mass and mode are far apart, as
    /// on a funnel in ten dimensions, ascents end without mass.
    pub(crate) fn begin_tempered(&mut self, target: &Target<'_>) -> Result<Piece, Error> {
        let log_evidence = self.drawn().map_or(f64::NAN, Draws::log_evidence);
        self.starts.are_tempered = true;
        let goes_on = || !target.gate().is_closed();
        let found = tempered(target.density(), self.left(), self.seed(), &goes_on);
        let Ok(found) = found else { return Ok(Piece::GoesOn) };
        let is_left = target.gate().left() > self.for_verdict(target, self.options.draws);
        if !found.replaces(log_evidence) || !is_left {
            return Ok(Piece::GoesOn);
        }
        self.ascents.keep(found.gaussian, found.log_evidence);
        self.forget_climbs();
        self.mends = 0;
        self.begin_climb(target).map(|()| Piece::Done)
    }

    /// True if ascents are left to make.
    pub(crate) fn has_more_starts(&self) -> bool {
        !self.starts.are_over && self.ascents.made < self.options.starts
    }

    /// Evaluations that first climbs leave to ascents.
    pub(crate) fn reserved(&self) -> u64 {
        if self.starts.are_over { 0 } else { self.starts.reserved }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::Options;
    use mcsa_core::Parametric;
    use mcsa_families::GaussianFamily;
    use mcsa_models::Gaussian;

    /// The share of `N(0, s^2)` for `N(0, 1)` is `sqrt(2 s^2 - 1) / s^2` in each dimension.
    #[test]
    fn a_wide_start_divides_the_effective_share_by_at_most_e_squared() {
        let log_share = |s: f64, dim: usize| dim as f64 * (0.5 * (2.0 * s * s - 1.0).ln() - 2.0 * s.ln());
        for dim in 1..=DENSE {
            assert!((-2.0..0.0).contains(&log_share(wide(dim), dim)), "{dim}");
        }
        assert_eq!(wide(DENSE + 1), 1.0);
        // Counterexample: half as wide again.
        assert!(log_share(1.0 + 1.5 / 10.0, 100) < -2.0);
    }

    #[test]
    fn the_first_climb_begins_wider_than_the_mode() {
        let model = Gaussian::standard(4);
        let target = Target::with_gradient(&model);
        let mut fitting = FitState::new(&Options::seeded(2)).expect("options");
        while fitting.climbs.is_empty() {
            fitting.advance(&target).expect("an ascent");
        }
        let family = mcsa_families::FullRank::new(4);
        let variances =
            family.variances(&fitting.climbs[0].start[..family.num_params()]).expect("a Gaussian");
        // The curvature of the mode is exact, the factor 1.5.
        assert!(variances.iter().all(|variance| (variance.sqrt() - 1.5).abs() < 1e-6), "{variances:?}");
    }
}
