//! Markov chain score ascent: averaged scores at the points of a kernel, with mirrored proposals and control variates.

use faer::reborrow::{Reborrow, ReborrowMut};
use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    ChainState, ColumnsMut, Ensemble, Error, Estimator, Family, FamilyProposal, Kernel, LogDensity, Proposal,
    Stream, all_finite, at_least_one, bits, borrow, fits_in_memory, same_length,
};
use mcsa_families::Defence;
use mcsa_kernels::{Acceptance, Cis, Imh, WasteRecycling};
use serde::{Deserialize, Serialize};

use crate::erased::questions;
use crate::family_parameters::family_parameters;

/// Points of a step over which scores are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Average {
    /// The chains after the step.
    Chains,
    /// The whole cloud with its weights: visited points, or candidates.
    Cloud,
}

/// Markov chain score ascent: a kernel that leaves p invariant moves `lanes` chains, and the direction is the average score
/// at the points of the step.
///
/// ```text
/// Z_t ~ K_lambda(Z_{t-1}, .),    g_t = sum_i weight_i  d/dlambda log q_lambda(z_i)
/// ```
///
/// This is one estimator for the algorithms of the papers (pMCSA). In a step [`pmcsa`] has `n` chains and one transition. [`jsa`]
/// has one chain and `n` transitions, and averages all visited points. [`msc`] and [`msc_rb`] choose among candidates. Chains
/// start at draws of the initial `q_lambda`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainScore<K, G = ()> {
    /// The kernel that moves the chains.
    pub kernel: K,
    /// Number of chains, each driven by its own stream.
    pub lanes: usize,
    /// Points over which scores are averaged.
    pub average: Average,
    /// If true, every second chain receives the mirror images of the proposals of the chain before it. The distribution of
    /// each chain is unchanged; errors of a pair that are odd about the centre of `q_lambda` cancel. Needs an even number of chains and
    /// a symmetric family, and no guard.
    #[serde(default)]
    pub mirrored: bool,
    /// Guard of the proposal `q_lambda`, such as a defensive mixture.
    pub guard: G,
}

impl<K> ChainScore<K> {
    /// An estimator with `lanes` chains and no guard: a kernel that uses a proposal proposes from `q_lambda` itself.
    pub const fn new(kernel: K, lanes: usize, average: Average) -> Self {
        Self { kernel, lanes, average, mirrored: false, guard: () }
    }

    /// This estimator with a guarded proposal.
    pub fn guarded<G: Guard>(self, guard: G) -> ChainScore<K, G> {
        let Self { kernel, lanes, average, mirrored, guard: () } = self;
        ChainScore { kernel, lanes, average, mirrored, guard }
    }
}

impl<K, G> ChainScore<K, G> {
    /// Largest number of columns in a batch of a step.
    pub(crate) fn columns<P: LogDensity + ?Sized>(&self) -> usize
    where
        K: Kernel<P>,
    {
        self.kernel.columns(self.lanes).max(self.lanes)
    }

    /// The points to average over and their weights; equal weights are written to `equal`.
    pub(crate) fn averaged<'s>(
        &self,
        state: &'s impl ChainState,
        equal: &'s mut [f64],
    ) -> (MatRef<'s, f64>, &'s [f64]) {
        let (points, weights) = match self.average {
            Average::Chains => (state.chains().positions.as_ref(), None),
            Average::Cloud => (state.points(), state.weights()),
        };
        let weights = weights.unwrap_or_else(|| {
            let equal = &mut equal[..points.ncols()];
            equal.fill(1.0 / points.ncols() as f64);
            equal
        });
        (points, weights)
    }

    /// One transition of the kernel with the family at `params` as its proposal. Returns the proposal and the metrics.
    #[expect(clippy::too_many_arguments, reason = "those of an estimator")]
    pub(crate) fn transition<'a, P, F>(
        &self,
        target: &P,
        family: &'a F,
        params: &'a [f64],
        state: &mut K::State,
        lanes: &mut [Stream],
        control: Option<&'a mut [f64]>,
        mut work: &'a mut [f64],
    ) -> Result<(Proposals<'a, F>, K::Info), Error>
    where
        P: LogDensity + ?Sized,
        F: Family + ?Sized,
        K: Kernel<P>,
        G: Guard,
    {
        let columns = self.columns();
        let memory = borrow(&mut work, Proposals::work_len(family, columns));
        let mut proposal = Proposals::new(family, params, columns, self.mirrored, control, memory)?;
        let guard_work = borrow(&mut work, self.guard.work_len(columns));
        let mut info = K::Info::default();
        self.guard.guarded(&mut proposal, columns, guard_work, &mut |proposal| {
            info = self.kernel.step(target, proposal, state, lanes, work);
        })?;
        Ok((proposal, info))
    }
}

/// Parallel Markov chain score ascent: `chains` independent chains, one transition each per step (pMCSA, Alg. 1).
pub const fn pmcsa(chains: usize) -> ChainScore<Imh> {
    ChainScore::new(Imh { acceptance: Acceptance::Metropolis, sweeps: 1 }, chains, Average::Chains)
}

/// Rao-Blackwellised form of [`pmcsa`]: proposals and old states are averaged with their acceptance probabilities (waste recycling).
pub const fn pmcsa_rb(chains: usize) -> ChainScore<WasteRecycling> {
    let imh = Imh { acceptance: Acceptance::Metropolis, sweeps: 1 };
    ChainScore::new(WasteRecycling { imh }, chains, Average::Cloud)
}

/// Joint stochastic approximation: one chain, `transitions` transitions per step, all visited points averaged (JSA, in the
/// form compared in pMCSA).
pub const fn jsa(transitions: usize) -> ChainScore<Imh> {
    ChainScore::new(Imh { acceptance: Acceptance::Metropolis, sweeps: transitions }, 1, Average::Cloud)
}

/// Markovian score climbing: one chain, moved by conditional importance sampling with `candidates` candidates, the retained
/// point included (MSC).
pub const fn msc(candidates: usize) -> ChainScore<Cis> {
    ChainScore::new(Cis::with_candidates(candidates), 1, Average::Chains)
}

/// Rao-Blackwellised form of [`msc`]: all candidates are averaged with their weights.
pub const fn msc_rb(candidates: usize) -> ChainScore<Cis> {
    ChainScore::new(Cis::with_candidates(candidates), 1, Average::Cloud)
}

/// One chain, moved once per step by any kernel, with the score at its state: with `Hmc`, the single-chain Hamiltonian
/// estimator compared in pMCSA.
pub const fn single<K>(kernel: K) -> ChainScore<K> {
    ChainScore::new(kernel, 1, Average::Chains)
}

impl<K, G: Guard> ChainScore<K, G> {
    /// Checks the configuration with target, family and lambda, before chains are made.
    fn check_config<P, F>(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error>
    where
        P: LogDensity + ?Sized,
        F: Family + ?Sized,
    {
        let refuse = |error: Error| error.within("ChainScore");
        at_least_one("chains", self.lanes)
            .and_then(|()| same_dimension(target.dim(), family.dim()))
            .and_then(|()| fits_in_memory("chains", self.lanes, family.dim()))
            .map_err(refuse)?;
        family.check(params)?;
        if self.mirrored {
            check_mirror(family, params, &self.guard, self.lanes, "chains").map_err(refuse)?;
        }
        Ok(())
    }
}

impl<P, F, K, G> Estimator<P, F> for ChainScore<K, G>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    K: Kernel<P>,
    G: Guard,
{
    type State = K::State;
    type Info = K::Info;

    fn config(&self) -> String {
        let Self { kernel, lanes, average, mirrored, guard } = self;
        let (kernel, guard) = (kernel.config(), guard.config());
        format!(
            "ChainScore {{ kernel: {kernel}, lanes: {lanes}, average: {average:?}, mirrored: {mirrored}, guard: {guard} }}"
        )
    }

    fn verify(&self, target: &P, _: &F, state: &K::State) -> Result<(), Error> {
        self.kernel.verify(target, state).map_err(|error| error.within("ChainScore"))
    }

    family_parameters!(P, F);

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        let columns = self.columns();
        let (proposal, guard) = (Proposals::work_len(family, columns), self.guard.work_len(columns));
        columns + proposal + guard + self.kernel.work_len(target, self.lanes)
    }

    fn init(&self, target: &P, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<K::State, Error> {
        self.check_config(target, family, params)?;
        let dim = family.dim();
        let mut positions = Mat::zeros(dim, self.lanes);
        let mut log_q = vec![0.0; self.lanes];
        let mut work = vec![0.0; family.work_len(self.lanes)];
        family.sample_into(params, lanes, positions.as_mut(), &mut log_q, &mut work);
        self.kernel.start(target, positions, lanes).map_err(|error| error.within("ChainScore"))
    }

    fn init_at(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        positions: Mat<f64>,
        lanes: &mut [Stream],
    ) -> Result<K::State, Error> {
        self.check_config(target, family, params)?;
        same_length("starting points", self.lanes, positions.ncols())
            .and_then(|()| self.kernel.start(target, positions, lanes))
            .map_err(|error| error.within("ChainScore"))
    }

    fn check(&self, target: &P, _: &F, state: &K::State) -> Result<(), Error> {
        self.kernel.check(target, self.lanes, state)
    }

    fn chains<'s>(&self, state: &'s K::State) -> Option<&'s Ensemble> {
        Some(state.chains())
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut K::State,
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<K::Info, Error> {
        self.direction_and_control(target, family, params, state, lanes, (direction, None), work)
    }
}

impl<P, F, K, G> Controllable<P, F> for ChainScore<K, G>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    K: Kernel<P>,
    G: Guard,
{
    fn direction_and_control(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut K::State,
        lanes: &mut [Stream],
        (direction, control): (&mut [f64], Option<&mut [f64]>),
        mut work: &mut [f64],
    ) -> Result<K::Info, Error> {
        let equal = borrow(&mut work, self.columns());
        let (proposal, info) = self.transition(target, family, params, state, lanes, control, work)?;
        let (points, weights) = self.averaged(state, equal);
        direction.fill(0.0);
        proposal.finish(points, weights, direction);
        Ok(info)
    }
}

/// Wrapper of the proposal distribution of each step, such as a defensive mixture. The guard `()` changes nothing.
///
/// The kernel proposes from the guarded proposal, while the scores remain those of the family: the family that is fitted to the target
/// does not change.
pub trait Guard: Send + Sync {
    /// Text of the configuration, which a checkpoint stores; implement it as [`Parametric::config`](mcsa_core::Parametric::config).
    fn config(&self) -> String {
        mcsa_core::type_name::<Self>()
    }

    /// Length of the slice `work` that a guard needs for batches of `columns` columns.
    fn work_len(&self, columns: usize) -> usize;

    /// Calls `run` with the guarded proposal.
    ///
    /// # Errors
    /// If guard and proposal are incompatible, for example of different dimensions; then `run` is not called.
    fn guarded(
        &self,
        proposal: &mut dyn Proposal,
        columns: usize,
        work: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Proposal),
    ) -> Result<(), Error>;
}

impl Guard for () {
    fn config(&self) -> String {
        "()".into()
    }

    fn work_len(&self, _: usize) -> usize {
        0
    }

    fn guarded(
        &self,
        proposal: &mut dyn Proposal,
        _: usize,
        _: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Proposal),
    ) -> Result<(), Error> {
        run(proposal);
        Ok(())
    }
}

impl Guard for Defence {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn work_len(&self, columns: usize) -> usize {
        Self::work_len(columns)
    }

    fn guarded(
        &self,
        proposal: &mut dyn Proposal,
        columns: usize,
        work: &mut [f64],
        run: &mut dyn FnMut(&mut dyn Proposal),
    ) -> Result<(), Error> {
        run(&mut self.around(proposal, columns, work)?);
        Ok(())
    }
}

/// The proposal at a fixed lambda, optionally with mirrored pairs of draws and with the mean score of all draws.
///
/// Mirrored: of every two lanes the second receives the mirror images of the draws of the first. The draws of each lane are
/// still independent draws of `q_lambda`, so every kernel that keeps lanes separate leaves its target invariant.
///
/// With `control`: the mean score of all draws is stored, a control variate of known mean zero.
pub(crate) struct Proposals<'a, F: ?Sized> {
    proposal: FamilyProposal<'a, F>,
    mirrored: bool,
    control: Option<Control<'a>>,
}

/// Sum of the scores of the draws, and their number.
struct Control<'a> {
    scores: &'a mut [f64],
    draws: usize,
    ones: &'a mut [f64],
}

impl<'a, F: Family + ?Sized> Proposals<'a, F> {
    /// Length of lent memory for batches of `columns`.
    pub(crate) fn work_len(family: &F, columns: usize) -> usize {
        family.work_len(columns) + columns
    }

    /// A proposal in lent memory; `control` receives the mean score of the draws.
    pub(crate) fn new(
        family: &'a F,
        params: &'a [f64],
        columns: usize,
        mirrored: bool,
        control: Option<&'a mut [f64]>,
        mut work: &'a mut [f64],
    ) -> Result<Self, Error> {
        let ones = borrow(&mut work, columns);
        let proposal = FamilyProposal::new(family, params, columns, work)?;
        let control = control.map(|scores| {
            scores.fill(0.0);
            ones.fill(1.0);
            Control { scores, draws: 0, ones }
        });
        Ok(Self { proposal, mirrored, control })
    }

    /// Adds the weighted scores of `points` to `direction`, and completes the mean score in `control`.
    pub(crate) fn finish(mut self, points: MatRef<'_, f64>, weights: &[f64], direction: &mut [f64]) {
        self.proposal.add_scores(points, weights, direction);
        if let Some(Control { scores, draws, .. }) = self.control {
            scores.iter_mut().for_each(|score| *score /= draws.max(1) as f64);
        }
    }
}

impl<F: Family + ?Sized> Proposal for Proposals<'_, F> {
    fn dim(&self) -> usize {
        self.proposal.dim()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.proposal.log_probs(z, log_q);
    }

    fn sample_into(&mut self, lanes: &mut [mcsa_core::Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        self.proposal.sample_into(lanes, z.rb_mut(), log_q);
        if self.mirrored {
            let per_lane = z.ncols() / lanes.len();
            for pair in 0..lanes.len() / 2 {
                for j in 2 * pair * per_lane..(2 * pair + 1) * per_lane {
                    let (mut left, mut right) = z.rb_mut().split_at_col_mut(j + per_lane);
                    let image = right.column_mut(0);
                    image.copy_from_slice(left.column_mut(j));
                    self.proposal.reflect(image);
                    log_q[j + per_lane] = log_q[j];
                }
            }
        }
        if let Some(Control { scores, draws, ones }) = &mut self.control {
            *draws += z.ncols();
            self.proposal.add_scores(z.rb(), &ones[..z.ncols()], scores);
        }
    }
}

/// Returns an error if the number of draws is odd, the family has no mirror symmetry, or a guard draws some of the points.
pub(crate) fn check_mirror<F: Family + ?Sized>(
    family: &F,
    params: &[f64],
    guard: &impl Guard,
    count: usize,
    what: &'static str,
) -> Result<(), Error> {
    if guard.config() != ().config() {
        return Err(Error::invalid("mirrored draws have no guard, which would part the pairs"));
    }
    if !count.is_multiple_of(2) {
        return Err(Error::parameter(what, count as f64, "even, for mirrored pairs"));
    }
    if !family.reflect(params, &mut vec![0.0; family.dim()]) {
        return Err(Error::invalid(
            "mirrored pairs need a symmetric family; this family has no known centre of symmetry",
        ));
    }
    Ok(())
}

/// An estimator that can also return the mean score of its fresh draws of `q_lambda`, a control variate of known mean zero.
pub trait Controllable<P: ?Sized, F: ?Sized>: Estimator<P, F> {
    /// As [`Estimator::ascent_direction`], bit-identical; the second slice, if given, receives the mean score of the fresh draws.
    #[expect(clippy::too_many_arguments, reason = "those of an estimator")]
    fn direction_and_control(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction_and_control: (&mut [f64], Option<&mut [f64]>),
        work: &mut [f64],
    ) -> Result<Self::Info, Error>;
}

/// Regression control variate: an estimator minus its regression on the mean score of its fresh draws.
///
/// ```text
/// c_t = 1/M sum_j d/dlambda log q_lambda(z_j),   z_j ~ q_lambda fresh, so that E[c_t | past] = 0
/// g'_k = g_k - b_k c_k,    b_k = <g_k c_k> / <c_k^2>,    averages over earlier steps, decaying with `memory`
/// ```
///
/// The coefficient of each parameter depends on earlier steps only, so given these the mean of the direction is exactly
/// unchanged. Where q is near p most proposals are accepted and the direction is nearly `c`, so little noise is left close
/// to the optimum. Costs one score per fresh draw, and no evaluation of the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controlled<E> {
    /// The estimator whose noise is reduced.
    pub estimator: E,
    /// Decay factor of the running averages per step, at least 0 and less than 1.
    pub memory: f64,
}

/// The state of [`Controlled`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlledState<S> {
    /// The state of the inner estimator.
    pub estimator: S,
    #[serde(with = "bits::vector")]
    products: Vec<f64>,
    #[serde(with = "bits::vector")]
    squares: Vec<f64>,
}

impl<E> Controlled<E> {
    /// A control variate with averages over about 20 steps, short because the coefficient has to follow lambda.
    pub const fn new(estimator: E) -> Self {
        Self { estimator, memory: 0.95 }
    }
}

impl<S> ControlledState<S> {
    /// The coefficient `b_k`; zero before the first step.
    pub fn coefficient(&self, k: usize) -> f64 {
        if self.squares[k] > 0.0 { self.products[k] / self.squares[k] } else { 0.0 }
    }
}

impl<E> Controlled<E> {
    /// The state around that of the inner estimator, before the first step.
    fn begin<S>(&self, params: &[f64], inner: Result<S, Error>) -> Result<ControlledState<S>, Error> {
        if !(0.0..1.0).contains(&self.memory) {
            let error = Error::parameter("memory", self.memory, "at least 0 and less than 1");
            return Err(error.within("Controlled"));
        }
        let zeros = vec![0.0; params.len()];
        Ok(ControlledState { estimator: inner?, products: zeros.clone(), squares: zeros })
    }
}

impl<P, F, E> Estimator<P, F> for Controlled<E>
where
    P: ?Sized,
    F: ?Sized,
    E: Controllable<P, F>,
{
    type State = ControlledState<E::State>;
    type Info = E::Info;

    fn config(&self) -> String {
        format!("Controlled {{ estimator: {}, memory: {:?} }}", self.estimator.config(), self.memory)
    }

    questions!(self => self.estimator, family => family, state => Ok::<_, Error>(&state.estimator));

    fn work_len(&self, target: &P, family: &F) -> usize {
        self.num_params(target, family) + self.estimator.work_len(target, family)
    }

    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        self.begin(params, self.estimator.init(target, family, params, lanes))
    }

    fn init_at(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        positions: Mat<f64>,
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        self.begin(params, self.estimator.init_at(target, family, params, positions, lanes))
    }

    fn check(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        let num_params = self.num_params(target, family);
        let check_state = |what, numbers: &[f64]| {
            same_length(what, num_params, numbers.len())
                .and_then(|()| all_finite(what, numbers))
                .map_err(|error| error.within("Controlled"))
        };
        check_state("products", &state.products)?;
        check_state("squares", &state.squares)?;
        self.estimator.check(target, family, &state.estimator)
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<E::Info, Error> {
        let control = borrow(&mut work, params.len());
        let both = (&mut *direction, Some(&mut *control));
        let info = self.estimator.direction_and_control(
            target,
            family,
            params,
            &mut state.estimator,
            lanes,
            both,
            work,
        )?;
        for (k, (g, &c)) in direction.iter_mut().zip(&*control).enumerate() {
            let coefficient = state.coefficient(k);
            // A step that is not finite ends the fit later; here it must not enter the averages.
            if (*g * c).is_finite() && (c * c).is_finite() {
                state.products[k] = self.memory * state.products[k] + (1.0 - self.memory) * (*g * c);
                state.squares[k] = self.memory * state.squares[k] + (1.0 - self.memory) * (c * c);
                *g -= coefficient * c;
            }
        }
        Ok(info)
    }
}

/// Returns an error if target and family have different dimensions.
pub(crate) fn same_dimension(target: usize, family: usize) -> Result<(), Error> {
    if target == family {
        return Ok(());
    }
    Err(Error::invalid(format!("the target has dimension {target}, the family {family}")))
}
