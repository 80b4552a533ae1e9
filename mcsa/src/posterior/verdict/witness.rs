//! Witness chains.

use faer::Mat;
use mcsa_core::{
    AffineMap, ChainState, Ensemble, Error, Family, FamilyProposal, Kernel, LogDensity, Proposal, Seed,
    Stream, Whitened, WhitenedProposal, bits,
};
use mcsa_diagnostics::{r_hat, standard_error};
use mcsa_kernels::{Acceptance, Cycle, Hmc, Imh, Repeat, Rwm, Sampling};
use serde::{Deserialize, Serialize};

use crate::posterior::Target;
use crate::posterior::start::mode_search::Mode;

/// Chains that leave p invariant, and their comparison with q. If No-U-turn chains are the answer, `positions`, `r_hat` and
/// `worst` are theirs, and the other numbers are empty or 0.
///
/// A step has two parts. The first is one step of Hamiltonian Monte Carlo, or `4 d` steps of a random walk if there is no
/// gradient. The second is one step of independent Metropolis-Hastings with proposals from q, by which chains pass between modes
/// that q has. A chain in mass that q lacks stays there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chains {
    /// Last positions, one chain per column: starts for another sampler.
    #[serde(with = "bits::matrix")]
    pub positions: Mat<f64>,
    /// Means of `y` and of `y^2` over all chains, where y are coordinates in which q has mean 0 and covariance I.
    #[serde(with = "bits::vector")]
    pub means: Vec<f64>,
    /// Standard errors of these means.
    #[serde(with = "bits::vector")]
    pub errors: Vec<f64>,
    /// Largest R-hat of the functions `y_i` and `y_i^2`.
    #[serde(with = "bits::scalar")]
    pub r_hat: f64,
    /// Index of the function with the largest R-hat: i for `y_i`, d + i for `y_i^2`.
    pub worst: usize,
    /// Number of chains that never came near the mass of p: their mean log weight is below the median by 30 or more. All numbers
    /// but `positions` leave these chains out.
    pub astray: usize,
    /// Mean log weight of each of the other chains, `log p - log q`.
    #[serde(with = "bits::vector")]
    pub log_weights: Vec<f64>,
}

/// Number of chains.
pub(crate) const CHAINS: usize = 16;
/// Steps of the warm-up.
const WARM_UP: u64 = 40;
/// Steps after it.
const LENGTH: usize = 50;
/// Leapfrog steps of a step with a gradient, and moves of a random walk per dimension of a step without.
const LEAPFROGS: usize = 5;
const MOVES: usize = 4;
/// Distance of a chain's mean log weight from the median below which it is astray.
const ASTRAY: f64 = 30.0;

/// Several steps of a kernel, then one of independent Metropolis-Hastings from q.
fn with_proposals<K>(kernel: K, times: usize) -> Cycle<Repeat<K>, Imh> {
    let second = Imh { acceptance: Acceptance::Metropolis, sweeps: 1 };
    Cycle { first: Repeat { kernel, times }, second }
}

/// Functions of a point in white coordinates: `y`, then `y^2`.
pub(crate) fn functions(y: &[f64]) -> impl Iterator<Item = f64> {
    y.iter().copied().chain(y.iter().map(|y| y * y))
}

/// Starting points of the chains: around the modes in turn, twice as far out as their Gaussians; `round` makes the starts of several
/// runs differ.
pub(crate) fn starts(
    target: &Target<'_>,
    modes: &[Mode],
    chains: usize,
    seed: Seed,
    round: u64,
) -> Result<Mat<f64>, Error> {
    let dim = target.dim();
    let mut starts = Mat::zeros(dim, chains);
    let mut work = vec![0.0; target.density().work_len(1)];
    for j in 0..chains {
        let map = modes[j % modes.len()].map()?;
        let mut stream = seed.named("witness").stream(j as u64, round);
        let mut y = vec![0.0; dim];
        for trial in 0..20 {
            stream.normals_into(&mut y);
            let spread = 2.0 * 0.7_f64.powi(trial);
            y.iter_mut().for_each(|y| *y *= spread);
            map.forward_into(&y, starts.col_as_slice_mut(j));
            if target.density().log_density(starts.col_as_slice(j), &mut work).is_finite() {
                break;
            }
        }
    }
    Ok(starts)
}

impl Chains {
    /// No chains: what is known before any were run.
    pub(crate) fn none(dim: usize) -> Self {
        Self {
            positions: Mat::zeros(dim, 0),
            means: Vec::new(),
            errors: Vec::new(),
            r_hat: f64::NAN,
            worst: 0,
            astray: 0,
            log_weights: Vec::new(),
        }
    }

    /// Number of evaluations that short chains take at least.
    pub(crate) const fn cost(dim: usize, has_gradient: bool) -> u64 {
        let (moves, of_warm_up) = if has_gradient { (LEAPFROGS, LEAPFROGS) } else { (MOVES * dim, 1) };
        CHAINS as u64 * (WARM_UP * of_warm_up as u64 + (LENGTH * (moves + 1)) as u64)
    }

    /// Runs the chains from `starts`, one per column, in the coordinates of `q.map`. Also returns all their points. `None` if a limit ended
    /// them.
    pub(crate) fn run(
        q: &FrozenProposal<'_>,
        target: &Target<'_>,
        starts: &Mat<f64>,
        seed: Seed,
    ) -> Result<Option<(Self, Mat<f64>)>, Error> {
        let plan = Sampling::new(starts.ncols(), 0).warm_up(WARM_UP);
        let (starts, of_warm_up) = (q.map.inverse(starts.as_ref()), seed.named("warm"));
        let goes_on = || !target.gate().is_closed();
        let found = match target.gradient() {
            Some(gradient) => {
                let white = Whitened::new(gradient, q.map.clone())?;
                let warm = plan.run_from(&Hmc::new(0.5, LEAPFROGS)?, &white, starts, of_warm_up)?;
                q.observe(&with_proposals(warm.kernel, 1), &white, warm.positions, LENGTH, seed, &goes_on)
            }
            None => {
                let white = Whitened::new(target.density(), q.map.clone())?;
                let dim = target.dim();
                let kernel = Rwm::new(2.4 / (dim as f64).sqrt())?;
                let warm = plan.run_from(&kernel, &white, starts, of_warm_up)?;
                let kernel = with_proposals(warm.kernel, MOVES * dim);
                q.observe(&kernel, &white, warm.positions, LENGTH, seed, &goes_on)
            }
        };
        if goes_on() { found } else { Ok(None) }
    }
}

/// The fitted q, and coordinates in which it is white.
pub(crate) struct FrozenProposal<'a> {
    pub(crate) family: &'a dyn Family,
    pub(crate) params: &'a [f64],
    pub(crate) map: &'a AffineMap,
}

impl FrozenProposal<'_> {
    /// Chains of `length` steps from `positions`, with all their points; `None` if `goes_on` ended them.
    pub(crate) fn observe<P: LogDensity, K: Kernel<P>>(
        &self,
        kernel: &K,
        white: &P,
        positions: Mat<f64>,
        length: usize,
        seed: Seed,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<(Chains, Mat<f64>)>, Error> {
        let (dim, chains) = (white.dim(), positions.ncols());
        let mut memory = vec![0.0; self.family.work_len(chains)];
        let mut at = FamilyProposal::new(self.family, self.params, chains, &mut memory)?;
        let mut proposal = WhitenedProposal { proposal: &mut at, map: self.map };
        let mut state = kernel.init(white, positions)?;
        let mut work = vec![0.0; kernel.work_len(white, chains)];
        let mut points = Mat::zeros(dim, chains * length);
        let (mut log_weights, mut log_q) = (vec![0.0; chains], vec![0.0; chains]);
        let mut lanes = seed.streams(chains, 0);
        for step in 0..length {
            if !goes_on() {
                return Ok(None);
            }
            Stream::go_to_step(&mut lanes, step as u64);
            kernel.step(white, &mut proposal, &mut state, &mut lanes, &mut work);
            let Ensemble { positions, log_p, .. } = state.chains();
            proposal.log_probs(positions.as_ref(), &mut log_q);
            for j in 0..chains {
                log_weights[j] += (log_p[j] - log_q[j]) / length as f64;
                points.col_mut(j * length + step).copy_from(positions.col(j));
            }
        }
        let mut sorted = log_weights.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let near: Vec<usize> =
            (0..chains).filter(|&j| log_weights[j] > sorted[chains / 2] - ASTRAY).collect();
        // A function of the points, chain by chain.
        let values = |k: usize| -> Vec<Vec<f64>> {
            let of = |y: f64| if k < dim { y } else { y * y };
            let chain = |&j: &usize| (0..length).map(|t| of(points[(k % dim, j * length + t)])).collect();
            near.iter().map(chain).collect()
        };
        let (mut means, mut errors, mut worst) = (Vec::new(), Vec::new(), (0, f64::NEG_INFINITY));
        for k in 0..2 * dim {
            let chains = values(k);
            means.push(chains.iter().flatten().sum::<f64>() / (near.len() * length) as f64);
            errors.push(standard_error(&chains));
            let r_hat = r_hat(&chains);
            worst = if r_hat > worst.1 { (k, r_hat) } else { worst };
        }
        let kept = Mat::from_fn(dim, near.len() * length, |i, c| {
            points[(i, near[c / length] * length + c % length)]
        });
        let found = Chains {
            positions: self.map.forward(state.chains().positions.as_ref()),
            means,
            errors,
            r_hat: worst.1,
            worst: worst.0,
            astray: chains - near.len(),
            log_weights: near.iter().map(|&j| log_weights[j]).collect(),
        };
        Ok(Some((found, self.map.forward(kept.as_ref()))))
    }
}
