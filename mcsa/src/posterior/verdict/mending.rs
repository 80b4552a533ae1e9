//! Mending of a fit: a mixture that begins at the points of the witnesses, and the way back if its weights are worse.

use faer::Mat;
use mcsa_core::Error;
use mcsa_estimators::Draws;

use crate::posterior::answer::summary::Evidence;
use crate::posterior::climb::moments::white;
use crate::posterior::climb::shape::{BENT, COMPONENTS, DENSE};
use crate::posterior::plot::Piece;
use crate::posterior::rule::RULE;
use crate::posterior::state::{CachedDraws, Earlier};
use crate::posterior::{Chains, FitState, Objection, Shape, Target};

impl FitState {
    /// Components of a mixture that could mend the fit: where mends, points and budget are left.
    pub(crate) fn mends_with(&self, points: &Mat<f64>, target: &Target<'_>) -> Option<usize> {
        let components = match self.climbs.last()?.shape {
            Shape::Mixture { components } => (components + BENT).min(COMPONENTS),
            _ => BENT,
        };
        let is_over = self.mends == RULE.mends || target.dim() > DENSE;
        let is_over = is_over || self.is_spent(target) || points.ncols() == 0;
        (!is_over && self.allows(Shape::Mixture { components }, target)).then_some(components)
    }

    /// A climb that begins at the points of the witnesses and as many of the draws. The fit before it is kept if nothing objected to it. The
    /// look goes on, without the mixture, if too few points differ.
    pub(crate) fn mend(&mut self, components: usize, target: &Target<'_>) -> Result<Piece, Error> {
        let Some(mut look) = self.look.take() else {
            return Err(Error::invalid("no witness looked at the fit"));
        };
        let draws = self.draws(target)?;
        self.mends += 1;
        let mut stream = self.seed().named("mend").stream(0, self.mends as u64);
        let drawn = draws.resampled(look.points.ncols(), &mut stream)?;
        if self.enlarge_at(&faer::concat![[look.points, drawn]], components)? {
            self.keep(draws, look.chains, &look.found);
            return Ok(Piece::Done);
        }
        look.is_past_mending = true;
        (self.drawn.draws, self.look) = (Some(draws), Some(look));
        Ok(Piece::GoesOn)
    }

    /// Keeps the fit that was just judged, if no witness objected to it: the current climb is the mixture that is tried.
    pub(crate) fn keep(&mut self, draws: Draws, chains: Chains, found: &[Objection]) {
        if !found.is_empty() || !self.objections.is_empty() {
            return;
        }
        let Evidence { log: log_evidence, error, .. } = Evidence::of(&draws, &[]);
        let (climbs, sample_size) = (self.climbs.len() - 1, draws.sample_size);
        let drawn = CachedDraws { draws: Some(draws), ..self.drawn };
        self.kept = Some(Earlier { climbs, drawn, chains, log_evidence, error, sample_size });
    }

    /// True if a limit ended the mixture that was tried before it was as good as the fit before.
    pub(crate) fn is_back(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.climbs == self.climbs.len())
    }

    /// True if the mixture that was tried was ended by a limit, or has much worse weights than the fit before, and gives the same evidence and
    /// has no other fault.
    pub(crate) fn returns(&self, draws: &Draws, found: &[Objection]) -> bool {
        let Some(kept) = &self.kept else { return false };
        // The spread of few draws has no information.
        let is_of_weights = |objection: &Objection| match objection {
            Objection::Weights { .. } => true,
            Objection::Spread { .. } => draws.sample_size < RULE.fewest,
            _ => false,
        };
        let Evidence { log, error, .. } = Evidence::of(draws, &[]);
        (draws.sample_size < RULE.poorer * kept.sample_size || !self.objections.is_empty())
            && (log - kept.log_evidence).abs() <= RULE.agree * error.hypot(kept.error)
            && found.iter().all(is_of_weights)
    }

    /// Ends with the fit before the mixture was tried.
    pub(crate) fn go_back(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let Some(kept) = self.kept.take() else { return Ok(()) };
        self.climbs.truncate(kept.climbs);
        self.drawn = kept.drawn;
        // A limit that ended the attempt is no objection to what was there before it.
        self.objections.clear();
        let draws = self.draws(target)?;
        let map = white(&draws, self.current()?)?;
        self.look_at_tails(target, &map, &draws);
        self.conclude(draws, kept.chains);
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::posterior::verdict::tails;
    use crate::posterior::{FitResult, Options, Stage};
    use mcsa_core::{Seed, from_fn};
    use mcsa_models::Gaussian;

    /// A fit of a standard normal at its end, with its result.
    pub(in crate::posterior) fn fitted() -> (FitState, FitResult) {
        let model = Gaussian::standard(2);
        let target = Target::with_gradient(&model);
        let mut fitting =
            FitState::new(&Options { draws: 2_000, starts: 10, ..Options::seeded(3) }).expect("options");
        fitting.run(&target, &mut |_| std::ops::ControlFlow::Continue(())).expect("a fit");
        let fitted = fitting.finish(&target).expect("an end");
        assert!(fitted.verdict.is_yes());
        (fitting, fitted)
    }

    /// The state after `fitted`, if a mixture of two equal Student t of this width has been tried since: the fit before is kept.
    fn after_a_mixture(width: f64) -> (FitState, FitResult) {
        let (mut fitting, fitted) = fitted();
        let last = fitting.climbs.last().expect("a climb");
        let factor = faer::mat![[width, 0.0], [0.0, width]];
        let student = Shape::student_t(2).and_then(|family| family.at(&[0.0; 2], factor.as_ref(), 8.0));
        let student = student.expect("a Student t");
        let start = Shape::mixture(2, 2).and_then(|family| family.at(&[1.0; 2], &[student.clone(), student]));
        let start = start.expect("parameters");
        let tried =
            crate::posterior::Refinement::new(last.number + 1, Shape::Mixture { components: 2 }, start);
        fitting.climbs.push(tried);
        fitting.stage = Stage::Verdict;
        fitting.keep(fitted.draws.clone(), fitted.chains.clone(), &[]);
        (fitting, fitted)
    }

    /// Draws of the normal with standard deviations `width`, weighted for `exp(shift)` times the standard normal.
    fn draws(width: f64, shift: f64) -> Draws {
        let model = from_fn(2, move |z| shift - 0.5 * (z[0] * z[0] + z[1] * z[1]));
        let family = mcsa_families::FullRank::new(2);
        let params = family.at(&[0.0; 2], faer::mat![[width, 0.0], [0.0, width]].as_ref()).expect("a factor");
        Draws::of(&model, &family, &params, Seed::new(5).stream(0, 0), 2_000).expect("draws")
    }

    #[test]
    fn a_mixture_with_much_worse_weights_is_dropped_unless_it_shows_something_else() {
        let (fitting, before) = after_a_mixture(1.0);
        // The integral of exp(-|z|^2 / 2) is 2 pi.
        let same = before.evidence.log - std::f64::consts::TAU.ln();
        let poor = |shift: f64| draws(4.0, same + shift);
        let weights = Objection::Weights { shape: 0.8, threshold: 0.7, sample_size: 200.0, draws: 2_000 };
        let spread = Objection::Spread { name: "z[0]".into(), shape: 1.0, threshold: 0.9 };
        let missed = Objection::Missed { log_weight: 9.0, chains: 2, of: 16, offset: 9.0 };
        assert!(poor(0.0).sample_size < RULE.fewest, "{}", poor(0.0).sample_size);
        assert!(fitting.returns(&poor(0.0), &[weights.clone(), spread.clone()]));
        // Counterexamples: other evidence, another witness, even weights, nothing to return to.
        assert!(!fitting.returns(&poor(1.0), &[weights.clone(), spread]));
        assert!(!fitting.returns(&poor(0.0), &[weights.clone(), missed]));
        assert!(!fitting.returns(&draws(1.2, same), &[]));
        assert!(!fitted().0.returns(&poor(0.0), &[weights]));
    }

    #[test]
    fn a_fit_to_which_a_witness_objects_is_not_kept() {
        let (mut fitting, fitted) = fitted();
        let found = [Objection::Missed { log_weight: 9.0, chains: 2, of: 16, offset: 9.0 }];
        fitting.keep(fitted.draws.clone(), fitted.chains.clone(), &found);
        assert_eq!(fitting.kept, None);
        fitting.keep(fitted.draws, fitted.chains, &[]);
        assert!(fitting.kept.is_some());
    }

    /// The verdict itself takes the way back from a mixture that is much too wide, and not from one that fits; from one that a limit ended
    /// whatever its weights; and where a limit came before its first round, so that there is nothing to judge, without any check again. It
    /// ends with the draws and the chains of before, also by a state from a file, in which there are no draws.
    #[test]
    fn the_verdict_drops_a_mixture_that_is_worse_or_was_cut_short() {
        let model = Gaussian::standard(2);
        for (width, is_begun, limit, is_dropped) in [
            (6.0, true, None, true),
            (1.0, true, None, false),
            (1.0, true, Some(Objection::Budget), true),
            (1.0, false, Some(Objection::Budget), true),
        ] {
            let (mut fitting, before) = after_a_mixture(width);
            assert!(!fitting.is_back());
            if is_begun {
                fitting.mends = RULE.mends;
            } else {
                fitting.climbs.pop();
            }
            fitting.objections.extend(limit);
            let text = serde_json::to_string(&fitting).expect("JSON");
            let read: FitState = serde_json::from_str(&text).expect("a state");
            for mut fitting in [fitting, read] {
                let target = Target::with_gradient(&model);
                fitting.run(&target, &mut |_| std::ops::ControlFlow::Continue(())).expect("a verdict");
                // Without checks the evaluations are those of the tails alone: the draws were counted before.
                assert!(
                    is_begun || target.evaluations().total() < tails::cost(2, true),
                    "{:?}",
                    target.evaluations()
                );
                let after = fitting.finish(&target).expect("an end");
                assert_eq!(after.params == before.params, is_dropped, "{width}: {:?}", after.shape);
                assert_eq!(after.draws.points == before.draws.points, is_dropped, "{width}");
                assert_eq!(after.chains == before.chains, is_dropped, "{width}");
                assert!(after.verdict.is_yes(), "{width}: {}", after.verdict);
            }
        }
    }
}
