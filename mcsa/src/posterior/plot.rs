//! The plot of a fit: which piece of work follows, by what was found so far.

use mcsa_core::Error;

use super::density::rounding::Known;
use super::rule::RULE;
use super::start::ascent::Evaluated;
use super::verdict::checks::are_light;
use super::{FitState, Objection, Shape, Stage, Target};

/// A piece of work.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// The first climb, from the q of an earlier fit, if that is good for this target.
    BeginFromEarlier,
    /// Ascents from spread points to modes, before the first climb.
    Ascend,
    /// Annealed draws in place of ascents, and the first climb from their Gaussian.
    Temper,
    /// The first climb, from the modes.
    Climb,
    /// A round of the climb.
    Round,
    /// A climb of a larger family.
    Enlarge(Shape),
    /// The climbs end; the last one is dropped if the one before is as good.
    EndClimbs { drops_last: bool },
    /// A limit ends the stage.
    Cut(Objection),
    /// Chains begin that may be the answer.
    BeginChains,
    /// A round of them.
    Sample,
    /// Ascents in their coordinates.
    AscendBeside,
    /// The verdict on them.
    JudgeChains,
    /// Further ascents, as witnesses of the verdict.
    AscendMore,
    /// The last of these, from draws of the prior; the first climb begins again if they found a mode.
    AscendLast,
    /// Weighted draws of q.
    Draw,
    /// The witnesses look at q.
    Look,
    /// A climb of a mixture with so many components, from points of the witnesses.
    Mend(usize),
    /// Back to the fit before the last mixture.
    Restore,
    /// The first climb begins again at a tempered start.
    TemperAgain,
    /// The draws are the answer, with the objections found.
    Conclude,
}

/// What follows a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The caller, who may save the state or end the run.
    Done,
    /// The next decision.
    GoesOn,
}

/// Rounds of a climb after the final draws.
const AGAIN: usize = 1;

impl FitState {
    /// The piece of work that follows. Nothing changes here; `None` at the end.
    fn next(&self, target: &Target<'_>) -> Result<Option<Next>, Error> {
        Ok(Some(match self.stage {
            Stage::Start if self.options.earlier.is_some() && !self.starts.is_earlier_tried => {
                Next::BeginFromEarlier
            }
            Stage::Start if self.is_started() && !self.ascents.modes.is_empty() => Next::Climb,
            Stage::Start if self.is_started() => Next::Temper,
            Stage::Start if self.left_for_starts() == 0 && !self.ascents.modes.is_empty() => {
                Next::Cut(Objection::Budget)
            }
            Stage::Start if self.has_gradient(target) => Next::Ascend,
            Stage::Start => Next::Temper,
            Stage::Climb => self.next_of_climb(target)?,
            Stage::Chains => match &self.attempt {
                Some(attempt) => attempt.next(self.options.starts),
                None => return Err(Error::invalid("no chains were begun")),
            },
            Stage::Verdict => self.next_of_verdict(target)?,
            Stage::Done => return Ok(None),
        }))
    }

    /// Rounds until the weights are even, or do not get better; then chains if they are bad, or a larger family as long as that helps.
    fn next_of_climb(&self, target: &Target<'_>) -> Result<Next, Error> {
        let (last, before) = match &self.climbs[..] {
            [] => return Err(Error::invalid("no climb was begun")),
            [last] => (last, None),
            [.., before, last] => (last, Some(before)),
        };
        let (is_settled, is_good) = (last.is_settled(&self.options, target.dim()), last.is_good());
        if (last.is_slow() || is_settled && !is_good) && self.may_sample(target) {
            return Ok(Next::BeginChains);
        }
        if !is_settled {
            return Ok(if self.is_spent(target) { Next::Cut(Objection::Budget) } else { Next::Round });
        }
        let helped = self.mends > 0
            || before.is_none_or(|before| {
                let lighter =
                    last.tail() < before.tail() - RULE.lighter && last.share() > 0.5 * before.share();
                last.share() > RULE.helped * before.share() || lighter
            });
        let larger = last.shape.larger(target.dim()).filter(|_| !is_good && helped && self.mends == 0);
        Ok(match larger {
            None => Next::EndClimbs { drops_last: !helped },
            Some(larger) if self.allows(larger, target) => Next::Enlarge(larger),
            Some(_) => Next::Cut(Objection::Budget),
        })
    }

    /// The other ascents, draws, the witnesses; then what mends q, chains where nothing does, or the end.
    fn next_of_verdict(&self, target: &Target<'_>) -> Result<Next, Error> {
        if !self.starts.are_over {
            let is_left = self.has_more_starts() && self.left() > self.held_back(target);
            return Ok(if is_left { Next::AscendMore } else { Next::AscendLast });
        }
        if self.is_back() {
            return Ok(Next::Restore);
        }
        let Some(draws) = self.drawn() else { return Ok(Next::Draw) };
        if draws.shape > RULE.heavy_draws && self.again < AGAIN && !self.is_spent(target) {
            return Ok(Next::Round);
        }
        let may_sample = || self.kept.is_none() && self.may_sample(target);
        let Some(look) = &self.look else {
            return Ok(if !are_light(draws) && may_sample() { Next::BeginChains } else { Next::Look });
        };
        if self.returns(draws, &look.found) {
            return Ok(Next::Restore);
        }
        let is_to_q = look.found.iter().any(Objection::is_to_q);
        if (look.is_soft || is_to_q)
            && !look.is_past_mending
            && let Some(components) = self.mends_with(&look.points, target)
        {
            return Ok(Next::Mend(components));
        }
        let is_elsewhere =
            |found: &Objection| matches!(found, Objection::Mixing { .. } | Objection::Missed { .. });
        Ok(match () {
            () if is_to_q && may_sample() => Next::BeginChains,
            () if look.found.iter().any(is_elsewhere) && self.may_temper(target) => Next::TemperAgain,
            () => Next::Conclude,
        })
    }

    /// Does a piece of work.
    fn carry_out(&mut self, next: Next, target: &Target<'_>) -> Result<Piece, Error> {
        let done = match next {
            Next::Ascend => return self.ascend(target),
            Next::BeginChains => return Ok(self.begin_chains(target)),
            Next::AscendLast => return self.ascend_last(target),
            Next::Draw => {
                self.drawn.draws = Some(self.draws(target)?);
                return Ok(Piece::GoesOn);
            }
            Next::Look => return self.look(target),
            Next::Mend(components) => return self.mend(components, target),
            Next::TemperAgain => return self.begin_tempered(target),
            Next::BeginFromEarlier => self.begin_from_earlier(target),
            Next::Temper => self.begin_from_tempering(target),
            Next::Climb => self.begin_climb(target),
            Next::Round => self.round(target),
            Next::Enlarge(larger) => self.enlarge(larger, target),
            Next::EndClimbs { drops_last } => {
                if drops_last {
                    self.climbs.pop();
                }
                self.stage = Stage::Verdict;
                Ok(())
            }
            Next::Cut(limit) => self.cut(target, limit),
            Next::Sample => self.sample(target),
            Next::AscendBeside => self.ascend_beside(target),
            Next::JudgeChains => self.judge_chains(target),
            Next::AscendMore => self.ascend_more(target),
            Next::Restore => self.go_back(target),
            Next::Conclude => self.conclude_on_look(target),
        };
        done.map(|()| Piece::Done)
    }

    /// Does the next piece of work: ascents, tempering, a round of a climb or of chains, or the witnesses.
    ///
    /// # Errors
    /// If no start was found, a step of the climb cannot be made, two parameters of the target have the same name, the target has another
    /// dimension than the state, or its [check](Target::checked) fails.
    pub fn advance(&mut self, target: &Target<'_>) -> Result<(), Error> {
        self.check(target)?;
        self.is_by_density = target.gradient().is_none();
        if self.stage == Stage::Start {
            target.check_names()?;
        }
        let before = target.evaluations();
        let random = self.landmarks.note(target, &self.ascents.modes, self.seed());
        if !self.objections.iter().any(|objection| matches!(objection, Objection::Random { .. })) {
            self.objections.extend(random);
        }
        self.watch(target);
        target.gate().open(self.left(), self.held_back(target));
        let done = self.until_done(target);
        if let Some(known) = &mut self.known
            && !target.gate().is_closed()
        {
            known.top = target.gate().guard().top();
        }
        self.fall_back_on_chains();
        self.look = None;
        self.is_late |= target.gate().is_late();
        target.gate().end();
        self.spent = self.spent.and(before, target.evaluations());
        target.check()?;
        done
    }

    /// Begins to look at points that are higher than all known ones, once there is a mode.
    fn watch(&mut self, target: &Target<'_>) {
        if self.known.is_none()
            && let (Some(mode), Some(Evaluated { point, log_p })) =
                (self.ascents.modes.first(), self.landmarks.of_mode())
            && log_p.is_finite()
        {
            let scale = |i: usize| Some(mode.covariance[(i, i)].sqrt()).filter(|scale| scale.is_normal());
            let scales = (0..point.len()).map(|i| scale(i).unwrap_or(1.0)).collect();
            self.known = Some(Known { top: *log_p, log_p: *log_p, point: point.clone(), scales });
        }
        target.gate().guard().watch(self.known.as_ref());
    }

    fn until_done(&mut self, target: &Target<'_>) -> Result<(), Error> {
        while let Some(next) = self.next(target)? {
            if self.carry_out(next, target)? == Piece::Done {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use mcsa_core::AffineMap;
    use mcsa_models::Gaussian;

    use super::*;
    use crate::posterior::verdict::look::Look;
    use crate::posterior::verdict::mending::tests::fitted;
    use crate::posterior::{Approximation, Chains, Options};

    fn next(fitting: &FitState) -> Option<Next> {
        let model = Gaussian::standard(2);
        let target = Target::with_gradient(&model);
        target.gate().open(fitting.left(), fitting.held_back(&target));
        fitting.next(&target).expect("a decision")
    }

    #[test]
    fn a_fit_begins_with_ascents_or_tempering_and_climbs_from_its_modes() {
        let mut fitting = FitState::new(&Options::seeded(1)).expect("options");
        assert_eq!(next(&fitting), Some(Next::Ascend));
        let q = Approximation { shape: Shape::StudentT, params: Vec::new() };
        fitting.options.earlier = Some(q);
        assert_eq!(next(&fitting), Some(Next::BeginFromEarlier));
        fitting.starts.is_earlier_tried = true;
        assert_eq!(next(&fitting), Some(Next::Ascend));
        fitting.starts.distrusted = true;
        assert_eq!(next(&fitting), Some(Next::Temper));
        let (done, _) = fitted();
        assert_eq!(next(&done), None);
        fitting = FitState { ascents: done.ascents.clone(), ..FitState::default() };
        assert_eq!(next(&fitting), Some(Next::Climb));
        fitting.ascents.made = 1;
        assert_eq!(next(&fitting), Some(Next::Ascend));
        fitting.spent = done.spent;
        fitting.options.evaluations = Some(done.spent.total());
        assert_eq!(next(&fitting), Some(Next::Cut(Objection::Budget)));
        // Ascents that all ended nowhere.
        fitting.ascents.modes.clear();
        fitting.ascents.made = 10;
        assert_eq!(next(&fitting), Some(Next::Temper));
    }

    #[test]
    fn a_climb_has_rounds_until_it_is_settled_and_bad_weights_lead_to_chains() {
        let (done, _) = fitted();
        let mut fitting = FitState { stage: Stage::Climb, ..done };
        assert_eq!(next(&fitting), Some(Next::EndClimbs { drops_last: false }));
        let climb = fitting.climbs.last_mut().expect("a climb");
        climb.rounds.truncate(1);
        climb.rounds[0].share = 0.5;
        let bad = crate::posterior::Round { share: 0.01, ..climb.rounds[0] };
        assert_eq!(next(&fitting), Some(Next::Round));
        fitting.climbs[0].rounds = vec![bad; 3];
        assert_eq!(next(&fitting), Some(Next::BeginChains));
        // Where none can begin, a larger family follows; without a budget the verdict.
        fitting.has_no_places = true;
        assert_eq!(next(&fitting), Some(Next::Enlarge(Shape::Mixture { components: 4 })));
        fitting.options.evaluations = Some(fitting.spent.total() + 100);
        assert_eq!(next(&fitting), Some(Next::Cut(Objection::Budget)));
        // The second climb did not help.
        fitting.options.evaluations = None;
        fitting.climbs.push(fitting.climbs[0].clone());
        assert_eq!(next(&fitting), Some(Next::EndClimbs { drops_last: true }));
    }

    #[test]
    fn a_verdict_mends_what_the_witnesses_see_or_ends() {
        let (done, _) = fitted();
        let draws = done.drawn.clone();
        let mut fitting = FitState { stage: Stage::Verdict, ..done };
        assert_eq!(next(&fitting), Some(Next::Look));
        fitting.drawn.draws = None;
        assert_eq!(next(&fitting), Some(Next::Draw));
        fitting.starts.are_over = false;
        assert_eq!(next(&fitting), Some(Next::AscendLast));
        fitting.ascents.made -= 1;
        assert_eq!(next(&fitting), Some(Next::AscendMore));
        (fitting.starts.are_over, fitting.drawn) = (true, draws);
        let look = |found: &[Objection], points: usize| Look {
            found: found.to_vec(),
            points: Mat::zeros(2, points),
            chains: Chains::none(2),
            map: AffineMap::new(vec![0.0; 2], Mat::identity(2, 2)).expect("a map"),
            is_soft: false,
            is_past_mending: false,
        };
        let missed = Objection::Missed { log_weight: 9.0, chains: 3, of: 16, offset: 1.0 };
        for (found, points, expected) in [
            (&[][..], 9, Next::Conclude),
            (std::slice::from_ref(&missed), 9, Next::Mend(4)),
            (std::slice::from_ref(&missed), 0, Next::BeginChains),
        ] {
            fitting.look = Some(look(found, points));
            assert_eq!(next(&fitting), Some(expected));
        }
        fitting.has_no_places = true;
        assert_eq!(next(&fitting), Some(Next::TemperAgain));
        fitting.starts.are_tempered = true;
        assert_eq!(next(&fitting), Some(Next::Conclude));
        // The weights of the final draws are heavy: the climb goes on once, or chains begin.
        fitting.look = None;
        fitting.drawn.draws.as_mut().expect("draws").shape = 0.8;
        assert_eq!(next(&fitting), Some(Next::Round));
        fitting.again = 1;
        assert_eq!(next(&fitting), Some(Next::Look));
        fitting.has_no_places = false;
        assert_eq!(next(&fitting), Some(Next::BeginChains));
    }
}
