//! Methods of inference within a budget: running moments, score ascent, exclusive divergence, batch and match, Pathfinder, `mcsa::fit`,
//! and the No-U-Turn sampler, its warm-up included.

use std::ops::ControlFlow;

use faer::Mat;
use mcsa::posterior::{FitState, Options, Target};
use mcsa_core::{
    Address, ChainState, Counted, Error, Estimator, Family, Kernel, LogDensity, Optimizer, Parametric, Stream,
};
use mcsa_diagnostics::{effective_sample_size, r_hat};
use mcsa_estimators::{Ascent, BatchMatch, Draws, FlowElbo, Moments, Run, pmcsa};
use mcsa_families::{FullRank, Learned, Mixture, MomentMatched, MultivariateT};
use mcsa_kernels::{NoProposal, Nuts, Tunable, WindowAdaptation, warm_up};
use mcsa_optim::deterministic::{Gaussian, Laplace, Lbfgs, MultiPathfinder, Pathfinder, Paths};
use mcsa_optim::{Adam, Sgd};

use super::answer::Answer;
use super::{Bounded, FREEDOM, START, moments_at};
use crate::catalog::{BuiltFamily, FamilyConfig, Moment, Posterior};

/// Number of chains: that of the dimensions, within these bounds.
const CHAINS: (usize, usize) = (10, 256);
/// Starts of a mixture in vain after which no more are made, and its least and greatest numbers of components.
const IN_VAIN: u64 = 8;
const COMPONENTS: (usize, usize) = (4, 50);
/// Distance of two modes in standard deviations below which they are one.
const ONE: f64 = 0.5;
/// Steps of the first warm-up; each further one is twice as long, and the last has at most [`LONGEST`].
const FIRST: u64 = 50;
/// Steps of the longest warm-up, as in Stan up to rounding.
const LONGEST: u64 = 800;
/// Budget from which on there are several chains, and their number.
const SEVERAL: (u64, usize) = (10_000, 4);
/// Acceptance that the warm-up aims at, and step size at its start.
const ACCEPTANCE: f64 = 0.8;
const STEP_SIZE: f64 = 0.1;
const FEWEST: usize = 10;
/// Most paths, as in the paper.
const PATHS: u64 = 20;
/// Share of the budget for the search of a mode, and for the curvature there.
const SHARE: u64 = 4;

impl Bounded<'_, '_> {
    pub(super) fn moments(self, family: Moment) -> Result<Answer, Error> {
        if let Moment::Mixture = family {
            return self.mixture();
        }
        let dim = self.target.dim();
        let (family, params) =
            moments_at(family, &self.start(0), &mut self.seed.named("factor").stream(0, 0))?;
        self.run_moments(&*family, params, dim.clamp(CHAINS.0, CHAINS.1), START * dim as f64)
    }

    /// Mixture of Student t, one at each mode that is found; at one mode alone, four around it.
    fn mixture(self) -> Result<Answer, Error> {
        let mut modes: Vec<Gaussian> = vec![self.start(0)];
        let (mut number, mut last) = (1, 0);
        while number - last <= IN_VAIN && modes.len() < COMPONENTS.1 {
            if self.spent() * (number + 1) / number > self.budget / 3 {
                break;
            }
            let found = self.start(number);
            if modes.iter().all(|mode| distance(mode, &found) > ONE) {
                modes.push(found);
                last = number;
            }
            number += 1;
        }
        let dim = self.target.dim();
        let (mut stream, found) = (self.seed.named("components").stream(0, 0), modes.len());
        for k in found..COMPONENTS.0 {
            let mut near = modes[k % found].clone();
            let step = near.factor()? * Mat::from_fn(dim, 1, |_, _| stream.normal());
            near.mean.iter_mut().zip(step.col(0).iter()).for_each(|(mean, step)| *mean += step);
            modes.push(near);
        }
        let student: MultivariateT<Learned> = MultivariateT::learned(dim, FREEDOM.1)?;
        let part = |mode: &Gaussian| student.at(&mode.mean, mode.factor()?.as_ref(), FREEDOM.0);
        let parts = modes.iter().map(part).collect::<Result<Vec<_>, Error>>()?;
        let family = Mixture::new(student, parts.len())?;
        let params = family.at(&vec![1.0; parts.len()], &parts)?;
        let chains = (dim.max(CHAINS.0) * parts.len()).min(CHAINS.1);
        self.run_moments(&family, params, chains, START * (dim * parts.len()) as f64)
    }

    fn run_moments(
        self,
        family: &dyn MomentMatched,
        params: Vec<f64>,
        chains: usize,
        start_draws: f64,
    ) -> Result<Answer, Error> {
        let estimator = Moments::new(pmcsa(chains), start_draws);
        // The chains begin at draws of q, which are evaluated too.
        let steps = self.steps(chains).saturating_sub(1);
        let params = self.ascend(family, estimator, Sgd::new(1.0)?, params, steps)?;
        self.weighted(family, &params)
    }

    /// Score ascent by parallel chains.
    pub(super) fn pmcsa(
        self,
        family: &FamilyConfig,
        chains: usize,
        adam: Adam,
        start: &Gaussian,
    ) -> Result<Answer, Error> {
        let (built, params) = self.around(family, start)?;
        let steps = self.steps(chains).saturating_sub(1);
        let params = self.ascend(&*built.family, pmcsa(chains), adam, params, steps)?;
        self.weighted(&*built.family, &params)
    }

    /// Exclusive divergence with Adam.
    pub(super) fn elbo(
        self,
        family: &FamilyConfig,
        samples: usize,
        rate: f64,
        laplace: bool,
    ) -> Result<Answer, Error> {
        let start = self.begin(laplace);
        let (built, mut params) = self.around(family, &start)?;
        if let FamilyConfig::FullRank = family {
            params = FullRank::new(start.mean.len()).at(&start.mean, start.factor()?.as_ref())?;
        }
        let BuiltFamily { family: density, pushforward, .. } = &built;
        let (estimator, adam) = (FlowElbo::new(samples), Adam::new(rate)?);
        let params = self.ascend(&**pushforward, estimator, adam, params, self.steps(samples))?;
        self.weighted(&**density, &params)
    }

    /// A family with independent coordinates around a Gaussian.
    fn around(&self, family: &FamilyConfig, start: &Gaussian) -> Result<(BuiltFamily, Vec<f64>), Error> {
        let built = family.build(self.target.dim())?;
        let mut hidden = self.seed.named("hidden").stream(0, 0);
        let params = built.around(&start.mean, &start.scales(), &mut hidden)?;
        Ok((built, params))
    }

    pub(super) fn batch_match(self, samples: usize, laplace: bool) -> Result<Answer, Error> {
        let (family, start) = (FullRank::new(self.target.dim()), self.begin(laplace));
        let params = family.at(&start.mean, start.factor()?.as_ref())?;
        let estimator = BatchMatch::new(samples);
        let params = self.ascend(&family, estimator, Sgd::new(1.0)?, params, self.steps(samples))?;
        self.weighted(&family, &params)
    }

    fn ascend<F, E, O>(
        &self,
        family: &F,
        estimator: E,
        optimizer: O,
        params: Vec<f64>,
        steps: u64,
    ) -> Result<Vec<f64>, Error>
    where
        F: Parametric + ?Sized,
        E: for<'a> Estimator<Counted<&'a dyn Posterior>, F>,
        O: Optimizer,
    {
        let (target, seed) = (self.target, self.seed.named("fit"));
        let ascent = Ascent { target, family, estimator, optimizer, seed };
        let mut fit = ascent.start(params)?;
        ascent.run(&mut fit, Run::of(steps))?;
        Ok(fit.params().to_vec())
    }

    fn weighted<F: Family + ?Sized>(&self, family: &F, params: &[f64]) -> Result<Answer, Error> {
        let lane = self.seed.named("draws").stream(0, 0);
        Ok(Answer::of(Draws::of(self.target, family, params, lane, self.draws())?))
    }

    /// Chains whose warm-ups double in length while they are expected to leave half the budget to the draws.
    pub(super) fn nuts(self) -> Result<Answer, Error> {
        let (target, dim) = (self.target, self.target.dim());
        let chains = if self.budget < SEVERAL.0 { 1 } else { SEVERAL.1 };
        let proposal = &mut NoProposal { dim };
        let mut kernel = Nuts::new(STEP_SIZE)?;
        let mut state = kernel.init(target, self.points(chains))?;
        let mut steps = FIRST;
        loop {
            let (before, seed) = (self.spent(), self.seed.named("warm").child(steps));
            let plan = WindowAdaptation::new(steps, ACCEPTANCE)?;
            let mut progress = plan.init(kernel.step_size(), dim);
            kernel = warm_up(&kernel, target, proposal, &mut state, &plan, &mut progress, seed, steps)?;
            let cost = self.spent() - before;
            if steps >= LONGEST || self.spent() + 2 * cost > self.budget / 2 {
                break;
            }
            steps *= 2;
        }
        let mut lanes = self.seed.named("draws").streams(chains, 0);
        let mut work = vec![0.0; kernel.work_len(target, chains)];
        let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); chains];
        // A step from a point of finite density costs an evaluation at least.
        for step in 0..self.budget {
            if self.spent() >= self.budget {
                break;
            }
            for (lane, stream) in (0..).zip(&mut lanes) {
                stream.go_to(Address::of(lane, step));
            }
            kernel.step(target, proposal, &mut state, &mut lanes, &mut work);
            for (chain, drawn) in drawn.iter_mut().enumerate() {
                drawn.extend_from_slice(state.chains().positions.col_as_slice(chain));
            }
        }
        if self.spent() < self.budget {
            return Err(Error::invalid("the chains stand still where the density is not finite"));
        }
        let length = drawn[0].len() / dim;
        if length < FEWEST {
            return Err(Error::invalid("the budget ends in the warm-up"));
        }
        let coordinate = |i: usize| -> Vec<Vec<f64>> {
            drawn.iter().map(|chain| chain.chunks_exact(dim).map(|z| z[i]).collect()).collect()
        };
        // The diagnostics of a coordinate that never moved are NaN.
        let worst = |of: fn(&[Vec<f64>]) -> f64, sign: f64| {
            (0..dim)
                .map(|i| sign * of(&coordinate(i)))
                .fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || a >= b { a } else { b })
        };
        let count = chains * length;
        Ok(Answer {
            share: -worst(effective_sample_size, -1.0) / count as f64,
            r_hat: Some(worst(r_hat, 1.0)),
            ..Answer::unweighted(Mat::from_fn(dim, count, |i, j| drawn[j / length][j % length * dim + i]))
        })
    }

    /// Paths from as many starts as the budget allows, and weighted draws of the mixture of their Gaussians.
    pub(super) fn pathfinder(self) -> Result<Answer, Error> {
        let seed = self.seed.named("start");
        let pathfinder = Pathfinder { lbfgs: self.lbfgs(), ..Pathfinder::default() };
        // The number of paths follows from the cost of the first, which is counted when it is run with the others.
        let point = self.point(&mut seed.stream(0, 0));
        let first = self
            .target
            .uncounted(|| pathfinder.run(self.target, &point, &mut self.seed.named("pilot").stream(0, 0)));
        let cost = first.map_or(self.budget / PATHS, |found| found.evaluations).max(1);
        let paths = ((self.budget - self.draws() as u64) / cost).clamp(1, PATHS) as usize;
        let starts = self.points(paths);
        let finder =
            MultiPathfinder { pathfinder, draws: self.draws().div_ceil(paths), ..MultiPathfinder::default() };
        let Paths { points, log_p, log_q, .. } = finder.run_from(self.target, starts.as_ref(), self.seed)?;
        Ok(Answer::of(Draws::weighted(points, log_p, log_q)?))
    }

    pub(super) fn fit(self) -> Result<Answer, Error> {
        let number = (self.seed.named("fit").stream(0, 0).uniform() * 2.0_f64.powi(53)) as u64;
        let (evaluations, draws) = (self.budget, self.draws().max(100));
        let options = Options { evaluations: Some(evaluations), draws, ..Options::seeded(number) };
        let target = Target::with_gradient(&self.target);
        let mut fitting = FitState::new(&options)?;
        fitting.run(&target, &mut |_| ControlFlow::Continue(()))?;
        let fitted = fitting.finish(&target)?;
        Ok(Answer { yes: Some(if fitted.verdict.is_yes() { 1.0 } else { 0.0 }), ..Answer::of(fitted.draws) })
    }

    /// Point drawn uniformly from `(-reach, reach)^d`.
    fn point(&self, stream: &mut Stream) -> Vec<f64> {
        (0..self.target.dim()).map(|_| self.reach * (2.0 * stream.uniform() - 1.0)).collect()
    }

    /// The points of the first starts, one per column.
    fn points(&self, count: usize) -> Mat<f64> {
        let seed = self.seed.named("start");
        let mut points = Mat::zeros(self.target.dim(), count);
        for (k, number) in (0..count).zip(0..) {
            points.col_as_slice_mut(k).copy_from_slice(&self.point(&mut seed.stream(number, 0)));
        }
        points
    }

    /// Gaussian around the mode that is reached from start number `number`.
    pub(super) fn start(&self, number: u64) -> Gaussian {
        let seed = self.seed.named("start");
        let point = self.point(&mut seed.stream(number, 0));
        self.laplace(&point)
            .or_else(|| self.path(&point, &mut seed.stream(number, 1)))
            .unwrap_or_else(|| self.round())
    }

    /// Gaussian around the first mode, or a round normal.
    pub(super) fn begin(&self, laplace: bool) -> Gaussian {
        if laplace { self.start(0) } else { self.round() }
    }

    /// Normal around 0 with half the reach as standard deviation.
    fn round(&self) -> Gaussian {
        let (dim, variance) = (self.target.dim(), (0.5 * self.reach).powi(2));
        let entry = |i, j| if i == j { variance } else { 0.0 };
        Gaussian { mean: vec![0.0; dim], covariance: faer::Mat::from_fn(dim, dim, entry) }
    }

    /// Laplace's approximation; `None` if there is no mode, or no room for `2 d` gradients.
    fn laplace(&self, point: &[f64]) -> Option<Gaussian> {
        if 2 * point.len() as u64 > self.budget / SHARE {
            return None;
        }
        let peak = self.lbfgs().mode(self.target, point).ok()?.converged().ok()?;
        Some(Laplace::by_differences(self.target, &peak.point).ok()?.gaussian)
    }

    fn path(&self, point: &[f64], stream: &mut Stream) -> Option<Gaussian> {
        let finder = Pathfinder { lbfgs: self.lbfgs(), draws: 5, ..Pathfinder::default() };
        Some(finder.run(self.target, point, stream).ok()?.gaussian)
    }

    /// The search of a mode, of as many iterations as the budget allows.
    fn lbfgs(&self) -> Lbfgs {
        let iterations = (self.budget / (2 * SHARE)).clamp(10, 1_000);
        Lbfgs::with(1e-6, iterations, 10).unwrap_or_default()
    }
}

/// Distance of two means, in standard deviations of the first Gaussian, largest over coordinates.
fn distance(a: &Gaussian, b: &Gaussian) -> f64 {
    let steps = a.mean.iter().zip(&b.mean).zip(a.scales()).map(|((a, b), scale)| ((a - b) / scale).abs());
    steps.fold(0.0, f64::max)
}
