//! Limits of evaluations and time.

use mcsa_core::Error;

use super::climb::refinement::Refinement;
use super::climb::shape::DENSE;
use super::verdict::{tails, wider_proposals};
use super::{Chains, FitState, Objection, Shape, Stage, Target};

/// Most evaluations of a fit if the options have none, with a gradient and by the log density alone.
const BUDGET: u64 = 1_000_000;
const BUDGET_BY_DENSITY: u64 = 10_000_000;

impl FitState {
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

    /// Most evaluations of the whole fit.
    pub(super) fn budget(&self) -> u64 {
        let by_default =
            if self.is_by_density || self.starts.distrusted { BUDGET_BY_DENSITY } else { BUDGET };
        self.options.evaluations.unwrap_or(by_default)
    }

    /// Evaluations that the starts have left.
    pub(super) fn left_for_starts(&self) -> u64 {
        (self.budget() / 2).saturating_sub(self.spent.total())
    }

    /// Evaluations that are left.
    pub(super) fn left(&self) -> u64 {
        self.budget().saturating_sub(self.spent.total())
    }

    /// Evaluations that are kept for a verdict: those of its draws, short chains, stretched copies of q and tails; at most half of the budget.
    pub(super) fn for_verdict(&self, target: &Target<'_>, draws: usize) -> u64 {
        let dim = target.dim();
        let wide = if dim <= DENSE { wider_proposals::MOST } else { 0 };
        let has_gradient = target.gradient().is_some();
        let chains = Chains::cost(dim, has_gradient);
        let all = draws as u64 + chains + chains / 20 + wide + tails::cost(dim, has_gradient);
        all.min(self.budget() / 2)
    }

    /// Evaluations that a piece of work has to leave to later ones: ascents leave those of the verdict.
    pub(super) fn held_back(&self, target: &Target<'_>) -> u64 {
        let drawn = |climb: &Refinement| self.drawn.of == Some((climb.number, climb.steps()));
        let draws = if self.climbs.last().is_some_and(drawn) { 0 } else { self.options.draws };
        match self.stage {
            Stage::Start => self.for_verdict(target, draws),
            Stage::Chains => self.kept_from_chains(target),
            Stage::Verdict if self.has_more_starts() => self.for_verdict(target, draws),
            _ => 0,
        }
    }

    /// True if another round does not fit into the budget, or a limit has ended a climb; the first round fits if it leaves nothing to others.
    pub(super) fn is_spent(&self, target: &Target<'_>) -> bool {
        let is_over = self.is_late || target.gate().is_closed();
        let is_cut = self.objections.iter().any(|o| matches!(o, Objection::Budget | Objection::Time));
        let others = self.reserved() + self.for_verdict(target, self.options.draws);
        let is_first = |climb: &Refinement| self.climbs.len() == 1 && climb.rounds.is_empty();
        let is_spent = |climb: &Refinement| match is_first(climb) {
            true => climb.next_cost(target.dim()) > self.left(),
            false => is_cut || climb.next_cost(target.dim()) > self.left().saturating_sub(others),
        };
        is_over || self.climbs.last().is_some_and(is_spent)
    }

    /// True if the budget allows the first round of a larger family, with the draws at which it begins.
    pub(super) fn allows(&self, shape: Shape, target: &Target<'_>) -> bool {
        let first = Refinement::new(0, shape, Vec::new()).next_cost(target.dim());
        let others = self.reserved() + self.for_verdict(target, self.options.draws);
        self.options.draws as u64 + first <= self.left().saturating_sub(others)
    }
}
