//! Pathfinder and `mcsa::fit` within a budget.

use std::ops::ControlFlow;

use faer::Mat;
use mcsa::posterior::{FitState, Options, Target};
use mcsa_core::{Error, LogDensity};
use mcsa_estimators::Draws;
use mcsa_optim::deterministic::{MultiPathfinder, Pathfinder, Paths};

use super::Bounded;
use super::answer::Answer;

/// Most paths, as in the paper.
const PATHS: u64 = 20;

impl Bounded<'_, '_> {
    /// Paths from as many starts as the budget allows, and weighted draws of the mixture of their Gaussians.
    pub(super) fn pathfinder(self) -> Result<Answer, Error> {
        let seed = self.seed.named("start");
        let pathfinder = Pathfinder { lbfgs: self.climb(), ..Pathfinder::default() };
        // The number of paths follows from the cost of the first, which is counted when it is run with the others.
        let point = self.point(&mut seed.stream(0, 0));
        let first = self
            .target
            .uncounted(|| pathfinder.run(self.target, &point, &mut self.seed.named("pilot").stream(0, 0)));
        let cost = first.map_or(self.budget / PATHS, |found| found.evaluations).max(1);
        let paths = ((self.budget - self.draws() as u64) / cost).clamp(1, PATHS) as usize;
        let mut starts = Mat::zeros(self.target.dim(), paths);
        for k in 0..paths {
            let point = self.point(&mut seed.stream(k as u64, 0));
            starts.col_as_slice_mut(k).copy_from_slice(&point);
        }
        let finder =
            MultiPathfinder { pathfinder, draws: self.draws().div_ceil(paths), ..MultiPathfinder::default() };
        let Paths { points, log_p, log_q, .. } = finder.run_from(self.target, starts.as_ref(), self.seed)?;
        Ok(Answer::of(Draws::weighted(points, log_p, log_q)?))
    }

    /// `mcsa::fit` within the budget.
    pub(super) fn fit(self) -> Result<Answer, Error> {
        let number = (self.seed.named("fit").stream(0, 0).uniform() * 2.0_f64.powi(53)) as u64;
        let (evaluations, draws) = (self.budget, self.draws().max(100));
        let options = Options { evaluations, draws, ..Options::seeded(number) };
        let target = Target::with_gradient(&self.target);
        let mut fitting = FitState::new(&options)?;
        fitting.run(&target, &mut |_| ControlFlow::Continue(()))?;
        let fitted = fitting.finish(&target)?;
        Ok(Answer { yes: Some(if fitted.verdict.is_yes() { 1.0 } else { 0.0 }), ..Answer::of(fitted.draws) })
    }
}
