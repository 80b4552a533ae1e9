//! Random-scan independent Metropolis-Hastings: one chain per datum, a minibatch of chains per step.

use faer::{Mat, MatRef};
use mcsa_core::{
    BlockFamily, Blocks, BlocksAt, Columns, Error, Metric, Record, Stream, all_finite, batch, batch_mut,
    bits, borrow, same_length,
};
use serde::{Deserialize, Serialize};

use crate::Acceptance;
use crate::weights::log_weight;

/// Rule for restarting chains that were not visited for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Never: every transition is Metropolis-Hastings, and the target is invariant.
    #[default]
    Never,
    /// A chain not visited for more than this number of steps accepts its next proposal without a test, if that proposal has
    /// positive density. Lambda has moved far since the last visit, and a chain placed under an old lambda may stay there for
    /// long; the price is that a restart does not leave p invariant.
    OlderThan(u64),
}

/// Independent Metropolis-Hastings on local latent variables, for a minibatch of data per step.
///
/// ```text
/// i ~ uniform over data,    z_i' ~ q_lambda(. | x_i),    move with min(1, w_i(z_i') / w_i(z_i)),   w_i = p_i / q_i
/// ```
///
/// Each datum keeps its own chain between visits, and the age of that chain (JSA). Data are drawn without replacement. All
/// proposals of a minibatch are drawn and evaluated as one batch; lane `k` drives row `k` of the minibatch.
///
/// Numerics: as [`Imh`](crate::Imh).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomScan {
    /// Number of data visited per step; at least one, at most all.
    pub batch: usize,
    /// The acceptance rule.
    #[serde(default)]
    pub acceptance: Acceptance,
    /// The restart rule.
    #[serde(default)]
    pub restart: Restart,
}

/// The state of [`RandomScan`]: a chain for every datum, and the step of its last visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RandomScanState {
    #[serde(with = "bits::matrix")]
    positions: Mat<f64>,
    visited: Vec<u64>,
    step: u64,
    rows: Vec<usize>,
}

/// Metrics of one step of [`RandomScan`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RandomScanInfo {
    /// Number of chains visited.
    pub tried: u64,
    /// Chains that moved, restarts included.
    pub accepted: u64,
    /// Chains restarted.
    pub restarted: u64,
    /// Proposals at which a density was NaN or p infinite; all were rejected.
    pub non_finite: u64,
    /// Mean age of the visited chains, in steps.
    pub age: f64,
}

impl Record for RandomScanInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        let share = |count: u64| count as f64 / self.tried.max(1) as f64;
        sink(Metric::ACCEPTANCE, share(self.accepted));
        sink(Metric::mean("restarted"), share(self.restarted));
        sink(Metric::NON_FINITE, self.non_finite as f64);
        sink(Metric::mean("age"), self.age);
    }
}

impl RandomScanState {
    /// The chains, one column per datum.
    pub fn positions(&self) -> MatRef<'_, f64> {
        self.positions.as_ref()
    }

    /// The data visited in the last step; scores are averaged over their columns.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Number of steps since the chain of a datum was last visited.
    pub fn age(&self, row: usize) -> u64 {
        self.step - self.visited[row]
    }
}

impl RandomScan {
    /// Chains that start at the columns of `positions`, one per datum.
    ///
    /// # Errors
    /// If the number of chains differs from that of the data, a dimension differs, a position is not finite, or the batch
    /// is empty or larger than the number of data.
    pub fn init<P: Blocks + ?Sized>(
        &self,
        target: &P,
        positions: Mat<f64>,
    ) -> Result<RandomScanState, Error> {
        let state = RandomScanState {
            visited: vec![0; positions.ncols()],
            rows: vec![0; self.batch],
            positions,
            step: 0,
        };
        self.check(target, &state).map(|()| state)
    }

    /// Checks that a state, for instance one read from a checkpoint, matches this target and configuration.
    ///
    /// # Errors
    /// If a length differs, a number is not finite or a row or visit is impossible; the message names which.
    pub fn check<P: Blocks + ?Sized>(&self, target: &P, state: &RandomScanState) -> Result<(), Error> {
        let data = target.num_blocks();
        let shapes = || {
            if self.batch == 0 || self.batch > data {
                return Err(Error::parameter(
                    "batch",
                    self.batch as f64,
                    "at least 1, at most the number of data",
                ));
            }
            same_length("chains", data, state.positions.ncols())?;
            same_length("a chain", target.block_dim(), state.positions.nrows())?;
            same_length("ages", data, state.visited.len())?;
            same_length("rows", self.batch, state.rows.len())?;
            if state.rows.iter().any(|&row| row >= data)
                || state.visited.iter().any(|&step| step > state.step)
            {
                return Err(Error::invalid("a row or a visit that cannot have been"));
            }
            (0..data).try_for_each(|j| all_finite("a chain", state.positions.as_ref().column(j)))
        };
        shapes().map_err(|error| error.within("RandomScan"))
    }

    /// Length of the memory to be lent to a step.
    pub fn work_len<P: Blocks + ?Sized>(&self, target: &P) -> usize {
        2 * target.block_dim() * self.batch + 4 * self.batch + target.work_len(self.batch)
    }

    /// Draws a minibatch uniformly without replacement, at a cost that does not grow with the number of data (Floyd's
    /// method, Bentley & Floyd 1987).
    fn choose_rows(&self, data: usize, lane: &mut Stream, rows: &mut [usize]) {
        for k in 0..self.batch {
            let last = data - self.batch + k;
            let row = lane.index(last + 1).unwrap_or(last);
            rows[k] = if rows[..k].contains(&row) { last } else { row };
        }
    }

    /// Draws a minibatch with the first lane and makes one transition of each of its chains.
    ///
    /// The target's density is evaluated at proposals and at current points, because the model may have changed between two
    /// visits of a datum.
    ///
    /// # Panics
    /// If the number of lanes differs from the batch size, or `work` is shorter than [`work_len`](Self::work_len).
    pub fn step<P: Blocks + ?Sized, F: BlockFamily + ?Sized>(
        &self,
        target: &P,
        proposal: &mut BlocksAt<'_, F>,
        state: &mut RandomScanState,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> RandomScanInfo {
        let (dim, rows) = (target.block_dim(), self.batch);
        assert_eq!(lanes.len(), rows, "a lane per row");
        state.step += 1;
        self.choose_rows(target.num_blocks(), &mut lanes[0], &mut state.rows);
        let points = borrow(&mut work, dim * rows);
        let here = borrow(&mut work, dim * rows);
        let log_q = borrow(&mut work, rows);
        let log_p = borrow(&mut work, rows);
        let log_q_here = borrow(&mut work, rows);
        let log_p_here = borrow(&mut work, rows);
        for (here, &row) in here.chunks_exact_mut(dim.max(1)).zip(&state.rows) {
            here.copy_from_slice(state.positions.col_as_slice(row));
        }
        proposal.sample_blocks_into(&state.rows, lanes, batch_mut(points, dim, rows), log_q);
        let (points, here) = (batch(points, dim, rows), batch(here, dim, rows));
        target.log_blocks(&state.rows, points, log_p, work);
        target.log_blocks(&state.rows, here, log_p_here, work);
        proposal.log_blocks(&state.rows, here, log_q_here);

        let mut info = RandomScanInfo { tried: rows as u64, ..RandomScanInfo::default() };
        for (k, lane) in lanes.iter_mut().enumerate() {
            let row = state.rows[k];
            let age = state.age(row);
            state.visited[row] = state.step;
            info.age += age as f64 / rows as f64;
            let Some(to) = log_weight(log_p[k], log_q[k]) else {
                info.non_finite += 1;
                continue;
            };
            let from = log_weight(log_p_here[k], log_q_here[k]).unwrap_or(f64::NEG_INFINITY);
            let restart =
                matches!(self.restart, Restart::OlderThan(limit) if age > limit) && to > f64::NEG_INFINITY;
            if restart || lane.accept(self.acceptance.log_alpha(from, to)) {
                state.positions.col_as_slice_mut(row).copy_from_slice(points.column(k));
                info.accepted += 1;
                info.restarted += u64::from(restart);
            }
        }
        info
    }
}
