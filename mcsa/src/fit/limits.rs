//! Limits of a fit: evaluations and time.

use mcsa_core::Error;

use super::climb::Climb;
use super::{Fitting, Objection, Shape, Stage, Target};

impl Fitting {
    /// Ends starts or climb early, if they have given what the next stage needs; a climb's end has the objection `limit`.
    pub(super) fn cut(&mut self, target: &Target<'_>, limit: Objection) -> Result<(), Error> {
        let is_begun = |climb: &Climb| !climb.rounds.is_empty();
        if self.stage == Stage::Start && !self.ascents.modes.is_empty() {
            self.objections.push(Objection::Starts { made: self.ascents.made, of: self.options.starts });
            self.begin_climb(target)?;
        } else if self.stage == Stage::Climb && self.climbs.first().is_some_and(is_begun) {
            // The larger of two families stays if it has given better weights so far.
            if let [.., before, last] = &self.climbs[..]
                && last.share() < before.share()
            {
                self.climbs.pop();
            }
            self.objections.push(limit);
            self.stage = Stage::Verdict;
        }
        Ok(())
    }

    /// Evaluations that the starts have left.
    pub(super) fn left_for_starts(&self) -> u64 {
        (self.options.evaluations / 2).saturating_sub(self.spent.total())
    }

    /// True if another round does not fit into the budget, or a limit has ended a climb; the first round always fits.
    pub(super) fn is_spent(&self, dim: usize) -> bool {
        let is_cut = self.objections.iter().any(|o| matches!(o, Objection::Budget | Objection::Time));
        let left = self.options.evaluations.saturating_sub(self.spent.total());
        let is_first = |climb: &Climb| self.climbs.len() == 1 && climb.rounds.is_empty();
        is_cut || self.climbs.last().is_some_and(|climb| climb.next_cost(dim) > left && !is_first(climb))
    }

    /// True if the budget allows the first round of a larger family, with the draws at which it begins.
    pub(super) fn allows(&self, shape: Shape, dim: usize) -> bool {
        let first = Climb::new(0, shape, Vec::new()).next_cost(dim);
        self.spent.total() + self.options.draws as u64 + first <= self.options.evaluations
    }
}
