//! Limits of a fit: evaluations and time.

use mcsa_core::Error;

use super::climb::Climb;
use super::low_rank::DENSE;
use super::tails;
use super::wider_proposals::WiderProposals;
use super::{Chains, Fitting, Objection, Shape, Stage, Target};

impl Fitting {
    /// True if a limit has been reached: no evaluations are left, or no time.
    pub(super) fn is_out(&self, target: &Target<'_>) -> bool {
        self.is_late || target.gate().is_closed() || self.left() == 0
    }

    /// The objection of the limit that was reached.
    pub(super) fn limit(&self, target: &Target<'_>) -> Objection {
        if self.is_late || target.gate().is_late() { Objection::Time } else { Objection::Budget }
    }

    /// Ends starts or climb early, if they have given what the next stage needs; a climb's end has the objection `limit`.
    pub(super) fn cut(&mut self, target: &Target<'_>, limit: Objection) -> Result<(), Error> {
        if matches!(self.stage, Stage::Start | Stage::Verdict) && !self.ascents.modes.is_empty() {
            self.end_starts(target)?;
        } else if self.stage == Stage::Climb {
            // The larger of two families stays if it has given better weights so far.
            if let [.., before, last] = &self.climbs[..]
                && last.share() < before.share()
            {
                self.climbs.pop();
            }
            if !self.objections.contains(&limit) {
                self.objections.push(limit);
            }
            self.stage = Stage::Verdict;
        }
        Ok(())
    }

    /// Evaluations that the starts have left.
    pub(super) fn left_for_starts(&self) -> u64 {
        (self.options.evaluations / 2).saturating_sub(self.spent.total())
    }

    /// Evaluations that are left.
    pub(super) fn left(&self) -> u64 {
        self.options.evaluations.saturating_sub(self.spent.total())
    }

    /// Evaluations that are kept for a verdict: those of its draws, short chains, stretched copies of q and tails; at most half of the budget.
    pub(super) fn for_verdict(&self, target: &Target<'_>, draws: usize) -> u64 {
        let dim = target.dim();
        let wide = if dim <= DENSE { WiderProposals::MOST } else { 0 };
        let chains = Chains::cost(dim, target.gradient().is_some());
        let all = draws as u64 + chains + chains / 20 + wide + tails::cost(dim);
        all.min(self.options.evaluations / 2)
    }

    /// Evaluations that a piece of work has to leave to later ones: ascents leave those of the verdict.
    pub(super) fn held_back(&self, target: &Target<'_>) -> u64 {
        let drawn = |climb: &Climb| self.drawn.of == Some((climb.number, climb.steps()));
        let draws = if self.climbs.last().is_some_and(drawn) { 0 } else { self.options.draws };
        match self.stage {
            Stage::Start => self.for_verdict(target, draws),
            Stage::Verdict if self.has_more_starts() => self.for_verdict(target, draws),
            _ => 0,
        }
    }

    /// True if another round does not fit into the budget, or a limit has ended a climb; the first round fits if it leaves nothing to others.
    pub(super) fn is_spent(&self, target: &Target<'_>) -> bool {
        let is_over = self.is_late || target.gate().is_closed();
        let is_cut = self.objections.iter().any(|o| matches!(o, Objection::Budget | Objection::Time));
        let others = self.reserved() + self.for_verdict(target, self.options.draws);
        let is_first = |climb: &Climb| self.climbs.len() == 1 && climb.rounds.is_empty();
        let is_spent = |climb: &Climb| match is_first(climb) {
            true => climb.next_cost(target.dim()) > self.left(),
            false => is_cut || climb.next_cost(target.dim()) > self.left().saturating_sub(others),
        };
        is_over || self.climbs.last().is_some_and(is_spent)
    }

    /// True if the budget allows the first round of a larger family, with the draws at which it begins.
    pub(super) fn allows(&self, shape: Shape, target: &Target<'_>) -> bool {
        let first = Climb::new(0, shape, Vec::new()).next_cost(target.dim());
        let others = self.reserved() + self.for_verdict(target, self.options.draws);
        self.options.draws as u64 + first <= self.left().saturating_sub(others)
    }
}
