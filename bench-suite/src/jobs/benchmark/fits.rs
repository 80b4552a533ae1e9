//! Fits of a family: running moments, score ascent, exclusive divergence, batch and match.

use faer::Mat;
use mcsa_core::{Error, Estimator, Family, LogDensity, Optimizer, Parametric};
use mcsa_estimators::{Ascent, BatchMatch, Draws, FlowElbo, Moments, Run, pmcsa};
use mcsa_families::{FullRank, Learned, LowRank, MeanField, Mixture, MomentMatched, MultivariateT};
use mcsa_optim::deterministic::Gaussian;
use mcsa_optim::{Adam, Schedule, Sgd};

use super::Bounded;
use super::answer::Answer;
use crate::catalog::{BuiltFamily, FamilyConfig, Moment};

/// Number of factors of the low-rank family.
const RANK: usize = 10;
/// Degrees of freedom of a Student t at the start, and their lower bound: with it the covariance is finite.
const FREEDOM: (f64, f64) = (8.0, 2.0);
/// Prior sample size of the start, per dimension.
const START: f64 = 10.0;
/// Number of chains: that of the dimensions, within these bounds.
const CHAINS: (usize, usize) = (10, 256);
/// Starts of a mixture in vain after which no more are made, and its least and greatest numbers of components.
const IN_VAIN: u64 = 8;
const COMPONENTS: (usize, usize) = (4, 50);
/// Distance of two modes in standard deviations below which they are one.
const ONE: f64 = 0.5;

impl Bounded<'_, '_> {
    /// Running moments of parallel chains.
    pub(super) fn moments(self, family: Moment) -> Result<Answer, Error> {
        let chains = self.target.dim().clamp(CHAINS.0, CHAINS.1);
        if let Moment::Mixture = family {
            return self.mixture();
        }
        let gaussian = self.start(0);
        let (mean, scales) = (gaussian.mean.clone(), gaussian.scales());
        let dim = mean.len();
        match family {
            Moment::MeanField => {
                let family = MeanField::new(dim);
                self.run_moments(&family, family.at(&mean, &scales)?, chains, START * dim as f64)
            }
            Moment::LowRank => {
                let (family, rank) = (LowRank::new(dim, RANK.min(dim)), RANK.min(dim));
                let mut stream = self.seed.named("factor").stream(0, 0);
                let factor = Mat::from_fn(dim, rank, |i, _| 0.1 * scales[i] * stream.normal());
                let params = family.at(&mean, &scales, factor.as_ref())?;
                self.run_moments(&family, params, chains, START * dim as f64)
            }
            Moment::FullRank => {
                let family = FullRank::new(dim);
                let params = family.at(&mean, gaussian.factor()?.as_ref())?;
                self.run_moments(&family, params, chains, START * dim as f64)
            }
            Moment::StudentT | Moment::Mixture => {
                let family = MultivariateT::learned(dim, FREEDOM.1)?;
                let params = family.at(&mean, gaussian.factor()?.as_ref(), FREEDOM.0)?;
                self.run_moments(&family, params, chains, START * dim as f64)
            }
        }
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

    /// Score ascent of the mean field as in the papers.
    pub(super) fn pmcsa(self, chains: usize, rate: f64, laplace: bool) -> Result<Answer, Error> {
        let family = MeanField::new(self.target.dim());
        let start = self.begin(laplace);
        let params = family.at(&start.mean, &start.scales())?;
        let steps = self.steps(chains).saturating_sub(1);
        let params = self.ascend(&family, pmcsa(chains), Adam::new(rate)?, params, steps)?;
        self.weighted(&family, &params)
    }

    /// Score ascent of a flow.
    pub(super) fn flow(self, family: &FamilyConfig, chains: usize, rate: f64) -> Result<Answer, Error> {
        let start = self.start(0);
        let built = family.build(self.target.dim())?;
        let mut hidden = self.seed.named("hidden").stream(0, 0);
        let params = built.around(&start.mean, &start.scales(), &mut hidden)?;
        let steps = self.steps(chains).saturating_sub(1);
        let adam = Adam::new(Schedule::power(rate, 0.0, 0.5)?)?;
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
        let (dim, start) = (self.target.dim(), self.begin(laplace));
        let built = family.build(dim)?;
        let mut hidden = self.seed.named("hidden").stream(0, 0);
        let params = match family {
            FamilyConfig::FullRank => FullRank::new(dim).at(&start.mean, start.factor()?.as_ref())?,
            _ => built.around(&start.mean, &start.scales(), &mut hidden)?,
        };
        let BuiltFamily { family: density, pushforward, .. } = &built;
        let (estimator, adam) = (FlowElbo::new(samples), Adam::new(rate)?);
        let params = self.ascend(&**pushforward, estimator, adam, params, self.steps(samples))?;
        self.weighted(&**density, &params)
    }

    /// Batch and match of a Gaussian.
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
        E: for<'a> Estimator<mcsa_core::Counted<&'a dyn crate::catalog::Posterior>, F>,
        O: Optimizer,
    {
        let ascent =
            Ascent { target: self.target, family, estimator, optimizer, seed: self.seed.named("fit") };
        let mut fit = ascent.start(params)?;
        ascent.run(&mut fit, Run::of(steps))?;
        Ok(fit.params().to_vec())
    }

    /// Weighted draws of q.
    fn weighted<F: Family + ?Sized>(&self, family: &F, params: &[f64]) -> Result<Answer, Error> {
        let lane = self.seed.named("draws").stream(0, 0);
        Ok(Answer::of(Draws::of(self.target, family, params, lane, self.draws())?))
    }
}

/// Distance of two means, in standard deviations of the first Gaussian, largest over coordinates.
fn distance(a: &Gaussian, b: &Gaussian) -> f64 {
    let steps = a.mean.iter().zip(&b.mean).zip(a.scales()).map(|((a, b), scale)| ((a - b) / scale).abs());
    steps.fold(0.0, f64::max)
}
