//! Markovian score climbing for paths of state space models.

use crate::{ConditionalSmc, FreshPaths, PathKernel, Paths, Resampling, Smc};
use crate::{PathFamily, StateSpace};
use faer::Mat;
use mcsa_core::{
    Error, Estimator, Family, Parametric, Stream, batch_mut, borrow, fits_in_memory, same_length,
};
use mcsa_models::Learnable;
use serde::{Deserialize, Serialize};

/// Markovian score climbing in a state space model (MSC, Alg. 4): conditional SMC moves a path, with state-by-state
/// proposals from the family that is being fitted.
///
/// ```text
/// z ~ K_{lambda, theta}(z, .)  by conditional SMC with the steps and twists of q_{lambda, theta}
/// direction in lambda:  mean over paths of d/dlambda log q_{lambda, theta}(z)
/// direction in theta:   mean over paths of d/dtheta  log p_theta(z, x), in JointPaths
/// ```
///
/// Used alone for a [`StateSpace`] at a fixed theta, and in a [`JointPaths`] for a learnable one. The family depends
/// on the model at the current theta; its score is taken with respect to lambda alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathScore<K = ConditionalSmc> {
    /// The kernel that moves the paths.
    pub smc: K,
    /// Number of paths, each driven by its own stream.
    pub lanes: usize,
}

/// One path, moved by conditional SMC with ancestor sampling and `particles` particles, the retained one included (MSC).
pub const fn msc_paths(particles: usize) -> PathScore {
    PathScore { smc: ConditionalSmc::with_particles(particles), lanes: 1 }
}

/// One path, drawn anew in every step by a particle filter with `particles` particles, proposals from the family and
/// resampling at every time: the baseline of MSC, whose direction is biased (MSC, section 4.3).
///
/// # Errors
/// If `particles` is 0.
pub fn smc_paths(particles: usize) -> Result<PathScore<FreshPaths>, Error> {
    let smc = FreshPaths { smc: Smc::new(particles, Resampling::Systematic, 1.0)? };
    Ok(PathScore { smc, lanes: 1 })
}

impl<K: PathKernel> PathScore<K> {
    fn work_len_on<P: StateSpace, F: PathFamily<P>>(&self, target: &P, family: &F) -> usize {
        let scores = family.on(target).work_len(self.lanes) + self.lanes;
        family.proposal_len(target) + self.smc.work_len(target).max(scores)
    }

    fn start<P: StateSpace, C: Family>(
        &self,
        target: &P,
        chain: &C,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Paths, Error> {
        if self.lanes == 0 {
            return Err(Error::parameter("lanes", 0.0, "at least 1").within("PathScore"));
        }
        same_length("dimensions of target and family", target.dim(), chain.dim())
            .and_then(|()| fits_in_memory("lanes", self.lanes, target.dim()))
            .map_err(|error| error.within("PathScore"))?;
        chain.check(params)?;
        let dim = target.dim();
        let (mut points, mut log_q) = (vec![0.0; dim * self.lanes], vec![0.0; self.lanes]);
        let mut work = vec![0.0; chain.work_len(self.lanes)];
        chain.sample_into(params, lanes, batch_mut(&mut points, dim, self.lanes), &mut log_q, &mut work);
        self.smc.init(target, Mat::from_fn(dim, self.lanes, |i, j| points[i + j * dim]))
    }

    /// Moves the paths and writes the direction in lambda; returns the kernel's metrics and the equal weights of the paths.
    #[expect(clippy::too_many_arguments, reason = "those of an estimator")]
    fn climb<'w, P: StateSpace, F: PathFamily<P>>(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        paths: &mut Paths,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &'w mut [f64],
    ) -> Result<(K::Info, &'w [f64]), Error> {
        let chain = family.on(target);
        chain.check(params)?;
        let info = {
            let memory = borrow(&mut work, family.proposal_len(target));
            let mut proposal = family.proposal(target, params, memory);
            self.smc.step(target, &mut proposal, paths, lanes, work)
        };
        let weights = borrow(&mut work, self.lanes);
        weights.fill(1.0 / self.lanes as f64);
        direction.fill(0.0);
        chain.add_scores(params, paths.positions.as_ref(), weights, direction, work);
        Ok((info, weights))
    }
}

impl<P, F, K> Estimator<P, F> for PathScore<K>
where
    K: PathKernel,
    P: StateSpace,
    F: PathFamily<P>,
{
    type State = Paths;
    type Info = K::Info;

    fn config(&self) -> String {
        format!("PathScore {{ smc: {}, lanes: {} }}", self.smc.config(), self.lanes)
    }

    fn family_config(&self, family: &F) -> String {
        family.config()
    }

    fn num_params(&self, target: &P, family: &F) -> usize {
        family.on(target).num_params()
    }

    fn check_params(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error> {
        family.on(target).check(params)
    }

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        self.work_len_on(target, family)
    }

    fn init(&self, target: &P, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<Paths, Error> {
        self.start(target, &family.on(target), params, lanes)
    }

    fn check(&self, target: &P, _: &F, state: &Paths) -> Result<(), Error> {
        state.check(target, self.lanes).map_err(|error| error.within("PathScore"))
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Paths,
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<K::Info, Error> {
        Ok(self.climb(target, family, params, state, lanes, direction, work)?.0)
    }
}

/// Score climbing in lambda and in the parameters theta of the model together, from the same paths (Fisher's identity); one vector
/// `[lambda; theta]` is optimised (MSC, Alg. 4).
///
/// The model at the current theta, and the family on it, are constructed once per step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointPaths<K = ConditionalSmc> {
    /// The estimator at one theta.
    pub climb: PathScore<K>,
}

impl<M, F, K> Estimator<M, F> for JointPaths<K>
where
    K: PathKernel,
    M: Learnable + 'static,
    for<'a> M::At<'a>: StateSpace,
    F: for<'a> PathFamily<M::At<'a>>,
{
    type State = Paths;
    type Info = K::Info;

    fn config(&self) -> String {
        format!("JointPaths {{ smc: {}, lanes: {} }}", self.climb.smc.config(), self.climb.lanes)
    }

    fn family_config(&self, family: &F) -> String {
        PathFamily::<M::At<'static>>::config(family)
    }

    fn num_params(&self, target: &M, family: &F) -> usize {
        family.on(&target.anywhere()).num_params() + target.num_thetas()
    }

    fn check_params(&self, target: &M, family: &F, params: &[f64]) -> Result<(), Error> {
        let lambdas = family.on(&target.anywhere()).num_params();
        same_length("lambda and theta", lambdas + target.num_thetas(), params.len())
            .and_then(|()| {
                let (lambda, theta) = params.split_at(lambdas);
                target.check_theta(theta)?;
                family.on(&target.at(theta)).check(lambda)
            })
            .map_err(|error| error.within("JointPaths"))
    }

    fn lanes(&self) -> usize {
        self.climb.lanes
    }

    fn work_len(&self, target: &M, family: &F) -> usize {
        let model = target.anywhere();
        self.climb.work_len_on(&model, family)
    }

    fn init(&self, target: &M, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<Paths, Error> {
        self.check_params(target, family, params)?;
        let (lambda, theta) = params.split_at(params.len() - target.num_thetas());
        let model = target.at(theta);
        self.climb.start(&model, &family.on(&model), lambda, lanes)
    }

    fn check(&self, target: &M, _: &F, state: &Paths) -> Result<(), Error> {
        state.check(&target.anywhere(), self.climb.lanes).map_err(|error| error.within("PathScore"))
    }

    fn ascent_direction(
        &self,
        target: &M,
        family: &F,
        params: &[f64],
        state: &mut Paths,
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<K::Info, Error> {
        let (lambda, theta) = params.split_at(params.len() - target.num_thetas());
        let (d_lambda, d_theta) = direction.split_at_mut(lambda.len());
        let model = target.at(theta);
        let (info, weights) = self.climb.climb(&model, family, lambda, state, lanes, d_lambda, work)?;
        d_theta.fill(0.0);
        target.add_theta_gradients(theta, &[], state.positions.as_ref(), weights, d_theta, &mut []);
        Ok(info)
    }
}
