//! State-space models: targets whose latent point is a path `z_0 .. z_{T-1}`.

use mcsa_core::{LogDensity, Stream};

/// State-space model: a Markov chain of states `z_0 .. z_{T-1}` with one observation per state.
///
/// ```text
/// p(z, x) = prod_t p(z_t | z_{t-1}) p(x_t | z_t),      p(z_0 | z_{-1}) meaning the initial distribution
/// ```
///
/// For [`LogDensity`], a point is the whole path, state after state, of dimension `num_states * state_dim`. The methods of this
/// trait take particles: states of one time, one after the other, with their predecessors in the same order. At `t = 0`
/// predecessors are not read and may be empty. At a time without observation, the density of the observation is 1.
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
    ///
    /// # Panics
    /// If the lengths differ.
    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]);

    /// Log transition density `log p(z_t | z_{t-1})` of each pair of states, written to `out`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]);

    /// Log observation density `log p(x_t | z_t)` of each state, written to `out`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]);

    /// `log p(z, x)` of a path: the sum of its log transition and log observation densities.
    ///
    /// # Panics
    /// If `z` does not have length `num_states * state_dim`.
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
    ///
    /// # Panics
    /// If the lengths differ.
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64;
}

impl<P: StateSpace + ?Sized> StateSpace for &P {
    fn num_states(&self) -> usize {
        (**self).num_states()
    }
    fn state_dim(&self) -> usize {
        (**self).state_dim()
    }
    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        (**self).draw_states_into(t, previous, stream, z);
    }
    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        (**self).log_transitions(t, previous, z, out);
    }
    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        (**self).log_observations(t, z, out);
    }
}

impl<P: GaussianDynamics + ?Sized> GaussianDynamics for &P {
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64 {
        (**self).means_into(t, previous, means)
    }
}
