//! Slightly wrong kernels, kernels wrong only as an ensemble, and a correct one on an extended space.

use faer::Mat;
use mcsa_core::{ChainState, Ensemble, Error, Kernel, LogDensity, Proposal, Stream, batch_mut, one};
use serde::{Deserialize, Serialize};

use super::memory::{Memory, kernel, methods};

/// Gaussian random walk, or independent Metropolis-Hastings, with its acceptance ratio raised to a power.
pub(crate) struct Powered {
    pub(crate) power: f64,
    pub(crate) independent: bool,
}

kernel!(Powered, LogDensity, |kernel, target, proposal, state, lanes, work| {
    let dim = target.dim();
    for (j, lane) in lanes.iter_mut().enumerate() {
        let here = state.chains.positions.col_as_slice(j);
        let (mut z, mut log_q, mut log_q_here) = (vec![0.0; dim], [0.0], [0.0]);
        if kernel.independent {
            proposal.sample_into(std::slice::from_mut(lane), batch_mut(&mut z, dim, 1), &mut log_q);
            proposal.log_probs(one(here), &mut log_q_here);
        } else {
            z.iter_mut().zip(here).for_each(|(z, x)| *z = x + lane.normal());
        }
        let log_p = target.log_density(&z, work);
        let ratio = log_p - log_q[0] - state.chains.log_p[j] + log_q_here[0];
        if lane.accept(kernel.power * ratio) {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EstimateSlip {
    None,
    /// Starts from a fresh estimate instead of a retained one.
    StartsFresh,
    /// Estimates the density of the retained point again in every step.
    EstimatesAnew,
    /// The mean of an estimate grows with the first coordinate.
    Biased,
}

/// Pseudo-marginal Metropolis-Hastings (Andrieu and Roberts 2009) with proposals of the proposal: it evaluates only `p(z) w`, where
/// the noise `w` is 0.4 or 1.6 with equal probabilities. The estimate of the retained point is kept.
pub(crate) struct PseudoMarginal {
    pub(crate) slip: EstimateSlip,
}

const NOISE: [f64; 2] = [0.4, 1.6];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Estimates {
    chains: Ensemble,
    #[serde(with = "mcsa_core::bits::vector")]
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

impl PseudoMarginal {
    fn fresh(&self, z: &[f64], lane: &mut Stream) -> f64 {
        let bias = if self.slip == EstimateSlip::Biased { 0.1 * z[0].tanh() } else { 0.0 };
        NOISE[lane.index(2).unwrap_or(0)].ln() + bias
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
            let kept = if self.slip == EstimateSlip::StartsFresh { [0.0; 2] } else { NOISE.map(f64::ln) };
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
            let log_w = self.fresh(&z, lane);
            if self.slip == EstimateSlip::EstimatesAnew {
                state.log_w[j] = self.fresh(&here, lane);
            }
            let (from, to) = (state.chains.log_p[j] + state.log_w[j], log_p + log_w);
            if lane.accept(to - log_q[0] - from + log_q_here[0]) {
                state.chains.place(j, &z, log_p);
                state.log_w[j] = log_w;
            }
        }
    }
}
