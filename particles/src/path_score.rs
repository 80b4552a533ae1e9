//! Markovian score climbing for paths of state space models.

use faer::Mat;
use mcsa_core::{
    Error, Estimator, Family, Parametric, Stream, at_least_one, borrow, fits_in_memory, same_length,
};
use mcsa_estimators::{Joint, ThetaGradient};
use mcsa_models::Learnable;
use serde::{Deserialize, Serialize};

use crate::{ConditionalSmc, FreshPaths, GaussianDynamics, PathKernel, Paths, Resampling, Smc, Twisted};

/// Markovian score climbing in a state space model (MSC, Alg. 4): conditional SMC moves a path, with state-by-state
/// proposals from the family that is being fitted.
///
/// ```text
/// z ~ K_{lambda, theta}(z, .)  by conditional SMC with the steps and twists of q_{lambda, theta}
/// direction in lambda:  mean over paths of d/dlambda log q_{lambda, theta}(z)
/// direction in theta:   mean over paths of d/dtheta  log p_theta(z, x), in JointPaths
/// ```
///
/// For a [model](GaussianDynamics) at a fixed theta the estimator is used alone; for a learnable model it is a part of
/// [`JointPaths`]. The family depends on the model at the current theta; its score is taken with respect to lambda alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathScore<K = ConditionalSmc> {
    /// The kernel that moves the paths.
    pub smc: K,
    /// Number of paths, each driven by its own stream.
    pub lanes: usize,
}

/// One path, moved by conditional SMC with ancestor sampling, multinomial resampling at every time, and `particles` particles, the
/// retained one included (MSC, Alg. 4). Systematic resampling has less noise: [`ConditionalSmc::with_particles`].
pub const fn msc_paths(particles: usize) -> PathScore {
    let smc =
        ConditionalSmc { resampling: Resampling::Multinomial, ..ConditionalSmc::with_particles(particles) };
    PathScore { smc, lanes: 1 }
}

/// One path, drawn anew in every step by a particle filter with `particles` particles, proposals from the family and
/// multinomial resampling at every time: the baseline of MSC, whose direction is biased (MSC, section 4.3).
///
/// # Errors
/// If `particles` is 0.
pub fn smc_paths(particles: usize) -> Result<PathScore<FreshPaths>, Error> {
    let smc = FreshPaths { smc: Smc::new(particles, Resampling::Multinomial, 1.0)? };
    Ok(PathScore { smc, lanes: 1 })
}

impl<P: GaussianDynamics, K: PathKernel> Estimator<P, Twisted> for PathScore<K> {
    type State = Paths;
    type Info = K::Info;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn num_params(&self, target: &P, family: &Twisted) -> usize {
        family.on(target).num_params()
    }

    fn check_params(&self, target: &P, family: &Twisted, params: &[f64]) -> Result<(), Error> {
        family.on(target).check(params)
    }

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn work_len(&self, target: &P, family: &Twisted) -> usize {
        let scores = family.on(target).work_len(self.lanes) + self.lanes;
        family.proposal_len(target) + self.smc.work_len(target).max(scores)
    }

    fn init(
        &self,
        target: &P,
        family: &Twisted,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Paths, Error> {
        let (chain, dim, count) = (family.on(target), target.dim(), self.lanes);
        at_least_one("lanes", count)
            .and_then(|()| same_length("dimensions of target and family", dim, chain.dim()))
            .and_then(|()| fits_in_memory("lanes", count, dim))
            .map_err(|error| error.within("PathScore"))?;
        chain.check(params)?;
        let (mut points, mut work) = (Mat::zeros(dim, count), vec![0.0; chain.work_len(count)]);
        chain.sample_into(params, lanes, points.as_mut(), &mut vec![0.0; count], &mut work);
        self.smc.init(target, points)
    }

    fn check(&self, target: &P, _: &Twisted, state: &Paths) -> Result<(), Error> {
        state.check(target, self.lanes).map_err(|error| error.within("PathScore"))
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &Twisted,
        params: &[f64],
        state: &mut Paths,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<K::Info, Error> {
        let chain = family.on(target);
        chain.check(params)?;
        let memory = borrow(&mut work, family.proposal_len(target));
        let mut proposal = family.proposal(target, params, memory);
        let info = self.smc.step(target, &mut proposal, state, lanes, work);
        let weights = borrow(&mut work, self.lanes);
        weights.fill(1.0 / self.lanes as f64);
        direction.fill(0.0);
        chain.add_scores(params, state.positions.as_ref(), weights, direction, work);
        Ok(info)
    }
}

/// Score climbing in lambda and in the parameters theta of the model together, from the same paths (MSC, Alg. 4).
pub type JointPaths<K = ConditionalSmc> = Joint<PathScore<K>>;

impl<M: Learnable, K: PathKernel> ThetaGradient<M> for PathScore<K> {
    type State = Paths;
    type Info = K::Info;

    fn theta_len(&self, _: &M) -> usize {
        self.lanes
    }

    fn add_theta_gradients(
        &self,
        target: &M,
        theta: &[f64],
        state: &Paths,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        let weights = &mut work[..self.lanes];
        weights.fill(1.0 / self.lanes as f64);
        target.add_theta_gradients(theta, &[], state.positions.as_ref(), weights, gradient, &mut []);
    }
}
