//! The look of the witnesses at q and its draws, and the end of a fit by them.

use faer::Mat;
use mcsa_core::{AffineMap, Error};
use mcsa_estimators::Draws;

use super::checks::Checks;
use super::tails::tail_objection;
use super::wider_proposals;
use super::witness::{self, CHAINS, FrozenProposal};
use crate::posterior::climb::moments::white;
use crate::posterior::climb::shape::DENSE;
use crate::posterior::plot::Piece;
use crate::posterior::rule::RULE;
use crate::posterior::{Chains, Check, FitState, Objection, Stage, Target};

/// What the witnesses found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Look {
    /// Objections to q and its draws.
    pub(crate) found: Vec<Objection>,
    /// Points of the witnesses, at which a mixture may begin.
    pub(crate) points: Mat<f64>,
    /// The witness chains.
    pub(crate) chains: Chains,
    /// Coordinates in which q is white.
    pub(crate) map: AffineMap,
    /// True if q is mended once although all checks pass.
    pub(crate) is_soft: bool,
    /// True if no mixture can begin at the points.
    pub(crate) is_past_mending: bool,
}

impl FitState {
    /// Runs the witnesses that the limits allow.
    pub(crate) fn look(&mut self, target: &Target<'_>) -> Result<Piece, Error> {
        let (seed, draws) = (self.seed(), self.draws(target)?);
        let family = self.current()?.shape.build(target.dim())?;
        let params = self.current()?.proposal(target.dim())?;
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
        let evidence = Checks { target, q: &q, draws: &draws, ascents: &self.ascents, chains: &chains, seed };
        let passed = evidence.passed_points();
        let mut found = evidence.objections(&passed);
        let (offset, _) = evidence.offset();
        let at = Mat::from_fn(target.dim(), passed.len(), |i, j| passed[j].0.point[i]);
        points = faer::concat![[points, at]];
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
        let is_soft = self.mends == 0 && (draws.shape > RULE.soft || offset > RULE.soft_offset);
        for (at, _) in passed {
            if !self.ascents.seen.contains(&at) {
                self.ascents.seen.push(at);
            }
        }
        self.look = Some(Look { found, points, chains, map, is_soft, is_past_mending: false });
        self.drawn.draws = Some(draws);
        Ok(Piece::GoesOn)
    }

    /// The draws are the answer, with what the witnesses found.
    pub(crate) fn conclude_on_look(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let Some(look) = self.look.take() else { return Err(Error::invalid("no witness looked at the fit")) };
        let draws = self.draws(target)?;
        self.look_at_tails(target, &look.map, &draws);
        self.objections.extend(look.found);
        self.conclude(draws, look.chains);
        Ok(())
    }

    /// Notes an objection to the tails of the density, or to a limit that ended the look at them.
    pub(crate) fn look_at_tails(&mut self, target: &Target<'_>, map: &AffineMap, draws: &Draws) {
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
    pub(crate) fn conclude(&mut self, draws: Draws, chains: Chains) {
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
}
