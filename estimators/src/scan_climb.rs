//! Score climbing with one chain per datum and minibatches of data.

use faer::Mat;
use mcsa_core::{
    BlockFamily, Blocks, BlocksAt, Columns, Error, Estimator, Stream, batch, borrow, same_length,
};
use mcsa_kernels::{RandomScan, RandomScanInfo, RandomScanState};
use serde::{Deserialize, Serialize};

use crate::family_parameters::family_parameters;

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
pub struct ScanClimb {
    /// The kernel that moves the chains.
    pub scan: RandomScan,
}

/// Minibatches of `batch` data with one Metropolis-Hastings transition each, and no restarts.
pub fn jsa_scan(batch: usize) -> ScanClimb {
    ScanClimb { scan: RandomScan { batch, acceptance: Default::default(), restart: Default::default() } }
}

impl ScanClimb {
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
            .map_err(|error| error.within("ScanClimb"))
    }
}

impl<P, F> Estimator<P, F> for ScanClimb
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

    /// The chain of each datum starts at a draw of the datum's guide.
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
            return Err(Error::parameter("batch", 0.0, "at least 1").within("ScanClimb"));
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
        let mut guide = BlocksAt::new(family, params, rows, borrow(&mut work, family.work_len(rows)))?;
        let info = self.scan.step(target, &mut guide, state, lanes, work);
        let (points, weights) = (borrow(&mut work, dim * rows), borrow(&mut work, rows));
        self.visited_into(state, points);
        weights.fill(self.weight(target));
        direction.fill(0.0);
        guide.add_block_scores(state.rows(), batch(points, dim, rows), weights, direction);
        Ok(info)
    }
}
