//! Joint learning of model parameters theta and variational parameters lambda.

use mcsa_core::{BlockFamily, Blocks, Error, Estimator, Learnable, Stream, batch, borrow, same_length};
use mcsa_kernels::{RandomScanInfo, RandomScanState};
use serde::{Deserialize, Serialize};

use crate::ScanClimb;

/// Maximum likelihood for the parameters theta of a model, jointly with lambda and from the same chains: one vector
/// `[lambda; theta]` is optimised.
///
/// ```text
/// z ~ K_{lambda, theta}(z, .)
/// direction in lambda: sum_i weight_i d/dlambda log q_lambda(z_i)
/// direction in theta:  sum_i weight_i d/dtheta  log p_theta(z_i, x)      Fisher's identity: d/dtheta log p_theta(x)
/// ```
///
/// MSC, Alg. 3. Wraps a [`ScanClimb`] for one latent point per datum (JSA; gradients of a minibatch are scaled up to all data), or
/// a [`PathClimb`](crate::PathClimb) for a latent path. Their density depends on theta, so its values at the chains are evaluated
/// again in every step: one more evaluation per chain.
///
/// Around [`Minibatched`](crate::Minibatched) with [`FlowElbo`](crate::FlowElbo) it is ascent on the evidence lower bound of
/// `log p_theta(x)` in lambda and theta, for [`LearnableRows`](mcsa_core::LearnableRows) and a family whose points are `(theta, z)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint<E> {
    /// The estimator that moves the chains and averages scores.
    pub climb: E,
}

pub(crate) fn check_both(
    params: &[f64],
    (lambdas, thetas): (usize, usize),
    check: impl Fn(&[f64], &[f64]) -> Result<(), Error>,
) -> Result<(), Error> {
    same_length("lambda and theta", lambdas + thetas, params.len())
        .and_then(|()| check(&params[..lambdas], &params[lambdas..]))
        .map_err(|error| error.within("Joint"))
}

impl<M, F> Estimator<M, F> for Joint<ScanClimb>
where
    M: Learnable + 'static,
    for<'a> M::At<'a>: Blocks,
    F: BlockFamily + ?Sized,
{
    type State = RandomScanState;
    type Info = RandomScanInfo;

    fn config(&self) -> String {
        format!("Joint {{ climb: {:?} }}", self.climb)
    }

    fn family_config(&self, family: &F) -> String {
        family.config()
    }

    fn num_params(&self, target: &M, family: &F) -> usize {
        family.num_params() + target.num_thetas()
    }

    fn check_params(&self, target: &M, family: &F, params: &[f64]) -> Result<(), Error> {
        let lengths = (family.num_params(), target.num_thetas());
        check_both(params, lengths, |lambda, theta| {
            family.check(lambda)?;
            target.check_theta(theta)
        })
    }

    fn lanes(&self) -> usize {
        self.climb.scan.batch
    }

    fn work_len(&self, target: &M, family: &F) -> usize {
        let (model, rows) = (target.anywhere(), self.climb.scan.batch);
        self.climb.work_len(&model, family).max((model.block_dim() + 1) * rows + model.work_len(rows))
    }

    fn init(
        &self,
        target: &M,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<RandomScanState, Error> {
        Estimator::<M, F>::check_params(self, target, family, params)?;
        let (lambda, theta) = params.split_at(family.num_params());
        self.climb.init(&target.at(theta), family, lambda, lanes)
    }

    fn check(&self, target: &M, family: &F, state: &RandomScanState) -> Result<(), Error> {
        self.climb.check(&target.anywhere(), family, state)
    }

    fn ascent_direction(
        &self,
        target: &M,
        family: &F,
        params: &[f64],
        state: &mut RandomScanState,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<RandomScanInfo, Error> {
        let (lambda, theta) = params.split_at(family.num_params());
        let (d_lambda, d_theta) = direction.split_at_mut(lambda.len());
        let model = target.at(theta);
        let info = self.climb.ascent_direction(&model, family, lambda, state, lanes, d_lambda, work)?;
        let (rows, dim) = (self.climb.scan.batch, model.block_dim());
        let (points, weights) = (borrow(&mut work, dim * rows), borrow(&mut work, rows));
        self.climb.visited_into(state, points);
        weights.fill(self.climb.weight(&model));
        d_theta.fill(0.0);
        target.add_theta_gradients(theta, state.rows(), batch(points, dim, rows), weights, d_theta, work);
        Ok(info)
    }
}
