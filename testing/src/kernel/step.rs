//! Kernels written as closures.

use faer::Mat;
use mcsa_core::{Ensemble, Error, Kernel, LogDensity, Proposal, Stream, batch_mut, one};

/// Kernel of one chain written as a closure, for tests of a prototype: it may allocate, and several
/// chains are moved one after the other.
///
/// ```
/// use mcsa_testing::{Finite, FiniteProposal, Step, transition_matrix};
/// // Independent Metropolis-Hastings that does not divide by the proposal's density.
/// let faulty = Step::new(|chain, proposal, stream| {
///     let (z, _log_q) = chain.propose(proposal, stream);
///     let log_p = chain.log_p_at(&z);
///     if stream.accept(log_p - chain.log_p()) {
///         chain.move_to(&z, log_p);
///     }
/// });
/// let target = Finite::on_line(&[1.0, 2.0, 3.0])?;
/// let mut proposal = FiniteProposal::new(Finite::on_line(&[3.0, 1.0, 1.0])?);
/// let found = transition_matrix(&faulty, &target, &mut proposal, target.atoms(), 1, 1_000)?;
/// assert!(found.keeps_target().fails());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub struct Step<F>(F);

impl<F: Fn(&mut Chain<'_>, &mut dyn Proposal, &mut Stream) + Send + Sync> Step<F> {
    /// A kernel that moves each chain by the closure.
    pub const fn new(moves: F) -> Self {
        Self(moves)
    }
}

/// View of one chain for the closure of a [`Step`].
pub struct Chain<'a> {
    target: &'a dyn LogDensity,
    ensemble: &'a mut Ensemble,
    index: usize,
    work: &'a mut [f64],
}

impl Chain<'_> {
    /// Position of the chain.
    pub fn position(&self) -> &[f64] {
        self.ensemble.positions.col_as_slice(self.index)
    }

    /// Log density of the target at the position.
    pub fn log_p(&self) -> f64 {
        self.ensemble.log_p[self.index]
    }

    /// Log density of the target at `z`.
    pub fn log_p_at(&mut self, z: &[f64]) -> f64 {
        self.target.log_density(z, self.work)
    }

    /// Log density of the proposal at the position.
    pub fn log_q(&self, proposal: &mut dyn Proposal) -> f64 {
        let mut log_q = [0.0];
        proposal.log_probs(one(self.position()), &mut log_q);
        log_q[0]
    }

    /// A draw of the proposal, and the proposal's log density at the draw.
    pub fn propose(&self, proposal: &mut dyn Proposal, stream: &mut Stream) -> (Vec<f64>, f64) {
        let dim = self.position().len();
        let (mut z, mut log_q) = (vec![0.0; dim], [0.0]);
        proposal.sample_into(std::slice::from_mut(stream), batch_mut(&mut z, dim, 1), &mut log_q);
        (z, log_q[0])
    }

    /// Moves the chain to `z`, at which the target's log density is `log_p`.
    pub fn move_to(&mut self, z: &[f64], log_p: f64) {
        self.ensemble.place(self.index, z, log_p);
    }
}

impl<P, F> Kernel<P> for Step<F>
where
    P: LogDensity,
    F: Fn(&mut Chain<'_>, &mut dyn Proposal, &mut Stream) + Send + Sync,
{
    type State = Ensemble;
    type Info = ();

    fn columns(&self, chains: usize) -> usize {
        chains
    }

    fn work_len(&self, target: &P, _: usize) -> usize {
        target.work_len(1)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Ensemble, Error> {
        Ensemble::new(target, positions)
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut Ensemble,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) {
        assert_eq!(lanes.len(), state.len(), "a lane per chain");
        for (index, lane) in lanes.iter_mut().enumerate() {
            self.0(&mut Chain { target, ensemble: state, index, work }, proposal, lane);
        }
    }
}
