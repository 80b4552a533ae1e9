//! Twins: Hamiltonian kernels with a flaw, which the tests must detect.

use mcsa_core::{ChainState, Columns, Gradient, Stream};
use mcsa_kernels::{GradientEnsemble, Leapfrog};

/// Flaw of a twin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Flaw {
    /// Moves to the end of the trajectory without a test.
    NoTest,
    /// The second half kick of every leapfrog step is missing.
    NoHalfKick,
    /// The kinetic energy is subtracted.
    KineticSign,
    /// Chooses among the states of a trajectory that always starts at the chain.
    AlwaysForward,
}

/// End-point HMC, chain by chain, in plain code; correct if it has no flaw.
pub(crate) struct Careless {
    pub(crate) leapfrog: Leapfrog,
    pub(crate) steps: usize,
    pub(crate) flaw: Option<Flaw>,
}

impl Careless {
    /// Transition of chain 0 with this momentum.
    pub(crate) fn transition<P: Gradient>(
        &self,
        target: &P,
        state: &mut GradientEnsemble,
        momentum: &[f64],
        lanes: &mut [Stream],
    ) {
        let lane = &mut lanes[0];
        let mut work = vec![0.0; target.work_len(1)];
        let mut z = state.chains().positions.as_ref().column(0).to_vec();
        let (mut p, mut gradient) = (momentum.to_vec(), vec![0.0; z.len()]);
        let energy = |log_p: f64, p: &[f64]| {
            let sign = if self.flaw == Some(Flaw::KineticSign) { -1.0 } else { 1.0 };
            sign * self.leapfrog.mass().kinetic(p) - log_p
        };
        let mut log_p = target.gradient_into(&z, &mut gradient, &mut work);
        let mut visited = vec![(z.clone(), log_p)];
        let mut log_weights = vec![-energy(log_p, &p)];
        for _ in 0..self.steps {
            log_p = self.leapfrog.step(target, 1.0, &mut z, &mut p, &mut gradient, &mut work);
            if self.flaw == Some(Flaw::NoHalfKick) {
                let undone = 0.5 * self.leapfrog.step_size();
                p.iter_mut().zip(&gradient).for_each(|(p, g)| *p -= undone * g);
            }
            visited.push((z.clone(), log_p));
            log_weights.push(-energy(log_p, &p));
        }
        let to = match self.flaw {
            Some(Flaw::NoTest) => Some(self.steps),
            Some(Flaw::AlwaysForward) => lane.choose(&log_weights),
            _ => lane.accept(log_weights[self.steps] - log_weights[0]).then_some(self.steps),
        };
        if let Some(to) = to {
            state.chains_mut().place(0, &visited[to].0, visited[to].1);
        }
    }
}
