//! Climbs of a dense family and of a flow, where the family before does not suffice.

use mcsa_core::Error;

use super::climb::Climb;
use super::flow::flow_start;
use super::low_rank::DENSE;
use super::moments::gaussian;
use super::shape::FREEDOM;
use super::{Fitting, Shape, Stage, Target};

impl Fitting {
    /// Ends the climbs: the verdict follows.
    pub(super) fn end_climb(&mut self) -> Result<(), Error> {
        self.stage = Stage::Verdict;
        Ok(())
    }

    /// A climb of a flow that begins at the moments of the weighted draws, if no other family gives good weights and the budget allows.
    pub(super) fn flow(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (dim, last) = (target.dim(), self.current()?);
        let number = last.number + 1;
        let is_apt = (2..=DENSE).contains(&dim) && !last.is_good() && self.mends == 0;
        if !is_apt || !self.allows(Shape::Flow, target) {
            return self.end_climb();
        }
        let draws = self.draws(target)?;
        let gaussian = gaussian(&draws);
        // They serve again if the flow is no better.
        self.drawn.draws = Some(draws);
        let Ok(gaussian) = gaussian else { return self.end_climb() };
        let start = flow_start(&gaussian, &mut self.seed().named("flow").stream(0, number))?;
        self.climbs.push(Climb::new(number, Shape::Flow, start));
        Ok(())
    }

    /// A climb of a Student t that begins at the best mode.
    pub(super) fn densify(&mut self, dim: usize) -> Result<(), Error> {
        let weights = self.ascents.weights();
        let best = self.ascents.modes.iter().zip(weights).max_by(|a, b| a.1.total_cmp(&b.1));
        let (mode, _) = best.ok_or_else(|| Error::invalid("no climb was begun"))?;
        let start = Shape::student_t(dim)?.at(&mode.point, mode.factor()?.as_ref(), FREEDOM)?;
        let number = self.current()?.number + 1;
        self.climbs.push(Climb::new(number, Shape::StudentT, start));
        self.stage = Stage::Climb;
        Ok(())
    }
}
