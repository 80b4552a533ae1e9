//! Kernels with one deliberate mistake each, and their correct variants.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use faer::{Mat, MatRef};
use mcsa_core::{ChainState, Ensemble, Error, Kernel, LogDensity, Proposal, Stream, batch_mut, bits, one};
use serde::{Deserialize, Serialize};

/// The mistake of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slip {
    None,
    // Of independent Metropolis-Hastings.
    StaleLogQ,
    MissingRatio,
    StaleLogP,
    SharedProposal,
    FirstLane,
    OutOfTheLog,
    CloudOfProposals,
    HiddenCounter,
    // Of conditional importance sampling.
    RetainedFivePercentOff,
    OneCandidateFewer,
    CloudWithoutRetained,
    // Of Hamiltonian Monte Carlo.
    MissingHalfStep,
    WrongKineticSign,
    NoAcceptTest,
}

/// State of all kernels but the pseudo-marginal one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) chains: Ensemble,
    /// log q of the chains, NaN before the first step: a quantity that a correct kernel must not store.
    #[serde(with = "bits::vector")]
    pub(crate) log_q: Vec<f64>,
    /// The points of the cloud; without columns, the chains are the cloud.
    #[serde(with = "bits::matrix")]
    pub(crate) points: Mat<f64>,
    #[serde(with = "bits::vector")]
    pub(crate) weights: Vec<f64>,
}

impl Memory {
    /// Chains, and memory for `points` points of the cloud; before the first step these are the chains' positions.
    pub(crate) fn new<P: LogDensity + ?Sized>(
        target: &P,
        positions: Mat<f64>,
        points: usize,
    ) -> Result<Self, Error> {
        let chains = positions.ncols();
        let points = Mat::from_fn(positions.nrows(), points, |i, k| positions[(i, k % chains)]);
        let weights = vec![1.0 / points.ncols().max(1) as f64; points.ncols()];
        Ok(Self { chains: Ensemble::new(target, positions)?, log_q: vec![f64::NAN; chains], points, weights })
    }
}

impl ChainState for Memory {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
    }

    fn points(&self) -> MatRef<'_, f64> {
        if self.points.ncols() == 0 { self.chains.positions.as_ref() } else { self.points.as_ref() }
    }

    fn weights(&self) -> Option<&[f64]> {
        (!self.weights.is_empty()).then_some(&self.weights)
    }
}

/// `kernel!(Kernel, Target, [points,] step)`: the kernel with this step and the state [`Memory`], for targets that implement
/// `Target`. The number of points of its cloud is `points(kernel, chains)`; without points, the chains are the cloud.
macro_rules! kernel {
    ($kernel:ty, $target:ident, $step:expr) => {
        kernel!($kernel, $target, |_, _| 0, $step);
    };
    ($kernel:ty, $target:ident, $points:expr, $step:expr) => {
        impl<P: mcsa_core::$target + ?Sized> Kernel<P> for $kernel {
            type State = Memory;
            type Info = ();

            fn columns(&self, chains: usize) -> usize {
                chains
            }

            fn work_len(&self, target: &P, _: usize) -> usize {
                target.work_len(1)
            }

            fn init(&self, target: &P, positions: Mat<f64>) -> Result<Memory, Error> {
                let points: fn(&Self, usize) -> usize = $points;
                let points = points(self, positions.ncols());
                Memory::new(target, positions, points)
            }

            fn check(&self, target: &P, chains: usize, state: &Memory) -> Result<(), Error> {
                state.chains.check(target.dim(), chains)
            }

            fn step(
                &self,
                target: &P,
                proposal: &mut dyn Proposal,
                state: &mut Memory,
                lanes: &mut [Stream],
                work: &mut [f64],
            ) {
                let step: fn(&Self, &P, &mut dyn Proposal, &mut Memory, &mut [Stream], &mut [f64]) = $step;
                step(self, target, proposal, state, lanes, work);
            }
        }
    };
}

/// Independent Metropolis-Hastings.
pub(crate) struct Independent {
    pub(crate) slip: Slip,
    calls: AtomicU64,
}

impl Independent {
    pub(crate) fn with(slip: Slip) -> Self {
        Self { slip, calls: AtomicU64::new(0) }
    }
}

kernel!(
    Independent,
    LogDensity,
    |kernel, chains| if kernel.slip == Slip::CloudOfProposals { chains } else { 0 },
    |kernel, target, proposal, state, lanes, work| {
        let dim = target.dim();
        let mut first = vec![0.0; dim];
        for j in 0..state.chains.len() {
            let (mut z, mut log_q, mut log_q_here) = (vec![0.0; dim], [0.0], [0.0]);
            let lane = if kernel.slip == Slip::FirstLane { 0 } else { j };
            let lane = &mut lanes[lane..=lane];
            if kernel.slip == Slip::SharedProposal && j > 0 {
                z.copy_from_slice(&first);
                proposal.log_probs(one(&z), &mut log_q);
            } else {
                proposal.sample_into(lane, batch_mut(&mut z, dim, 1), &mut log_q);
            }
            if j == 0 {
                first.copy_from_slice(&z);
            }
            if kernel.slip == Slip::CloudOfProposals {
                state.points.col_as_slice_mut(j).copy_from_slice(&z);
            }
            let log_p = target.log_density(&z, work);
            proposal.log_probs(one(state.chains.positions.col_as_slice(j)), &mut log_q_here);
            if kernel.slip == Slip::StaleLogQ && !state.log_q[j].is_nan() {
                log_q_here[0] = state.log_q[j];
            }
            let (from, to) = (state.chains.log_p[j] - log_q_here[0], log_p - log_q[0]);
            let log_alpha = match kernel.slip {
                Slip::MissingRatio => log_p - state.chains.log_p[j],
                Slip::OutOfTheLog => (to.exp() / from.exp()).ln(),
                _ => to - from,
            };
            let skip =
                kernel.slip == Slip::HiddenCounter && kernel.calls.fetch_add(1, Relaxed).is_multiple_of(7);
            if lane[0].accept(log_alpha) && !skip {
                let kept = state.chains.log_p[j];
                state.chains.place(j, &z, if kernel.slip == Slip::StaleLogP { kept } else { log_p });
                state.log_q[j] = log_q[0];
            } else {
                state.log_q[j] = log_q_here[0];
            }
        }
    }
);

/// Conditional importance sampling with three candidates.
pub(crate) struct Candidates {
    pub(crate) slip: Slip,
}

const CANDIDATES: usize = 3;

impl Candidates {
    fn fresh(&self) -> usize {
        CANDIDATES - 1 - usize::from(self.slip == Slip::OneCandidateFewer)
    }
}

kernel!(
    Candidates,
    LogDensity,
    |kernel, chains| chains * (kernel.fresh() + 1),
    |kernel, target, proposal, state, lanes, work| {
        let (dim, all, chains) = (target.dim(), kernel.fresh() + 1, state.chains.len());
        for j in 0..chains {
            let lane = &mut lanes[j..=j];
            let (mut log_p, mut log_q) = (vec![state.chains.log_p[j]; all], vec![0.0; all]);
            let mut points = vec![state.chains.positions.col_as_slice(j).to_vec(); all];
            proposal.log_probs(one(&points[0]), &mut log_q[..1]);
            for k in 1..all {
                proposal.sample_into(lane, batch_mut(&mut points[k], dim, 1), &mut log_q[k..=k]);
                log_p[k] = target.log_density(&points[k], work);
            }
            let mut weights: Vec<f64> = log_p.iter().zip(&log_q).map(|(p, q)| p - q).collect();
            if kernel.slip == Slip::RetainedFivePercentOff {
                weights[0] += 1.05_f64.ln();
            }
            let chosen = lane[0].choose(&weights).unwrap_or(0);
            if kernel.slip == Slip::CloudWithoutRetained {
                weights[0] = f64::NEG_INFINITY;
            }
            let top = weights.iter().fold(f64::NEG_INFINITY, |top, &w| top.max(w));
            let total: f64 = weights.iter().map(|w| (w - top).exp()).sum();
            for k in 0..all {
                state.points.col_as_slice_mut(j * all + k).copy_from_slice(&points[k]);
                state.weights[j * all + k] = (weights[k] - top).exp() / total / chains as f64;
            }
            state.chains.place(j, &points[chosen], log_p[chosen]);
        }
    }
);

/// Hamiltonian Monte Carlo with four leapfrog steps.
pub(crate) struct Hmc {
    pub(crate) slip: Slip,
    pub(crate) eps: f64,
}

kernel!(Hmc, Gradient, |kernel, target, _, state, lanes, work| {
    let (dim, eps) = (target.dim(), kernel.eps);
    for (j, lane) in lanes.iter_mut().enumerate() {
        let mut z = state.chains.positions.col_as_slice(j).to_vec();
        let (mut gradient, mut momentum) = (vec![0.0; dim], vec![0.0; dim]);
        lane.normals_into(&mut momentum);
        let kinetic = |momentum: &[f64]| 0.5 * momentum.iter().map(|v| v * v).sum::<f64>();
        let before = kinetic(&momentum);
        let mut log_p = target.gradient_into(&z, &mut gradient, work);
        let half = if kernel.slip == Slip::MissingHalfStep { 0.0 } else { 0.5 };
        for _ in 0..4 {
            // Without half steps a full kick follows a full drift: volume is preserved, reversibility is not.
            (0..dim).for_each(|i| momentum[i] += half * eps * gradient[i]);
            (0..dim).for_each(|i| z[i] += eps * momentum[i]);
            log_p = target.gradient_into(&z, &mut gradient, work);
            (0..dim).for_each(|i| momentum[i] += (1.0 - half) * eps * gradient[i]);
        }
        let gain = before - kinetic(&momentum);
        let gain = if kernel.slip == Slip::WrongKineticSign { -gain } else { gain };
        let log_alpha = log_p - state.chains.log_p[j] + gain;
        if lane.accept(log_alpha) || kernel.slip == Slip::NoAcceptTest {
            state.chains.place(j, &z, log_p);
        }
    }
});

/// Gaussian random walk with its acceptance ratio raised to a power.
pub(crate) struct Powered {
    pub(crate) power: f64,
}

kernel!(Powered, LogDensity, |kernel, target, _, state, lanes, work| {
    for (j, lane) in lanes.iter_mut().enumerate() {
        let here = state.chains.positions.col_as_slice(j);
        let z: Vec<f64> = here.iter().map(|x| x + lane.normal()).collect();
        let log_p = target.log_density(&z, work);
        if lane.accept(kernel.power * (log_p - state.chains.log_p[j])) {
            state.chains.place(j, &z, log_p);
        }
    }
});

/// Gibbs sampling of a standard normal, one random coordinate per step.
pub(crate) struct Gibbs {
    /// Variance of each coordinate's conditional distribution, which should be 1; for coordinates that are not listed it is 1.
    pub(crate) variances: Vec<f64>,
}

kernel!(Gibbs, LogDensity, |kernel, target, _, state, lanes, work| {
    for (j, lane) in lanes.iter_mut().enumerate() {
        let mut z = state.chains.positions.col_as_slice(j).to_vec();
        let i = lane.index(z.len()).unwrap_or(0);
        z[i] = kernel.variances.get(i).map_or(1.0, |v| v.sqrt()) * lane.normal();
        let log_p = target.log_density(&z, work);
        state.chains.place(j, &z, log_p);
    }
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// Every chain uses its own stream.
    Own,
    /// Every chain uses the noise of the first stream.
    First,
    /// Every chain uses one mixture of all streams, so that labels do not matter.
    Mixed,
}

/// Gaussian random walk; chains may wrongly share their noise.
pub(crate) struct Walk {
    pub(crate) noise: Noise,
}

kernel!(Walk, LogDensity, |kernel, target, _, state, lanes, work| {
    let dim = target.dim();
    let mut noise: Vec<Vec<f64>> = lanes.iter_mut().map(|_| vec![0.0; dim]).collect();
    let mut uniforms: Vec<f64> = Vec::new();
    for (noise, lane) in noise.iter_mut().zip(lanes.iter_mut()) {
        lane.normals_into(noise);
        uniforms.push(lane.uniform());
    }
    let mut mixed = vec![0.0; dim];
    for noise in &noise {
        mixed.iter_mut().zip(noise).for_each(|(m, n)| *m += n / (lanes.len() as f64).sqrt());
    }
    for j in 0..lanes.len() {
        let noise = match kernel.noise {
            Noise::Own => &noise[j],
            Noise::First => &noise[0],
            Noise::Mixed => &mixed,
        };
        let uniform = if kernel.noise == Noise::First { uniforms[0] } else { uniforms[j] };
        let here = state.chains.positions.col_as_slice(j);
        let z: Vec<f64> = here.iter().zip(noise).map(|(x, n)| x + n).collect();
        let log_p = target.log_density(&z, work);
        if uniform.ln() < log_p - state.chains.log_p[j] {
            state.chains.place(j, &z, log_p);
        }
    }
});

/// Pseudo-marginal Metropolis-Hastings (Andrieu and Roberts 2009) with proposals of the proposal: it evaluates only `p(z) w`, where
/// the noise `w` is 0.4 or 1.6 with equal probabilities. The estimate of the retained point is kept.
pub(crate) struct PseudoMarginal {
    /// True if chains start from a fresh estimate instead of a retained one.
    pub(crate) starts_fresh: bool,
}

const NOISE: [f64; 2] = [0.4, 1.6];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Estimates {
    chains: Ensemble,
    #[serde(with = "bits::vector")]
    log_w: Vec<f64>,
}

impl ChainState for Estimates {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
    }
}

impl<P: LogDensity + ?Sized> Kernel<P> for PseudoMarginal {
    type State = Estimates;
    type Info = ();

    fn columns(&self, chains: usize) -> usize {
        chains
    }

    fn work_len(&self, target: &P, _: usize) -> usize {
        target.work_len(1)
    }

    /// Without random numbers, the noise of a start is its mean.
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Estimates, Error> {
        let chains = Ensemble::new(target, positions)?;
        Ok(Estimates { log_w: vec![0.0; chains.len()], chains })
    }

    /// Given the point, the noise of a retained estimate is size-biased: 0.4 and 1.6 have probabilities 0.2 and 0.8.
    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Estimates, Error> {
        let mut state = self.init(target, positions)?;
        for (log_w, lane) in state.log_w.iter_mut().zip(lanes) {
            let kept = if self.starts_fresh { [0.0; 2] } else { NOISE.map(f64::ln) };
            *log_w = NOISE[lane.choose(&kept).unwrap_or(0)].ln();
        }
        Ok(state)
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut Estimates,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) {
        let dim = target.dim();
        for (j, lane) in lanes.iter_mut().enumerate() {
            let here = state.chains.positions.col_as_slice(j).to_vec();
            let (mut z, mut log_q, mut log_q_here) = (vec![0.0; dim], [0.0], [0.0]);
            proposal.sample_into(std::slice::from_mut(lane), batch_mut(&mut z, dim, 1), &mut log_q);
            proposal.log_probs(one(&here), &mut log_q_here);
            let log_p = target.log_density(&z, work);
            let log_w = NOISE[lane.index(2).unwrap_or(0)].ln();
            let (from, to) = (state.chains.log_p[j] + state.log_w[j], log_p + log_w);
            if lane.accept(to - log_q[0] - from + log_q_here[0]) {
                state.chains.place(j, &z, log_p);
                state.log_w[j] = log_w;
            }
        }
    }
}
