//! Proposal distributions on paths, as particle methods see them: transition proposals and twisting functions.

use mcsa_core::{Family, Stream};

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
/// Particles have the layout of [`StateSpace`](crate::StateSpace): states one after the other; at `t = 0` predecessors are not
/// read.
pub trait PathGuide {
    /// Draws `z_t ~ q(. | z_{t-1})` for each particle and writes its log weight, the logarithm of
    /// `p(z_t | z_{t-1}) psi_t(z_t) / q(z_t | z_{t-1})`.
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

    /// Log weight of each pair of states, the logarithm of `p(z_t | z_{t-1}) psi_t(z_t) / q(z_t | z_{t-1})`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn log_weights(&mut self, t: usize, previous: &[f64], z: &[f64], log_weights: &mut [f64]);

    /// Log twisting function `log psi_t` of each state, written to `out`.
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

/// Variational family on paths that depends on the model, `q_{lambda, theta}`, such as chains that twist the model's transitions.
///
/// Its members are Markov chains, so that particles can be drawn state by state. When theta moves, the family changes with it;
/// scores are gradients in lambda at the present theta.
pub trait PathFamily<P: ?Sized>: Send + Sync {
    /// The family for a fixed model.
    type On<'a>: Family
    where
        Self: 'a,
        P: 'a;

    /// The proposals at each time, for a fixed model and lambda.
    type Proposal<'a>: PathGuide
    where
        Self: 'a,
        P: 'a;

    /// Text of the configuration, which a checkpoint stores; implement it as [`Parametric::config`](mcsa_core::Parametric::config).
    fn config(&self) -> String {
        mcsa_core::type_name::<Self>()
    }

    /// The family for `model`.
    fn on<'a>(&'a self, model: &'a P) -> Self::On<'a>;

    /// Length of the slice `work` that the proposals for `model` need.
    fn proposal_len(&self, model: &P) -> usize;

    /// The proposals of `q_lambda` for `model`. The caller has checked the params with [`check`](mcsa_core::Parametric::check).
    ///
    /// # Panics
    /// If the params have another length, or `work` is too short.
    fn proposal<'a>(&'a self, model: &'a P, params: &'a [f64], work: &'a mut [f64]) -> Self::Proposal<'a>;
}
