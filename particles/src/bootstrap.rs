//! Guides of a state space model with filtering targets.

use crate::{PathGuide, StateSpace};
use mcsa_core::Stream;

/// Bootstrap filter (Gordon, Salmond & Smith 1993): proposes from the model's own transitions, with the observations so far
/// as target.
///
/// ```text
/// q(z_t | z_{t-1}) = p(z_t | z_{t-1}),   psi_t(z) = p(x_t | z)
/// ```
#[derive(Debug)]
pub struct Bootstrap<'a, P: ?Sized>(pub &'a P);

impl<P: StateSpace + ?Sized> PathGuide for Bootstrap<'_, P> {
    fn propose_into(
        &mut self,
        t: usize,
        previous: &[f64],
        stream: &mut Stream,
        z: &mut [f64],
        log_weights: &mut [f64],
    ) {
        self.0.draw_states_into(t, previous, stream, z);
        self.0.log_observations(t, z, log_weights);
    }

    fn log_weights(&mut self, t: usize, _: &[f64], z: &[f64], log_weights: &mut [f64]) {
        self.0.log_observations(t, z, log_weights);
    }

    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]) {
        self.0.log_observations(t, z, out);
    }
}

/// A filter's proposals with the observations so far as target: the twists shape proposals but not weights.
///
/// The sequential Monte Carlo method with which MSC is compared (MSC, section 4.3).
#[derive(Debug)]
pub struct Untwisted<'a, P: ?Sized, G> {
    /// The model.
    pub model: &'a P,
    /// The proposal that proposes.
    pub proposal: G,
}

impl<P: StateSpace + ?Sized, G: PathGuide> Untwisted<'_, P, G> {
    /// Replaces the proposal's twist by the observation density in the weights. Works on a few particles at a time, on the
    /// stack, because no memory is lent.
    fn exchange(&mut self, t: usize, z: &[f64], log_weights: &mut [f64]) {
        let dim = self.model.state_dim();
        for (z, log_weights) in z.chunks(AT_ONCE * dim).zip(log_weights.chunks_mut(AT_ONCE)) {
            let (mut twists, mut likelihoods) = ([0.0; AT_ONCE], [0.0; AT_ONCE]);
            let (twists, likelihoods) =
                (&mut twists[..log_weights.len()], &mut likelihoods[..log_weights.len()]);
            self.proposal.log_twists(t, z, twists);
            self.model.log_observations(t, z, likelihoods);
            for ((log_weight, twist), likelihood) in log_weights.iter_mut().zip(twists).zip(likelihoods) {
                *log_weight += *likelihood - *twist;
            }
        }
    }
}

/// Number of particles per chunk on the stack.
const AT_ONCE: usize = 64;

impl<P: StateSpace + ?Sized, G: PathGuide> PathGuide for Untwisted<'_, P, G> {
    fn propose_into(
        &mut self,
        t: usize,
        previous: &[f64],
        stream: &mut Stream,
        z: &mut [f64],
        log_weights: &mut [f64],
    ) {
        self.proposal.propose_into(t, previous, stream, z, log_weights);
        self.exchange(t, z, log_weights);
    }

    fn log_weights(&mut self, t: usize, previous: &[f64], z: &[f64], log_weights: &mut [f64]) {
        self.proposal.log_weights(t, previous, z, log_weights);
        self.exchange(t, z, log_weights);
    }

    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]) {
        self.model.log_observations(t, z, out);
    }
}
