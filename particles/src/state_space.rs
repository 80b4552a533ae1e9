//! State-space models, targets whose latent point is a path `z_0 .. z_{T-1}`, and proposals of their paths as particle methods see
//! them: transitions and twisting functions.

use mcsa_core::{LogDensity, Stream};

/// State-space model: a Markov chain of states `z_0 .. z_{T-1}` with one observation per state.
///
/// ```text
/// p(z, x) = prod_t p(z_t | z_{t-1}) p(x_t | z_t),      p(z_0 | z_{-1}) meaning the initial distribution
/// ```
///
/// For [`LogDensity`], a point is the whole path, state after state, of dimension `num_states * state_dim`. The methods of this
/// trait take particles: states of one time, one after the other, with their predecessors in the same order. At `t = 0`
/// predecessors are not read and may be empty. At a time without observation, the density of the observation is 1. The methods panic
/// if lengths differ.
///
/// ```
/// use mcsa_particles::StateSpace;
/// use mcsa_core::{LogDensity, Stream};
/// struct Walk(usize);
/// impl LogDensity for Walk {
///     fn dim(&self) -> usize { self.0 }
///     fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 { self.log_path(z) }
/// }
/// impl StateSpace for Walk {
///     fn num_states(&self) -> usize { self.0 }
///     fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
///         for (i, z) in z.iter_mut().enumerate() {
///             *z = stream.normal() + if t == 0 { 0.0 } else { previous[i] };
///         }
///     }
///     fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
///         for (i, out) in out.iter_mut().enumerate() {
///             *out = -0.5 * (z[i] - if t == 0 { 0.0 } else { previous[i] }).powi(2);
///         }
///     }
///     fn log_observations(&self, _: usize, _: &[f64], out: &mut [f64]) { out.fill(0.0) }
/// }
/// assert_eq!(Walk(3).log_density(&[1.0, 2.0, 4.0], &mut []), -3.0);
/// ```
pub trait StateSpace: LogDensity {
    /// The number of states of a path; at least one.
    fn num_states(&self) -> usize;

    /// The dimension of a state.
    fn state_dim(&self) -> usize {
        1
    }

    /// Draws `z_t ~ p(. | z_{t-1})` for each particle, to `z`.
    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]);

    /// Log transition density `log p(z_t | z_{t-1})` of each pair of states, written to `out`.
    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]);

    /// Log observation density `log p(x_t | z_t)` of each state, written to `out`.
    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]);

    /// `log p(z, x)` of a path: the sum of its log transition and log observation densities.
    fn log_path(&self, z: &[f64]) -> f64 {
        let dim = self.state_dim();
        assert_eq!(z.len(), self.num_states() * dim, "a path of states");
        (0..self.num_states()).fold(0.0, |sum, t| {
            let here = &z[t * dim..][..dim];
            let (mut prior, mut likelihood) = ([0.0], [0.0]);
            self.log_transitions(t, &z[t.saturating_sub(1) * dim..][..dim], here, &mut prior);
            self.log_observations(t, here, &mut likelihood);
            sum + (prior[0] + likelihood[0])
        })
    }
}

/// State-space model with scalar states and Gaussian transitions.
///
/// If a twisting function is the exponential of a quadratic, the twisted transition is normal again and can be drawn exactly.
pub trait GaussianDynamics: StateSpace {
    /// Writes the mean of `z_t` given each state in `previous`, and returns the variance, which does not depend on `previous`. At
    /// `t = 0`, every mean is that of the initial distribution.
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64;
}

/// Proposals of a particle filter for a state-space model `p`: transitions `q(z_t | z_{t-1})` and twisting functions `psi_t`.
///
/// The particles at time `t` approximate
///
/// ```text
/// intermediate target:  gamma_t(z_0 .. z_t) = p(z_0 .. z_t, x_0 .. x_{t-1}) psi_t(z_t)
/// ```
///
/// A twisting function takes the place of the likelihood of the observations still to come, `x_t` included; `psi_t(z) = p(x_t | z)`
/// gives the ordinary particle filter. The last target is the posterior whatever the twisting functions are (MSC, eqs. 13-14).
///
/// Particles have the layout of [`StateSpace`]: states one after the other; at `t = 0` predecessors are not read. The methods panic if
/// lengths differ.
pub trait PathProposal {
    /// Draws `z_t ~ q(. | z_{t-1})` for each particle and writes its log weight, the logarithm of
    /// `p(z_t | z_{t-1}) psi_t(z_t) / q(z_t | z_{t-1})`.
    fn propose_into(
        &mut self,
        t: usize,
        previous: &[f64],
        stream: &mut Stream,
        z: &mut [f64],
        log_weights: &mut [f64],
    );

    /// Log weight of each pair of states, the logarithm of `p(z_t | z_{t-1}) psi_t(z_t) / q(z_t | z_{t-1})`.
    fn log_weights(&mut self, t: usize, previous: &[f64], z: &[f64], log_weights: &mut [f64]);

    /// Log twisting function `log psi_t` of each state, written to `out`.
    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]);
}

/// Bootstrap filter (Gordon, Salmond & Smith 1993): it proposes from the model's own transitions, and the intermediate target
/// is the posterior given the observations up to `x_t`.
///
/// ```text
/// q(z_t | z_{t-1}) = p(z_t | z_{t-1}),   psi_t(z) = p(x_t | z)
/// ```
#[derive(Debug)]
pub struct Bootstrap<'a, P: ?Sized>(pub &'a P);

impl<P: StateSpace + ?Sized> PathProposal for Bootstrap<'_, P> {
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

/// A filter's proposals with the posterior given the observations up to `x_t` as intermediate target. So the twists shape
/// proposals but not weights.
///
/// The paper compares MSC with this sequential Monte Carlo method (MSC, section 4.3).
#[derive(Debug)]
pub struct Untwisted<'a, P: ?Sized, G: ?Sized> {
    /// The model.
    pub model: &'a P,
    /// The proposal whose states are drawn.
    pub proposal: &'a mut G,
}

impl<P: StateSpace + ?Sized, G: PathProposal + ?Sized> Untwisted<'_, P, G> {
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

impl<P: StateSpace + ?Sized, G: PathProposal + ?Sized> PathProposal for Untwisted<'_, P, G> {
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
