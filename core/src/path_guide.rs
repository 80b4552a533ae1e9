//! What a particle method may know of a law of paths.

use crate::{Family, Stream};

/// How particles move and what they aim at on the way: steps `q(z_t | z_{t-1})` and twists `psi_t`, beside a state-space
/// model `p`.
///
/// ```text
/// intermediate target:  gamma_t(z_0 .. z_t) = p(z_0 .. z_t, x_0 .. x_{t-1}) psi_t(z_t)
/// ```
///
/// A twist stands for the observations that are still to come, `x_t` included; `psi_t(z) = p(x_t | z)` is the ordinary
/// filter. Whatever the twists, the last target is the posterior (MSC, eqs. 13-14).
///
/// Particles are passed as by [`StateSpace`](crate::StateSpace): states one after the other, predecessors not read at `t = 0`.
pub trait PathGuide {
    /// Draws `z_t` for each particle and writes the logarithm of `p(z_t | z_{t-1}) psi_t(z_t) / q(z_t | z_{t-1})`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn propose_into(
        &mut self,
        t: usize,
        previous: &[f64],
        stream: &mut Stream,
        z: &mut [f64],
        log_weights: &mut [f64],
    );

    /// Writes the logarithm of `p(z_t | z_{t-1}) psi_t(z_t) / q(z_t | z_{t-1})` of each pair.
    ///
    /// # Panics
    /// If the lengths differ.
    fn log_weights(&mut self, t: usize, previous: &[f64], z: &[f64], log_weights: &mut [f64]);

    /// Writes `log psi_t` of each state.
    ///
    /// # Panics
    /// If the lengths differ.
    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]);
}

impl<G: PathGuide + ?Sized> PathGuide for &mut G {
    fn propose_into(
        &mut self,
        t: usize,
        previous: &[f64],
        stream: &mut Stream,
        z: &mut [f64],
        log_weights: &mut [f64],
    ) {
        (**self).propose_into(t, previous, stream, z, log_weights);
    }
    fn log_weights(&mut self, t: usize, previous: &[f64], z: &[f64], log_weights: &mut [f64]) {
        (**self).log_weights(t, previous, z, log_weights);
    }
    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]) {
        (**self).log_twists(t, z, out);
    }
}

/// A family on paths whose members are Markov chains, so that particles can be drawn step by step.
pub trait ChainFamily: Family {
    /// The steps of `q_lambda`.
    type Guide<'a>: PathGuide
    where
        Self: 'a;

    /// Numbers of lent memory that a guide needs.
    fn guide_len(&self) -> usize;

    /// The steps of `q_lambda`, whose params have passed [`check`](Family::check).
    ///
    /// # Panics
    /// If the params have another length, or `work` is too short.
    fn guide<'a>(&'a self, params: &'a [f64], work: &'a mut [f64]) -> Self::Guide<'a>;
}

/// Chains that lean on a model, `q_{lambda, theta}`: when theta moves, they move too. Scores are those in lambda, at the theta
/// of the moment.
pub trait PathFamily<P: ?Sized>: Send + Sync {
    /// The family on one model.
    type On<'a>: ChainFamily
    where
        Self: 'a,
        P: 'a;

    /// The configuration in words, kept in checkpoints: a fit is resumed only where it is the same. Write `format!("{self:?}")`, or what
    /// says as much in fewer words; the default is the name of the type, which does not see its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// The family on this model.
    fn on<'a>(&'a self, model: &'a P) -> Self::On<'a>;
}
