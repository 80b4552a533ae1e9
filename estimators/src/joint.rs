//! Joint learning of model parameters theta and variational parameters lambda, and chains of one latent point per datum.

use faer::Mat;
use mcsa_core::{
    BlockFamily, Blocks, BlocksAt, Columns, Error, Estimator, Learnable, Stream, batch, borrow, same_length,
};
use mcsa_kernels::{RandomScan, RandomScanInfo, RandomScanState};
use serde::{Deserialize, Serialize};

use crate::family_parameters::family_parameters;

/// Maximum likelihood for the parameters theta of a model, jointly with lambda and from the same chains: one vector
/// `[lambda; theta]` is optimised.
///
/// ```text
/// z ~ K_{lambda, theta}(z, .)
/// direction in lambda: sum_i weight_i d/dlambda log q_lambda(z_i)
/// direction in theta:  sum_i weight_i d/dtheta  log p_theta(z_i, x)      Fisher's identity: d/dtheta log p_theta(x)
/// ```
///
/// MSC, Alg. 3. Wraps a [`ScanScore`] for one latent point per datum (JSA; gradients of a minibatch are scaled up to all data). Their density depends on theta, so its values at the chains are evaluated
/// again in every step: one more evaluation per chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint<E> {
    /// The estimator that moves the chains and averages scores.
    pub climb: E,
}

fn check_both(
    params: &[f64],
    (lambdas, thetas): (usize, usize),
    check: impl Fn(&[f64], &[f64]) -> Result<(), Error>,
) -> Result<(), Error> {
    same_length("lambda and theta", lambdas + thetas, params.len())
        .and_then(|()| check(&params[..lambdas], &params[lambdas..]))
        .map_err(|error| error.within("Joint"))
}

impl<M, F> Estimator<M, F> for Joint<ScanScore>
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

/// Joint stochastic approximation with minibatches (JSA): each datum keeps its own chain, a minibatch of chains is moved
/// per step, and the sum of their scores is scaled up to all data.
///
/// ```text
/// i in minibatch,   z_i ~ K_i(z_i, .) with proposals from q_lambda(. | x_i)
/// g = n/m sum_{i in minibatch} d/dlambda log q_lambda(z_i | x_i)
/// ```
///
/// The factor `n/m` makes the direction unbiased for the sum over all data, for every batch size, once every chain is
/// distributed as its posterior.
///
/// ```
/// use mcsa_estimators::jsa_scan;
/// assert_eq!(jsa_scan(64).scan.batch, 64);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanScore {
    /// The kernel that moves the chains.
    pub scan: RandomScan,
}

/// Minibatches of `batch` data with one Metropolis-Hastings transition each, and no restarts.
pub fn jsa_scan(batch: usize) -> ScanScore {
    ScanScore { scan: RandomScan { batch, acceptance: Default::default(), restart: Default::default() } }
}

impl ScanScore {
    /// Writes the positions of the chains visited in the last step, one column each.
    pub(crate) fn visited_into(&self, state: &RandomScanState, points: &mut [f64]) {
        let dim = points.len() / self.scan.batch;
        for (point, &row) in points.chunks_exact_mut(dim.max(1)).zip(state.rows()) {
            point.copy_from_slice(state.positions().column(row));
        }
    }

    pub(crate) fn weight<P: Blocks + ?Sized>(&self, target: &P) -> f64 {
        target.num_blocks() as f64 / self.scan.batch as f64
    }

    pub(crate) fn shape<P, F>(&self, target: &P, family: &F) -> Result<(), Error>
    where
        P: Blocks + ?Sized,
        F: BlockFamily + ?Sized,
    {
        same_length("latent dimensions of target and family", target.block_dim(), family.dim())
            .and_then(|()| same_length("data of target and family", target.num_blocks(), family.num_blocks()))
            .map_err(|error| error.within("ScanScore"))
    }
}

impl<P, F> Estimator<P, F> for ScanScore
where
    P: Blocks + ?Sized,
    F: BlockFamily + ?Sized,
{
    type State = RandomScanState;
    type Info = RandomScanInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    family_parameters!(P, F);

    fn lanes(&self) -> usize {
        self.scan.batch
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        let batch = self.scan.batch;
        family.work_len(batch) + self.scan.work_len(target).max((target.block_dim() + 1) * batch)
    }

    /// The chain of each datum starts at a draw of the datum's proposal.
    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<RandomScanState, Error> {
        self.shape(target, family)?;
        family.check(params)?;
        let Some(lane) = lanes.first_mut() else {
            return Err(Error::parameter("batch", 0.0, "at least 1").within("ScanScore"));
        };
        let mut positions = Mat::zeros(target.block_dim(), target.num_blocks());
        let mut work = vec![0.0; family.work_len(1)];
        for row in 0..target.num_blocks() {
            let column = positions.as_mut().subcols_mut(row, 1);
            let lane = std::slice::from_mut(&mut *lane);
            family.sample_blocks_into(params, &[row], lane, column, &mut [0.0], &mut work);
        }
        self.scan.init(target, positions)
    }

    fn check(&self, target: &P, family: &F, state: &RandomScanState) -> Result<(), Error> {
        self.shape(target, family)?;
        self.scan.check(target, state)
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut RandomScanState,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<RandomScanInfo, Error> {
        let (rows, dim) = (self.scan.batch, target.block_dim());
        let mut proposal = BlocksAt::new(family, params, rows, borrow(&mut work, family.work_len(rows)))?;
        let info = self.scan.step(target, &mut proposal, state, lanes, work);
        let (points, weights) = (borrow(&mut work, dim * rows), borrow(&mut work, rows));
        self.visited_into(state, points);
        weights.fill(self.weight(target));
        direction.fill(0.0);
        proposal.add_block_scores(state.rows(), batch(points, dim, rows), weights, direction);
        Ok(info)
    }
}
