//! The answer by chains, where no q of location and scale carries the posterior.

use faer::Mat;
use mcsa_core::{Error, LogDensity, bits};
use mcsa_estimators::Draws;
use serde::{Deserialize, Serialize};

use super::judge::spread;
use super::metric::median;
use super::mixing::Mixing;
use super::sampler::{CHAINS, FAR, Sampler};
use crate::posterior::climb::shape::DENSE;
use crate::posterior::density::differences::Differences;
use crate::posterior::density::side_by_side::Shared;
use crate::posterior::plot::{Next, Piece};
use crate::posterior::start::ascent::{Within, distance};
use crate::posterior::verdict::tails;
use crate::posterior::{Chains, Evidence, FitState, ModeSearch, Objection, Stage, Target};

/// Chains that are tried, and the way back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) sampler: Sampler,
    /// Ascents in the coordinates of the chains, whose Gaussian is the first mode.
    pub(crate) search: ModeSearch,
    /// True if a limit ended these ascents, or they have no coordinates.
    is_cut: bool,
    /// The stage that follows if they are no answer.
    pub(crate) after: Stage,
    /// Evaluations of the fit when they began, the most that they may make to find their coordinates, and the most with draws that count.
    begun: u64,
    most: (u64, u64),
    /// Evaluations that a step took in the last round, on average.
    #[serde(with = "bits::scalar")]
    step: f64,
    /// Diagnostics of the draws, at their end.
    pub(crate) mixing: Option<Mixing>,
    /// The evidence, if the chains are the answer.
    pub(crate) evidence: Option<Evidence>,
    /// What speaks against them, if they are the answer unless q becomes a good one.
    pub(crate) unless: Option<Vec<Objection>>,
}

impl Attempt {
    /// True if the draws of the chains pass their diagnostics.
    pub(crate) fn suffices(&self) -> bool {
        self.mixing.is_some_and(|mixing| mixing.suffices())
    }

    /// Draws take the place of a first mode.
    fn begin_search(&mut self) -> Result<(), Error> {
        let points = self.sampler.points();
        self.search.keep(spread(&points), f64::NAN);
        let map = self.search.modes[0].map()?;
        let distances = (0..points.ncols()).map(|c| distance(&map, points.col_as_slice(c))).collect();
        let within = |distance| median(self.sampler.log_p()).map(|log_p| Within { distance, log_p });
        self.search.within = median(distances).and_then(within);
        Ok(())
    }

    /// The piece of work that is next.
    pub(crate) fn next(&self, starts: usize) -> Next {
        match () {
            () if !self.sampler.is_over() => Next::Sample,
            () if self.suffices() && self.search.made < starts && !self.is_cut => Next::AscendBeside,
            () => Next::JudgeChains,
        }
    }
}

/// Fewest draws of chains, which their diagnostics need.
const FEWEST_DRAWS: usize = 2_000;
/// Share of the budget that chains may use with a gradient, the greater share without one, the share of what is left once their draws count, up to
/// a hundred dimensions, in which the look for modes evaluates more, and beyond, the fewest gradients with which they begin, and gradients that they
/// may make of a small budget within the greater share: the funnel in ten dimensions needs 70,000.
const SHARE: f64 = 0.4;
const GREATER_SHARE: f64 = 0.8;
const SHARE_OF_DRAWS: (f64, f64) = (0.82, 0.88);
const LEAST: u64 = 20_000;
const ENOUGH: u64 = 100_000;
/// Room for a block of draws that fits, in units of its expected evaluations.
const ROOM: f64 = 1.2;
/// Trials for a start with a finite density.
const TRIALS: usize = 100;
impl FitState {
    /// True if chains were not tried, and there is enough of the budget.
    pub(crate) fn may_sample(&self, target: &Target<'_>) -> bool {
        let (each, most) = self.allowance(target);
        let is_free =
            self.attempt.is_none() && !self.has_no_places && !self.is_out(target) && most >= LEAST * each;
        is_free && !self.objections.iter().any(|o| matches!(o, Objection::Random { .. }))
    }

    /// Begins chains, if there are places to begin at.
    pub(crate) fn begin_chains(&mut self, target: &Target<'_>) -> Piece {
        let Some(starts) = self.spread_starts(target.density()) else {
            self.has_no_places = true;
            return Piece::GoesOn;
        };
        let (_, most) = self.allowance(target);
        let share = if target.dim() <= DENSE { SHARE_OF_DRAWS.0 } else { SHARE_OF_DRAWS.1 };
        let most = (most, most.max((share * self.left() as f64) as u64));
        let sampler = self.with_slopes(target, |slopes| Sampler::new(starts, slopes.gradient));
        self.attempt = Some(Attempt {
            sampler,
            search: ModeSearch::default(),
            is_cut: false,
            after: self.stage,
            begun: self.spent.total(),
            most,
            step: 0.0,
            mixing: None,
            evidence: None,
            unless: None,
        });
        self.stage = Stage::Chains;
        Piece::Done
    }

    /// Evaluations that a gradient takes, and those that chains may make.
    fn allowance(&self, target: &Target<'_>) -> (u64, u64) {
        let (each, share, of_left) = match self.has_gradient(target) {
            true => (1, SHARE, 0.5),
            false => (1 + target.dim() as u64, GREATER_SHARE, GREATER_SHARE),
        };
        let left = self.left() as f64;
        let most = (share * self.budget() as f64).min(of_left * left);
        let enough = ((ENOUGH * each) as f64).min(GREATER_SHARE * left);
        (each, most.max(enough) as u64)
    }

    /// Work with gradients of the target, or differences of its log density where there is no gradient to trust.
    pub(crate) fn with_slopes<T>(&self, target: &Target<'_>, work: impl FnOnce(Shared<'_>) -> T) -> T {
        match self.trusted_gradient(target) {
            Some(gradient) => work(target.shared(gradient)),
            None => {
                let scale = |i: usize| match self.ascents.modes.first() {
                    Some(mode) if mode.covariance[(i, i)].is_normal() => mode.covariance[(i, i)].sqrt(),
                    _ => 1.0,
                };
                let scales = (0..target.dim()).map(scale).collect();
                work(target.shared(&Differences::scaled(target.density(), scales)))
            }
        }
    }

    /// Evaluations that are kept from the chains until they end, and then from the ascents beside them for the look at the tails.
    pub(crate) fn kept_from_chains(&self, target: &Target<'_>) -> u64 {
        let Some(attempt) = &self.attempt else { return 0 };
        match attempt.next(self.options.starts) {
            Next::Sample => self.kept_with(attempt),
            Next::AscendBeside => tails::cost(target.dim(), target.gradient().is_some()),
            _ => 0,
        }
    }

    /// Evaluations that the chains leave to later work while they go on.
    fn kept_with(&self, attempt: &Attempt) -> u64 {
        let used = self.spent.total() - attempt.begun;
        let most = if attempt.sampler.is_frozen() { attempt.most.1 } else { attempt.most.0 };
        self.left().saturating_sub(most.saturating_sub(used))
    }

    /// Points of the cube `(-2, 2)^d` with finite densities, one per chain. Where the density is next to nothing beside that of a mode, as with
    /// inputs on a large scale, every second chain begins at a draw of q.
    fn spread_starts(&self, density: &dyn LogDensity) -> Option<Mat<f64>> {
        let (dim, mut work) = (density.dim(), vec![0.0; density.work_len(1)]);
        let (mut starts, mut log_p) = (Mat::zeros(dim, CHAINS), Vec::new());
        for j in 0..CHAINS {
            let mut stream = self.seed().named("spread").stream(j as u64, 0);
            let point = starts.col_as_slice_mut(j);
            log_p.push((0..TRIALS).find_map(|_| {
                point.iter_mut().for_each(|z| *z = 4.0 * stream.uniform() - 2.0);
                Some(density.log_density(point, &mut work)).filter(|log_p| log_p.is_finite())
            })?);
        }
        let modes = self.ascents.modes.iter().map(|mode| density.log_density(&mode.point, &mut work));
        let least =
            modes.filter(|log_p| log_p.is_finite()).fold(f64::NEG_INFINITY, f64::max) - FAR * dim as f64;
        let far: Vec<usize> = (0..CHAINS).filter(|&j| log_p[j] < least).collect();
        if !far.is_empty()
            && let Ok(near) = self.draw(density, Some(CHAINS), &|| true)
        {
            for j in far.into_iter().filter(|&j| j % 2 == 1 && near.log_p[j] >= least) {
                starts.col_as_slice_mut(j).copy_from_slice(near.points.col_as_slice(j));
            }
        }
        Some(starts)
    }

    /// A round of the chains.
    pub(crate) fn sample(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (seed, wanted) = (self.seed(), self.options.draws);
        let mut attempt = self.take_attempt()?;
        let before = target.evaluations().total();
        let left = target.gate().left().saturating_sub(self.kept_with(&attempt));
        let fits = (left as f64 / (ROOM * attempt.step * CHAINS as f64)) as usize;
        let round = self.with_slopes(target, |slopes| {
            let goes_on = || !target.gate().is_closed();
            attempt.sampler.advance(slopes, wanted.max(FEWEST_DRAWS), fits, seed, &goes_on)
        });
        match round {
            Ok(0) => {}
            Ok(steps) => attempt.step = (target.evaluations().total() - before) as f64 / steps as f64,
            Err(_) => attempt.sampler.end(),
        }
        if attempt.sampler.is_over() && attempt.sampler.has_draws() {
            attempt.mixing = Some(attempt.sampler.mixing());
        }
        self.attempt = Some(attempt);
        Ok(())
    }

    pub(crate) fn take_attempt(&mut self) -> Result<Attempt, Error> {
        self.attempt.take().ok_or_else(|| Error::invalid("no chains were begun"))
    }

    /// Ascents in the coordinates of the chains, one or a round of them.
    pub(crate) fn ascend_beside(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let (mut attempt, seed) = (self.take_attempt()?, self.seed().named("after"));
        attempt.is_cut = attempt.search.modes.is_empty() && attempt.begin_search().is_err();
        if !attempt.is_cut {
            let before = attempt.search.clone();
            let advanced = match self.trusted_gradient(target) {
                Some(gradient) => attempt.search.advance(target.shared(gradient), self.options.starts, seed),
                None => attempt.search.advance_by_density(target.density(), seed).map(drop),
            };
            attempt.is_cut = target.gate().is_closed() || advanced.is_err();
            if attempt.is_cut {
                attempt.search = before;
            }
        }
        self.attempt = Some(attempt);
        Ok(())
    }

    /// Chains that agreed take the place of a q with objections, at the end.
    pub(crate) fn fall_back_on_chains(&mut self) {
        if self.stage == Stage::Done
            && !self.objections.is_empty()
            && let Some(attempt) = &mut self.attempt
            && let Some(found) = attempt.unless.take()
        {
            attempt.evidence = Some(Evidence::NONE);
            self.objections = found;
        }
    }

    /// The chains with their diagnostics and the evidence, if they are the answer.
    pub(crate) fn by_chains(&self) -> Option<(&Sampler, Mixing, Evidence)> {
        let attempt = self.attempt.as_ref()?;
        attempt.mixing.zip(attempt.evidence).map(|(mixing, evidence)| (&attempt.sampler, mixing, evidence))
    }
}

impl Sampler {
    /// The draws as an answer: of all that were made, as many as were wanted at even distances, chain after chain.
    pub(crate) fn answer(&self, mixing: &Mixing, wanted: usize) -> Result<(Draws, Chains), Error> {
        let (points, log_p) = (self.points(), self.log_p());
        let length = points.ncols() / CHAINS;
        let kept = wanted.div_ceil(CHAINS).min(length);
        let place = |c: usize| c / kept * length + ((c % kept + 1) * length) / kept - 1;
        let thinned = Mat::from_fn(points.nrows(), CHAINS * kept, |i, c| points[(i, place(c))]);
        let log_p = (0..CHAINS * kept).map(|c| log_p[place(c)]).collect();
        let positions = Mat::from_fn(points.nrows(), CHAINS, |i, j| points[(i, (j + 1) * length - 1)]);
        let size = mixing.sample_size.min((CHAINS * kept) as f64);
        let chains =
            Chains { positions, r_hat: mixing.r_hat, worst: mixing.slowest, ..Chains::none(points.nrows()) };
        Ok((Draws::of_chains(thinned, log_p, size)?, chains))
    }
}

#[cfg(test)]
mod tests {
    use mcsa_models::Gaussian;

    use super::*;
    use crate::posterior::verdict::mending::tests::fitted;
    use crate::posterior::{Check, Options, Shape};

    /// A normal with standard deviation 1e-3: the corners of the cube are far away. Counterexample: with standard deviation 1 they are not.
    #[test]
    fn every_second_chain_begins_at_a_draw_of_q_where_the_cube_is_far_away() {
        for (sd, is_far) in [(1e-3, true), (1.0, false)] {
            let model = Gaussian::new(vec![0.0; 2], faer::mat![[sd * sd, 0.0], [0.0, sd * sd]].as_ref());
            let model = model.expect("a normal");
            let target = Target::with_gradient(&model);
            let mut fitting = FitState::new(&Options { starts: 10, ..Options::seeded(3) }).expect("options");
            fitting.run(&target, &mut |_| std::ops::ControlFlow::Continue(())).expect("a fit");
            assert_eq!(fitting.climbs[0].shape, Shape::StudentT);
            let starts = fitting.spread_starts(target.density()).expect("starts");
            let near = (0..CHAINS).filter(|&j| starts.col(j).norm_max() < 0.1).count();
            assert_eq!(near, if is_far { CHAINS / 2 } else { 0 });
        }
    }

    /// A climb that a limit ended is no objection to chains; a gradient that was not compared is.
    #[test]
    fn chains_pass_whatever_ended_the_climb() {
        let model = Gaussian::standard(2);
        let target = Target::with_gradient(&model);
        for (before, remains) in
            [(Objection::Budget, false), (Objection::unverified(Check::Gradient, &Objection::Budget), true)]
        {
            let (mut fitting, _) = fitted();
            fitting.objections = vec![before.clone()];
            fitting.begin_chains(&target);
            while fitting.stage == Stage::Chains {
                target.gate().open(fitting.left(), 0);
                let attempt = fitting.attempt.as_ref().expect("chains");
                match attempt.next(10) {
                    Next::Sample => fitting.sample(&target),
                    Next::AscendBeside => fitting.ascend_beside(&target),
                    _ => fitting.judge_chains(&target),
                }
                .expect("a piece of work");
            }
            assert!(fitting.by_chains().is_some());
            assert_eq!(fitting.objections, if remains { vec![before] } else { Vec::new() });
        }
    }

    /// A limit within the draws of chains, or within the ascents beside them, leaves them as the answer, with what was not checked.
    #[test]
    fn a_limit_beside_chains_that_agree_leaves_their_draws() {
        let model = Gaussian::standard(2);
        let target = Target::with_gradient(&model);
        let unverified = |check| Objection::unverified(check, &Objection::Budget);
        let of_limit = vec![Objection::Starts { made: 0, of: 100 }, unverified(Check::Tails)];
        for (is_within, starts, spare, expected, has_evidence) in [
            (true, 100, 0, of_limit.clone(), false),
            (false, 100, 0, of_limit, false),
            // Within the bridge, and after it: a hundred draws from either half.
            (false, 0, 420, vec![unverified(Check::Modes)], false),
            (false, 0, tails::cost(2, true) + 150, vec![unverified(Check::Modes)], true),
            (false, 100, 1_000_000, Vec::new(), true),
        ] {
            let (mut fitting, _) = fitted();
            (fitting.options.starts, fitting.options.draws) = (starts, 4_000);
            fitting.begin_chains(&target);
            let goes_on = |fitting: &FitState| {
                let sampler = &fitting.attempt.as_ref().expect("chains").sampler;
                !(sampler.is_over() || is_within && sampler.points().ncols() == 2_000)
            };
            while goes_on(&fitting) {
                fitting.advance(&target).expect("a round");
            }
            fitting.options.evaluations = Some(fitting.spent.total() + spare);
            while fitting.stage != Stage::Done {
                fitting.advance(&target).expect("a piece of work");
            }
            let evidence = fitting.by_chains().expect("an answer").2;
            assert_eq!(evidence.log.is_finite(), has_evidence, "{spare}");
            assert_eq!(fitting.objections, expected);
            let found = fitting.partial_result(&target).expect("a result").expect("an end");
            assert!(found.sampled.is_some() && found.verdict.is_yes() == expected.is_empty());
        }
    }

    /// A limit within the draws makes their last block as short as fits; without one a block has a quarter of the draws that are wanted.
    #[test]
    fn the_last_draws_before_a_limit_are_as_many_as_fit() {
        let model = Gaussian::standard(2);
        let target = Target::with_gradient(&model);
        let (mut fitting, _) = fitted();
        fitting.options.draws = 4_000;
        fitting.begin_chains(&target);
        let draws = |fitting: &FitState| fitting.attempt.as_ref().expect("chains").sampler.points().ncols();
        while draws(&fitting) < 1_000 {
            fitting.advance(&target).expect("a round");
        }
        let step = fitting.attempt.as_ref().expect("chains").step;
        for (blocks, least, most) in [(0.5, 1_250, 1_500), (1.5, 2_250, 2_750), (100.0, 4_000, 4_000)] {
            let mut fitting = fitting.clone();
            fitting.options.evaluations = Some(fitting.spent.total() + (blocks * 1_000.0 * step) as u64);
            if let Some(attempt) = &mut fitting.attempt {
                attempt.most = (u64::MAX, u64::MAX);
            }
            while !fitting.attempt.as_ref().expect("chains").sampler.is_over() {
                fitting.advance(&target).expect("a round");
            }
            assert!((least..=most).contains(&draws(&fitting)), "{blocks} {}", draws(&fitting));
        }
    }

    /// At the end, chains that agreed are the answer in place of a q with objections, and only then.
    #[test]
    fn chains_that_agreed_stand_in_for_a_q_with_objections() {
        let (done, _) = fitted();
        let model = Gaussian::standard(2);
        let divergences = vec![Objection::Divergences { steps: 9, of: 1_000 }];
        let mixing = Mixing {
            r_hat: 1.0,
            slowest: 0,
            sample_size: 900.0,
            scarcest: 0,
            stein: 0.5,
            heaviness: 0.0,
            heaviest: 0,
            is_conditional: false,
            divergences: 9,
            steps: 1_000,
        };
        for (is_poor, stands_in) in [(true, true), (false, false)] {
            let mut fitting = done.clone();
            fitting.attempt = Some(Attempt {
                sampler: Sampler::new(Mat::zeros(2, CHAINS), &model),
                search: ModeSearch::default(),
                is_cut: false,
                after: Stage::Verdict,
                begun: 0,
                most: (0, 0),
                step: 0.0,
                mixing: Some(mixing),
                evidence: None,
                unless: Some(divergences.clone()),
            });
            fitting.objections.extend(is_poor.then_some(Objection::Budget));
            fitting.fall_back_on_chains();
            assert_eq!(fitting.by_chains().is_some(), stands_in);
            assert_eq!(fitting.objections == divergences, stands_in);
        }
    }
}
