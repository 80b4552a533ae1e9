//! Models whose latent point is a path.

use faer::MatRef;

use crate::{Learnable, LogDensity, Stream};

/// A model of a path `z_0 .. z_{T-1}`, observed step by step:
///
/// ```text
/// p(z, x) = prod_t p(z_t | z_{t-1}) p(x_t | z_t),      p(z_0 | z_{-1}) meaning the initial law
/// ```
///
/// As a [`LogDensity`], a point is the whole path, state after state: its dimension is `num_states * state_dim`. The other
/// methods take particles: states of one time, one after the other, with their predecessors in the same order. At `t = 0`
/// predecessors are not read and may be empty. Where nothing is observed the observation's density is 1.
///
/// ```
/// use mcsa::{LogDensity, StateSpace, Stream};
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

    /// Draws `z_t ~ p(. | z_{t-1})` for each particle.
    ///
    /// # Panics
    /// If the lengths differ.
    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]);

    /// Writes `log p(z_t | z_{t-1})` of each pair.
    ///
    /// # Panics
    /// If the lengths differ.
    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]);

    /// Writes `log p(x_t | z_t)` of each state.
    ///
    /// # Panics
    /// If the lengths differ.
    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]);

    /// `log p(z, x)`, the sum of the parts.
    ///
    /// # Panics
    /// If `z` is no path.
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

/// A state-space model whose states are numbers, each normal given the one before. A quadratic factor of the density then
/// leaves it normal, which is what twisting needs.
pub trait GaussianDynamics: StateSpace {
    /// Writes the mean of `z_t` given each of `previous`, and returns the variance, which does not depend on these. At
    /// `t = 0`, every mean is that of the initial law.
    ///
    /// # Panics
    /// If the lengths differ.
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64;
}

/// A state-space model with parameters theta of its own.
///
/// Not a [`LearnableDensity`](crate::LearnableDensity) under another name: a particle method asks for the parts of the
/// density at every step of every path, and functions of theta such as `tanh` and `exp` should be found once per theta.
pub trait LearnableStateSpace: Learnable {
    /// The model at one theta.
    type At<'a>: StateSpace
    where
        Self: 'a;

    /// The model at `theta`, which has passed [`check_theta`](Learnable::check_theta).
    fn at(&self, theta: &[f64]) -> Self::At<'_>;

    /// The model at some theta: no length depends on it.
    fn anywhere(&self) -> Self::At<'_>;

    /// `gradient += sum_j weights[j] * d/dtheta log p_theta(z_j, x)`, a path per column of `z`.
    ///
    /// # Panics
    /// If the shapes differ.
    fn add_theta_gradients(&self, theta: &[f64], z: MatRef<'_, f64>, weights: &[f64], gradient: &mut [f64]);
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
