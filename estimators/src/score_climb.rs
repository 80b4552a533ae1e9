//! Markov chain score ascent: averaged scores at the points of a kernel.

use faer::Mat;
use faer::MatRef;
use mcsa_core::{
    Cloud, Ensemble, Error, Estimator, Family, Guard, Kernel, LogDensity, Stream, borrow, fits_in_memory,
    same_length,
};
use mcsa_kernels::{Acceptance, Cis, Imh, WasteRecycling};
use serde::{Deserialize, Serialize};

use crate::Controllable;
use crate::dimension::same_dimension;
use crate::family_parameters::family_parameters;
use crate::proposals::{Proposals, check_mirror};

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
/// One estimator for the algorithms of the papers (pMCSA): [`pmcsa`] has `n` chains and one transition, [`jsa`] one chain
/// and `n` transitions with all visited points averaged; [`msc`] and [`msc_rb`] choose among candidates. Chains start at
/// draws of the initial `q_lambda`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreClimb<K, G = ()> {
    /// The kernel that moves the chains.
    pub kernel: K,
    /// Number of chains, each driven by its own stream.
    pub lanes: usize,
    /// Points over which scores are averaged.
    pub average: Average,
    /// If true, every second chain receives the mirror images of the proposals of the chain before it. The distribution of
    /// each chain is unchanged; errors of a pair that are odd about the centre of `q_lambda` cancel.
    #[serde(default)]
    pub mirrored: bool,
    /// Guard of the proposal `q_lambda`, such as a defensive mixture.
    pub guard: G,
}

impl<K> ScoreClimb<K> {
    /// An estimator with `lanes` chains and no guard: a kernel that uses a guide proposes from `q_lambda` itself.
    pub const fn new(kernel: K, lanes: usize, average: Average) -> Self {
        Self { kernel, lanes, average, mirrored: false, guard: () }
    }

    /// This estimator with proposals from a guarded guide.
    pub fn guarded<G: Guard>(self, guard: G) -> ScoreClimb<K, G> {
        let Self { kernel, lanes, average, mirrored, guard: () } = self;
        ScoreClimb { kernel, lanes, average, mirrored, guard }
    }
}

impl<K, G> ScoreClimb<K, G> {
    /// This estimator with mirrored pairs of chains; needs an even number of chains and a symmetric family.
    #[must_use]
    pub fn mirrored(self) -> Self {
        Self { mirrored: true, ..self }
    }

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
        state: &'s impl Cloud,
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

    /// One transition of the kernel with the family at `params` as its guide. Returns the guide and the metrics.
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
        let mut guide = Proposals::new(family, params, columns, self.mirrored, control, memory)?;
        let guard_work = borrow(&mut work, self.guard.work_len(columns));
        let mut info = K::Info::default();
        self.guard.guarded(&mut guide, columns, guard_work, &mut |guide| {
            info = self.kernel.step(target, guide, state, lanes, work);
        })?;
        Ok((guide, info))
    }
}

/// Parallel Markov chain score ascent: `chains` independent chains, one transition each per step (pMCSA, Alg. 1).
pub const fn pmcsa(chains: usize) -> ScoreClimb<Imh> {
    ScoreClimb::new(Imh { acceptance: Acceptance::Metropolis, sweeps: 1 }, chains, Average::Chains)
}

/// Rao-Blackwellised form of [`pmcsa`]: proposals and old states are averaged with their acceptance probabilities (waste recycling).
pub const fn pmcsa_rb(chains: usize) -> ScoreClimb<WasteRecycling> {
    let imh = Imh { acceptance: Acceptance::Metropolis, sweeps: 1 };
    ScoreClimb::new(WasteRecycling { imh }, chains, Average::Cloud)
}

/// Joint stochastic approximation: one chain, `transitions` transitions per step, all visited points averaged (JSA, in the
/// form compared in pMCSA).
pub const fn jsa(transitions: usize) -> ScoreClimb<Imh> {
    ScoreClimb::new(Imh { acceptance: Acceptance::Metropolis, sweeps: transitions }, 1, Average::Cloud)
}

/// Markovian score climbing: one chain, moved by conditional importance sampling with `candidates` candidates, the retained
/// point included (MSC).
pub const fn msc(candidates: usize) -> ScoreClimb<Cis> {
    ScoreClimb::new(Cis::with_candidates(candidates), 1, Average::Chains)
}

/// Rao-Blackwellised form of [`msc`]: all candidates are averaged with their weights.
pub const fn msc_rb(candidates: usize) -> ScoreClimb<Cis> {
    ScoreClimb::new(Cis::with_candidates(candidates), 1, Average::Cloud)
}

/// One chain, moved once per step by any kernel, with the score at its state: with `Hmc`, the single-chain Hamiltonian
/// estimator compared in pMCSA.
pub const fn single<K>(kernel: K) -> ScoreClimb<K> {
    ScoreClimb::new(kernel, 1, Average::Chains)
}

impl<K, G> ScoreClimb<K, G> {
    /// Checks the configuration with target, family and lambda, before chains are made.
    fn check_config<P, F>(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error>
    where
        P: LogDensity + ?Sized,
        F: Family + ?Sized,
    {
        let refuse = |error: Error| error.within("ScoreClimb");
        if self.lanes == 0 {
            return Err(refuse(Error::parameter("lanes", 0.0, "at least 1")));
        }
        same_dimension(target.dim(), family.dim())
            .and_then(|()| fits_in_memory("lanes", self.lanes, family.dim()))
            .map_err(refuse)?;
        family.check(params)?;
        if self.mirrored {
            check_mirror(family, params, self.lanes, "lanes").map_err(refuse)?;
        }
        Ok(())
    }
}

impl<P, F, K, G> Estimator<P, F> for ScoreClimb<K, G>
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
            "ScoreClimb {{ kernel: {kernel}, lanes: {lanes}, average: {average:?}, mirrored: {mirrored}, guard: {guard} }}"
        )
    }

    fn verify(&self, target: &P, _: &F, state: &K::State) -> Result<(), Error> {
        self.kernel.verify(target, state).map_err(|error| error.within("ScoreClimb"))
    }

    family_parameters!(P, F);

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        let columns = self.columns();
        let (guide, guard) = (Proposals::work_len(family, columns), self.guard.work_len(columns));
        columns + guide + guard + self.kernel.work_len(target, self.lanes)
    }

    fn init(&self, target: &P, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<K::State, Error> {
        self.check_config(target, family, params)?;
        let dim = family.dim();
        let mut positions = Mat::zeros(dim, self.lanes);
        let mut log_q = vec![0.0; self.lanes];
        let mut work = vec![0.0; family.work_len(self.lanes)];
        family.sample_into(params, lanes, positions.as_mut(), &mut log_q, &mut work);
        self.kernel.start(target, positions, lanes).map_err(|error| error.within("ScoreClimb"))
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
            .map_err(|error| error.within("ScoreClimb"))
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

impl<P, F, K, G> Controllable<P, F> for ScoreClimb<K, G>
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
        let (guide, info) = self.transition(target, family, params, state, lanes, control, work)?;
        let (points, weights) = self.averaged(state, equal);
        direction.fill(0.0);
        guide.finish(points, weights, direction);
        Ok(info)
    }
}
