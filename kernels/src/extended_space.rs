//! Kernels on the extended space of a pushforward: proposals whose density is known at the draws alone.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    ChainState, Columns, ColumnsMut, Ensemble, Error, Kernel, LogDensity, Proposal, Pushforward, Seed,
    Stream, batch, batch_mut, borrow,
};
use serde::{Deserialize, Serialize};

/// Kernel with proposals from a pushforward, such as an annealed path, in place of a family's.
///
/// ```text
/// x = (z, eps),  z = t(lambda, eps);   proposals  eps ~ f,   weights  w(x) = p(z) / q_lambda(eps)
/// extended target  p(z) r(eps | z),    r = f / q_lambda the backward law
/// ```
///
/// `kernel` is [`Imh`](crate::Imh), [`Cis`](crate::Cis) or another kernel that proposes from its proposal. To it x is z with the
/// number `log q_lambda(eps)` as one more coordinate, which is all that weights need of the noise. It is invariant for the
/// extended target, hence for its marginal p (Andrieu, Doucet & Holenstein 2010, Sec. 4; Neal 2001 for annealed paths). The
/// proposal of a step is ignored.
///
/// Two noises that lead to one z have different weights. So `log q` of a chain is drawn with its z and kept; computed again from
/// another noise, it would leave another distribution invariant. If the pushforward has a backward law, a chain at a point given
/// from outside draws its noise from this law. Otherwise that chain has weight zero and moves to the first proposal of positive
/// weight; a cycle with another kernel is then not invariant. [`refreshed`](Self::refreshed) draws the noise of every chain anew
/// in each step, which lets a chain with a lucky noise move again.
///
/// ```
/// use mcsa_core::{ChainState, Kernel, Seed};
/// use mcsa_kernels::{Cis, ExtendedSpace, NoProposal};
/// let target = mcsa_models::Gaussian::standard(2);
/// let (family, params) = (mcsa_families::Drawn(mcsa_families::MeanField::new(2)), vec![0.0; 4]);
/// let kernel = ExtendedSpace::new(Cis::with_fresh(7), family, params)?;
/// let mut state = kernel.init(&target, faer::Mat::zeros(2, 1))?;
/// let (mut lanes, mut work) = (Seed::new(1).streams(1, 0), vec![0.0; kernel.work_len(&target, 1)]);
/// let info = kernel.step(&target, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
/// assert_eq!((info.accepted, state.points().ncols()), (1, 8));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ExtendedSpace<K, F> {
    kernel: K,
    pushforward: F,
    params: Vec<f64>,
    refreshes: bool,
}

impl<K, F: Pushforward> ExtendedSpace<K, F> {
    /// The kernel `kernel` with proposals from `pushforward` at `params`.
    ///
    /// # Errors
    /// If the params fail [`Parametric::check`](mcsa_core::Parametric::check).
    pub fn new(kernel: K, pushforward: F, params: Vec<f64>) -> Result<Self, Error> {
        pushforward.check(&params).map_err(|error| error.within("ExtendedSpace"))?;
        Ok(Self { kernel, pushforward, params, refreshes: false })
    }

    /// This kernel with a refreshment before each step: the noise of every chain is drawn from the backward law, given its z.
    ///
    /// # Errors
    /// If the pushforward has no backward law.
    pub fn refreshed(self) -> Result<Self, Error> {
        let (dim, noise_dim) = (self.pushforward.dim(), self.pushforward.noise_dim());
        let (z, mut noise, mut log_q) = (Mat::zeros(dim, 1), Mat::zeros(noise_dim, 1), [0.0]);
        let (mut lanes, mut work) = (Seed::new(0).streams(1, 0), vec![0.0; self.pushforward.work_len(1)]);
        let noise = noise.as_mut();
        if self.pushforward.sample_reverse_into(
            &self.params,
            z.as_ref(),
            &mut lanes,
            noise,
            &mut log_q,
            &mut work,
        ) {
            return Ok(Self { refreshes: true, ..self });
        }
        let lacks = format!("{} does not know its backward law", self.pushforward.config());
        Err(Error::invalid(lacks).within("ExtendedSpace"))
    }

    fn draws<'a, 'w: 'a>(&'a self, columns: usize, work: &mut &'w mut [f64]) -> Draws<'a, F> {
        let noise = borrow(work, self.pushforward.noise_dim() * columns);
        let lent = borrow(work, self.pushforward.work_len(columns));
        Draws { pushforward: &self.pushforward, params: &self.params, noise, work: lent }
    }

    fn draws_len(&self, columns: usize) -> usize {
        self.pushforward.noise_dim() * columns + self.pushforward.work_len(columns)
    }
}

/// Target on points followed by one more coordinate, `log q` of their noise, which does not enter the density.
#[derive(Clone, Copy)]
pub struct ExtendedTarget<'a>(
    /// The target, or a surrogate of it.
    pub &'a dyn LogDensity,
);

impl LogDensity for ExtendedTarget<'_> {
    fn dim(&self) -> usize {
        self.0.dim() + 1
    }

    fn work_len(&self, columns: usize) -> usize {
        self.0.work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.0.log_density(&z[..self.0.dim()], work)
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        self.0.log_densities(z.subrows(0, self.0.dim()), out, work);
    }
}

/// Proposal on the extended space: draws of a pushforward, each followed by its `log q`.
struct Draws<'a, F> {
    pushforward: &'a F,
    params: &'a [f64],
    noise: &'a mut [f64],
    work: &'a mut [f64],
}

impl<F: Pushforward> Proposal for Draws<'_, F> {
    fn dim(&self) -> usize {
        self.pushforward.dim() + 1
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = z[(self.pushforward.dim(), j)];
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        let (dim, noise_dim, columns) = (self.pushforward.dim(), self.pushforward.noise_dim(), z.ncols());
        let noise = &mut self.noise[..noise_dim * columns];
        self.pushforward.sample_noise_into(lanes, batch_mut(noise, noise_dim, columns));
        let noise = batch(noise, noise_dim, columns);
        self.pushforward.push(self.params, noise, z.as_mut().subrows_mut(0, dim), log_q, self.work);
        for (j, &log_q) in log_q.iter().enumerate() {
            z.column_mut(j)[dim] = log_q;
        }
    }
}

/// The state of [`ExtendedSpace`]: the chains, and the state of its kernel on the extended space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtendedState<S> {
    chains: Ensemble,
    inner: S,
    /// True if the chains came from outside, so that their noise is not known.
    noiseless: bool,
}

/// `log q` of a chain without noise. The log weight `log p - log q` is then below that of every proposal with a positive density,
/// and finite.
const UNKNOWN: f64 = f64::MAX;

impl<S: ChainState> ChainState for ExtendedState<S> {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.noiseless = true;
        &mut self.chains
    }

    fn points(&self) -> MatRef<'_, f64> {
        self.inner.points().subrows(0, self.chains.positions.nrows())
    }

    fn weights(&self) -> Option<&[f64]> {
        self.inner.weights()
    }
}

impl<S: ChainState> ExtendedState<S> {
    /// Draws the noise of every chain from the backward law. Without it, chains from outside have weight zero.
    fn retrace<F: Pushforward>(&mut self, draws: &mut Draws<'_, F>, lanes: &mut [Stream], log_q: &mut [f64]) {
        let Draws { pushforward, params, noise, work } = draws;
        let (points, rows, columns) = (self.chains.positions.as_ref(), pushforward.noise_dim(), log_q.len());
        let noise = batch_mut(&mut noise[..rows * columns], rows, columns);
        if !pushforward.sample_reverse_into(params, points, lanes, noise, log_q, work) {
            log_q.fill(UNKNOWN);
        }
        let (dim, inner) = (self.chains.positions.nrows(), self.inner.chains_mut());
        for (j, &log_q) in log_q.iter().enumerate() {
            let (z, last) = inner.positions.col_as_slice_mut(j).split_at_mut(dim);
            z.copy_from_slice(self.chains.positions.col_as_slice(j));
            last[0] = log_q;
        }
        inner.log_p.copy_from_slice(&self.chains.log_p);
        self.noiseless = false;
    }
}

impl<P, K, F> Kernel<P> for ExtendedSpace<K, F>
where
    P: LogDensity + ?Sized,
    F: Pushforward,
    K: Kernel<P>
        + for<'a> Kernel<ExtendedTarget<'a>, State = <K as Kernel<P>>::State, Info = <K as Kernel<P>>::Info>,
{
    type State = ExtendedState<<K as Kernel<P>>::State>;
    type Info = <K as Kernel<P>>::Info;

    fn config(&self) -> String {
        let (kernel, pushforward) = (Kernel::<P>::config(&self.kernel), self.pushforward.config());
        let Self { params, refreshes, .. } = self;
        format!(
            "ExtendedSpace {{ kernel: {kernel}, pushforward: {pushforward}, params: {params:?}, refreshes: {refreshes} }}"
        )
    }

    fn columns(&self, chains: usize) -> usize {
        Kernel::<P>::columns(&self.kernel, chains).max(chains)
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        let inner = self.kernel.work_len(&ExtendedTarget(&target), chains);
        inner + self.draws_len(Kernel::<P>::columns(self, chains)) + chains
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Self::State, Error> {
        mcsa_core::same_length("a point of the pushforward", target.dim(), self.pushforward.dim())
            .map_err(|error| error.within("ExtendedSpace"))?;
        let chains = Ensemble::new(target, positions).map_err(|error| error.within("ExtendedSpace"))?;
        let dim = target.dim();
        let entry = |i, j| if i < dim { chains.positions[(i, j)] } else { UNKNOWN };
        let extended = Mat::from_fn(dim + 1, chains.len(), entry);
        let inner = self.kernel.init(&ExtendedTarget(&target), extended);
        let inner = inner.map_err(|error| error.within("ExtendedSpace"))?;
        Ok(ExtendedState { chains, inner, noiseless: true })
    }

    /// Draws the noise of every chain from the backward law, if it is known.
    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Self::State, Error> {
        let mut state = Kernel::<P>::init(self, target, positions)?;
        let chains = state.chains.len();
        let (mut log_q, mut work) = (vec![0.0; chains], vec![0.0; self.draws_len(chains)]);
        state.retrace(&mut self.draws(chains, &mut &mut work[..]), lanes, &mut log_q);
        Ok(state)
    }

    fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), Error> {
        state
            .chains
            .check(target.dim(), chains)
            .and_then(|()| self.kernel.check(&ExtendedTarget(&target), chains, &state.inner))
            .map_err(|error| error.within("ExtendedSpace"))
    }

    fn step(
        &self,
        target: &P,
        _: &mut dyn Proposal,
        state: &mut Self::State,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> Self::Info {
        let (dim, chains) = (target.dim(), state.chains.len());
        assert_eq!(lanes.len(), chains, "a lane per chain");
        let mut draws = self.draws(Kernel::<P>::columns(self, chains), &mut work);
        let log_q = borrow(&mut work, chains);
        if state.noiseless || self.refreshes {
            state.retrace(&mut draws, lanes, log_q);
        }
        let info = self.kernel.step(&ExtendedTarget(&target), &mut draws, &mut state.inner, lanes, work);
        let moved = state.inner.chains();
        for j in 0..chains {
            state.chains.place(j, &moved.positions.as_ref().column(j)[..dim], moved.log_p[j]);
        }
        info
    }
}
