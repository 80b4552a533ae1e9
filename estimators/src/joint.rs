//! One chain per datum, and joint learning of model parameters theta and variational parameters lambda.

use faer::{Mat, MatRef};
use mcsa_core::{
    Columns, Error, Estimator, Metric, Record, Stream, all_finite, batch, batch_mut, bits, borrow,
    same_length,
};
use mcsa_families::{BlockFamily, BlocksAt};
use mcsa_kernels::{Acceptance, log_weight};
use mcsa_models::{Blocks, Learnable};
use serde::de::DeserializeOwned;
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
/// MSC, Alg. 3 and 4. Wraps a [`ScanScore`] for one latent point per datum (JSA; gradients of a minibatch are scaled up to all data),
/// or an estimator on paths. The density depends on theta: the model, and what the estimator needs of it, is constructed once per step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint<E> {
    /// The estimator that moves the chains and averages scores, at one theta.
    pub climb: E,
}

/// Estimator whose points also estimate the gradient in the parameters theta of a model: what [`Joint`] requires.
pub trait ThetaGradient<M: ?Sized> {
    /// State of the estimator, of one type at every theta.
    type State: Serialize + DeserializeOwned + Send + 'static;
    /// Metrics of the estimator.
    type Info: Record + Default + Send;

    /// Length of the slice `work` of [`add_theta_gradients`](Self::add_theta_gradients).
    fn theta_len(&self, target: &M) -> usize;

    /// Adds the weighted gradients in theta at the points of the last step.
    fn add_theta_gradients(
        &self,
        target: &M,
        theta: &[f64],
        state: &Self::State,
        gradient: &mut [f64],
        work: &mut [f64],
    );
}

impl<M, F, E> Estimator<M, F> for Joint<E>
where
    M: Learnable + 'static,
    F: ?Sized,
    E: ThetaGradient<M>
        + for<'a> Estimator<
            M::At<'a>,
            F,
            State = <E as ThetaGradient<M>>::State,
            Info = <E as ThetaGradient<M>>::Info,
        >,
{
    type State = <E as ThetaGradient<M>>::State;
    type Info = <E as ThetaGradient<M>>::Info;

    fn config(&self) -> String {
        format!("Joint {{ climb: {} }}", Estimator::<M::At<'static>, F>::config(&self.climb))
    }

    fn family_config(&self, family: &F) -> String {
        Estimator::<M::At<'static>, F>::family_config(&self.climb, family)
    }

    fn num_params(&self, target: &M, family: &F) -> usize {
        self.climb.num_params(&target.anywhere(), family) + target.num_thetas()
    }

    fn check_params(&self, target: &M, family: &F, params: &[f64]) -> Result<(), Error> {
        same_length("lambda and theta", self.num_params(target, family), params.len())
            .and_then(|()| {
                let (lambda, theta) = params.split_at(params.len() - target.num_thetas());
                target.check_theta(theta)?;
                self.climb.check_params(&target.at(theta), family, lambda)
            })
            .map_err(|error| error.within("Joint"))
    }

    fn lanes(&self) -> usize {
        Estimator::<M::At<'static>, F>::lanes(&self.climb)
    }

    fn work_len(&self, target: &M, family: &F) -> usize {
        self.climb.work_len(&target.anywhere(), family).max(self.climb.theta_len(target))
    }

    fn init(
        &self,
        target: &M,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        self.check_params(target, family, params)?;
        let (lambda, theta) = params.split_at(params.len() - target.num_thetas());
        self.climb.init(&target.at(theta), family, lambda, lanes)
    }

    fn check(&self, target: &M, family: &F, state: &Self::State) -> Result<(), Error> {
        self.climb.check(&target.anywhere(), family, state)
    }

    fn ascent_direction(
        &self,
        target: &M,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<Self::Info, Error> {
        let (lambda, theta) = params.split_at(params.len() - target.num_thetas());
        let (d_lambda, d_theta) = direction.split_at_mut(lambda.len());
        let model = target.at(theta);
        let info = self.climb.ascent_direction(&model, family, lambda, state, lanes, d_lambda, work)?;
        d_theta.fill(0.0);
        self.climb.add_theta_gradients(target, theta, state, d_theta, work);
        Ok(info)
    }
}

impl<M: Learnable> ThetaGradient<M> for ScanScore
where
    for<'a> M::At<'a>: Blocks,
{
    type State = ScanState;
    type Info = ScanInfo;

    fn theta_len(&self, target: &M) -> usize {
        let model = target.anywhere();
        (model.block_dim() + 1) * self.batch + model.work_len(self.batch)
    }

    fn add_theta_gradients(
        &self,
        target: &M,
        theta: &[f64],
        state: &ScanState,
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (rows, dim) = (self.batch, state.positions.nrows());
        let (points, weights) = (borrow(&mut work, dim * rows), borrow(&mut work, rows));
        self.visited_into(state, points);
        weights.fill(state.positions.ncols() as f64 / rows as f64);
        target.add_theta_gradients(theta, state.rows(), batch(points, dim, rows), weights, gradient, work);
    }
}

/// Joint stochastic approximation with minibatches (JSA): each datum keeps its own chain, a minibatch of chains is moved
/// per step, and the sum of their scores is scaled up to all data.
///
/// ```text
/// i ~ uniform over data, without replacement,    z_i' ~ q_lambda(. | x_i)
/// z_i moves to z_i' with probability min(1, w_i(z_i') / w_i(z_i)),   w_i = p_i / q_i
/// g = n/m sum_{i in minibatch} d/dlambda log q_lambda(z_i | x_i)
/// ```
///
/// The factor `n/m` makes the direction unbiased for the sum over all data, for every batch size, once every chain is
/// distributed as its posterior. All proposals of a minibatch are drawn and evaluated as one batch; lane `k` drives row `k` of the
/// minibatch.
///
/// Numerics: as [`Imh`](mcsa_kernels::Imh).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanScore {
    /// Number of data visited per step; at least one, at most all.
    pub batch: usize,
    /// The acceptance rule.
    #[serde(default)]
    pub acceptance: Acceptance,
}

/// Minibatches of `batch` data with one Metropolis-Hastings transition each.
pub fn jsa_scan(batch: usize) -> ScanScore {
    ScanScore { batch, acceptance: Acceptance::default() }
}

impl<P, F> Estimator<P, F> for ScanScore
where
    P: Blocks + ?Sized,
    F: BlockFamily + ?Sized,
{
    type State = ScanState;
    type Info = ScanInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    family_parameters!(P, F);

    fn lanes(&self) -> usize {
        self.batch
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        let points = (target.block_dim() + 1) * self.batch;
        family.work_len(self.batch) + self.scan_len(target).max(points)
    }

    /// The chain of each datum starts at a draw of the datum's proposal.
    fn init(&self, target: &P, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<ScanState, Error> {
        self.shape(target, family)?;
        let mut work = vec![0.0; family.work_len(1)];
        let mut proposal = BlocksAt::new(family, params, 1, &mut work)?;
        let Some(lane) = lanes.first_mut() else {
            return Err(Error::parameter("batch", 0.0, "at least 1").within("ScanScore"));
        };
        let mut positions = Mat::zeros(target.block_dim(), target.num_blocks());
        for row in 0..target.num_blocks() {
            let column = positions.as_mut().subcols_mut(row, 1);
            let lane = std::slice::from_mut(&mut *lane);
            proposal.sample_blocks_into(&[row], lane, column, &mut [0.0]);
        }
        self.chains_at(target, positions)
    }

    fn check(&self, target: &P, family: &F, state: &ScanState) -> Result<(), Error> {
        self.shape(target, family)?;
        self.check_chains(target, state)
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut ScanState,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<ScanInfo, Error> {
        let (rows, dim) = (self.batch, target.block_dim());
        let mut proposal = BlocksAt::new(family, params, rows, borrow(&mut work, family.work_len(rows)))?;
        let info = self.scan(target, &mut proposal, state, lanes, work);
        let (points, weights) = (borrow(&mut work, dim * rows), borrow(&mut work, rows));
        self.visited_into(state, points);
        weights.fill(state.positions.ncols() as f64 / rows as f64);
        direction.fill(0.0);
        proposal.add_block_scores(state.rows(), batch(points, dim, rows), weights, direction);
        Ok(info)
    }
}

/// The state of [`ScanScore`]: a chain for every datum, and the step of its last visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanState {
    #[serde(with = "bits::matrix")]
    positions: Mat<f64>,
    visited: Vec<u64>,
    step: u64,
    rows: Vec<usize>,
}

/// Metrics of one step of [`ScanScore`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScanInfo {
    /// Number of chains visited.
    pub tried: u64,
    /// Chains that moved.
    pub accepted: u64,
    /// Proposals at which a density was NaN or p infinite; all were rejected.
    pub non_finite: u64,
    /// Mean age of the visited chains, in steps.
    pub age: f64,
}

impl Record for ScanInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::ACCEPTANCE, self.accepted as f64 / self.tried.max(1) as f64);
        sink(Metric::NON_FINITE, self.non_finite as f64);
        sink(Metric::mean("age"), self.age);
    }
}

impl ScanState {
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

impl ScanScore {
    /// Chains that start at the columns of `positions`, one per datum.
    ///
    /// # Errors
    /// If the number of chains differs from that of the data, a dimension differs, a position is not finite, or the batch
    /// is empty or larger than the number of data.
    pub fn chains_at<P: Blocks + ?Sized>(&self, target: &P, positions: Mat<f64>) -> Result<ScanState, Error> {
        let (visited, rows) = (vec![0; positions.ncols()], vec![0; self.batch]);
        let state = ScanState { visited, rows, positions, step: 0 };
        self.check_chains(target, &state).map(|()| state)
    }

    fn check_chains<P: Blocks + ?Sized>(&self, target: &P, state: &ScanState) -> Result<(), Error> {
        let data = target.num_blocks();
        let shapes = || {
            if self.batch == 0 || self.batch > data {
                let expected = "at least 1, at most the number of data";
                return Err(Error::parameter("batch", self.batch as f64, expected));
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
        shapes().map_err(|error| error.within("ScanScore"))
    }

    fn shape<P, F>(&self, target: &P, family: &F) -> Result<(), Error>
    where
        P: Blocks + ?Sized,
        F: BlockFamily + ?Sized,
    {
        same_length("latent dimensions of target and family", target.block_dim(), family.dim())
            .and_then(|()| same_length("data of target and family", target.num_blocks(), family.num_blocks()))
            .map_err(|error| error.within("ScanScore"))
    }

    /// Length of the memory to be lent to [`scan`](Self::scan).
    pub fn scan_len<P: Blocks + ?Sized>(&self, target: &P) -> usize {
        2 * target.block_dim() * self.batch + 4 * self.batch + target.work_len(self.batch)
    }

    /// Writes the positions of the chains visited in the last step, one column each.
    fn visited_into(&self, state: &ScanState, points: &mut [f64]) {
        let dim = points.len() / self.batch;
        for (point, &row) in points.chunks_exact_mut(dim.max(1)).zip(state.rows()) {
            point.copy_from_slice(state.positions().column(row));
        }
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
    /// If the number of lanes differs from the batch size, or `work` is shorter than [`scan_len`](Self::scan_len).
    pub fn scan<P: Blocks + ?Sized, F: BlockFamily + ?Sized>(
        &self,
        target: &P,
        proposal: &mut BlocksAt<'_, F>,
        state: &mut ScanState,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> ScanInfo {
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

        let mut info = ScanInfo { tried: rows as u64, ..ScanInfo::default() };
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
            if lane.accept(self.acceptance.log_alpha(from, to)) {
                state.positions.col_as_slice_mut(row).copy_from_slice(points.column(k));
                info.accepted += 1;
            }
        }
        info
    }
}
