//! The No-U-Turn sampler within a budget, warm-up included.

use faer::Mat;
use mcsa_core::{Address, ChainState, Error, Kernel, LogDensity};
use mcsa_diagnostics::{effective_sample_size, r_hat};
use mcsa_kernels::{DualAveraging, NoProposal, Nuts, Tunable, WindowAdaptation, warm_up};

use super::Bounded;
use super::answer::Answer;

/// Steps of the first warm-up; each further one is twice as long, and the last has at most [`LONGEST`].
const FIRST: u64 = 50;
/// Steps of the longest warm-up, as in Stan up to rounding.
const LONGEST: u64 = 800;
/// Budget from which on there are several chains, and their number.
const SEVERAL: (u64, usize) = (10_000, 4);
/// Acceptance that the warm-up aims at, and step size at its start.
const ACCEPTANCE: f64 = 0.8;
const STEP_SIZE: f64 = 0.1;
/// Smallest number of draws of a chain.
const FEWEST: usize = 10;

impl Bounded<'_, '_> {
    /// Chains whose warm-ups double in length while they are expected to leave half the budget to the draws.
    pub(super) fn nuts(self) -> Result<Answer, Error> {
        let (target, dim) = (self.target, self.target.dim());
        let chains = if self.budget < SEVERAL.0 { 1 } else { SEVERAL.1 };
        let mut starts = Mat::zeros(dim, chains);
        for chain in 0..chains {
            let point = self.point(&mut self.seed.named("start").stream(chain as u64, 0));
            starts.col_as_slice_mut(chain).copy_from_slice(&point);
        }
        let proposal = &mut NoProposal { dim };
        let mut kernel = Nuts::new(STEP_SIZE)?;
        let mut state = kernel.init(target, starts)?;
        let mut steps = FIRST;
        loop {
            let (before, seed) = (self.spent(), self.seed.named("warm").child(steps));
            let plan = WindowAdaptation::new(steps, DualAveraging::new(ACCEPTANCE)?);
            let mut progress = plan.init(kernel.step_size(), dim);
            kernel = warm_up(&kernel, target, proposal, &mut state, &plan, &mut progress, seed, steps)?;
            let cost = self.spent() - before;
            if steps >= LONGEST || self.spent() + 2 * cost > self.budget / 2 {
                break;
            }
            steps *= 2;
        }
        let mut lanes = self.seed.named("draws").streams(chains, 0);
        let mut work = vec![0.0; kernel.work_len(target, chains)];
        let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); chains];
        // A step from a point of finite density costs an evaluation at least.
        for step in 0..self.budget {
            if self.spent() >= self.budget {
                break;
            }
            for (lane, stream) in (0..).zip(&mut lanes) {
                stream.go_to(Address::of(lane, step));
            }
            kernel.step(target, proposal, &mut state, &mut lanes, &mut work);
            for (chain, drawn) in drawn.iter_mut().enumerate() {
                drawn.extend_from_slice(state.chains().positions.col_as_slice(chain));
            }
        }
        if self.spent() < self.budget {
            return Err(Error::invalid("the chains stand still where the density is not finite"));
        }
        let length = drawn[0].len() / dim;
        if length < FEWEST {
            return Err(Error::invalid("the budget ends in the warm-up"));
        }
        let coordinate = |i: usize| -> Vec<Vec<f64>> {
            drawn.iter().map(|chain| chain.chunks_exact(dim).map(|z| z[i]).collect()).collect()
        };
        // The diagnostics of a coordinate that never moved are NaN.
        let worst = |of: fn(&[Vec<f64>]) -> f64, sign: f64| {
            (0..dim)
                .map(|i| sign * of(&coordinate(i)))
                .fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || a >= b { a } else { b })
        };
        let count = chains * length;
        Ok(Answer {
            share: -worst(effective_sample_size, -1.0) / count as f64,
            r_hat: Some(worst(r_hat, 1.0)),
            ..Answer::unweighted(Mat::from_fn(dim, count, |i, j| drawn[j / length][j % length * dim + i]))
        })
    }
}
