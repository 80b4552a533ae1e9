//! Variational families `lambda -> q_lambda`, with the scores `d/dlambda log q_lambda(z)` that score ascent averages.
//!
//! A family is a config value (a dimension, a [`Link`]); its parameters lambda are one flat slice of unconstrained numbers. A
//! family evaluates log densities of a batch, draws a batch, and adds weighted scores to a gradient; Gaussians are also
//! reparameterised, and have their entropy in closed form. The caller lends all memory, and quantities that do not depend on the
//! point (scales, logarithms, small factorisations) are computed once per batch.
//!
//! | family | number of parameters | cost of a score | minimiser of the inclusive divergence |
//! |---|---|---|---|
//! | [`MeanField`] | `2 d` | `d` | the target's means and variances |
//! | [`LowRank`] | `(2 + r) d` | `r d` | no closed form |
//! | [`FullRank`] | `d + d (d + 1) / 2` | `d^2` | the target's mean and covariance |
//! | [`StudentT`], [`MultivariateT`] | as the Gaussians, and `nu` if learned | `d`, `d^2` | no closed form |
//! | [`Mixture`] | `K (1 + n)`, with n those of a component | K components | many: labels can be swapped |
//! | [`Conditional`] | two Gaussians, `n_D n_C` slopes, a basis | `n_C^2`, or `n_C` in one basis for all | by draws and scores: [`fit_conditional`] |
//! | [`Flow`] | those of its layers | a forward and a backward sweep; inverse autoregressive: `d` steps first | no closed form |
//! | [`Bnaf`] | those of its networks | no score: log q is known at its own draws alone | - |
//! | [`Atoms`] | one per atom | one per atom | the target's probabilities |
//!
//! Flows with couplings, splines, autoregressive and block neural layers are one type, [`Flow`], on a Gaussian or a t. They
//! are [`Pushforward`](mcsa_core::Pushforward)s and can be fitted to the exclusive divergence KL(q || p), as can any reparameterised family wrapped in [`Drawn`]. Inclusive training evaluates the proposal density at the chain's state: a [`Family`](mcsa_core::Family)
//! provides it, a type that is only a `Pushforward` does not, and using one there does not compile.
//!
//! [`Defence`] mixes a heavy-tailed [`Tail`] into the proposal of a kernel, so that importance weights are bounded. A family
//! of [`Atoms`] lets [`mcsa_core::enumerate`] compute the transition matrix of a kernel.
//!
//! A [`Flow`] starts at a Gaussian or a t, and can be saved as text bit for bit.
//!
//! [`Start`] draws the initial parameters; [`Normal`] and [`kl_gaussian`] are the closed forms against which a Gaussian fit is
//! checked. The crate `mcsa-testing` tests families, also your own.
//!
//! [`MeanField`] and [`FullRank`] are determined by their moments, so natural-gradient steps are running means of moments
//! ([`MomentMatched`]). [`MultivariateT`], [`StudentT`], [`Mixture`] and [`LowRank`] take steps of online EM, which
//! for [`MultivariateT`] are a multiple of the natural gradient.
//!
//! Lengths or shapes that differ and indices out of range panic in methods that return no `Error`.
//!
//! The crate deliberately has no targets or transforms, because a model is defined on unconstrained space itself, and no natural
//! gradients of flows. A flow whose inverse is iterative beyond one monotone scalar equation is no family: score ascent needs log
//! q at points that q did not draw.

mod atoms;
mod conditional;
mod defensive;
mod flow;
mod full_rank;
mod gaussian;
mod law;
mod link;
mod location_scale;
mod low_rank;
mod mean_field;
mod mixture;
mod moments;
mod per_datum;
mod pushforward;
mod start;
mod student;

pub use atoms::Atoms;
pub use conditional::{
    Conditional, ConditionalFit, ConditionalMap, Degree, Parts, Probes, choose_drivers, fit_conditional,
    probe,
};
pub use defensive::{Defence, Defensive, Tail};
pub use flow::{
    Affine, Autoregressive, Base, BlockNeural, Bnaf, Coupling, CouplingMap, Flow, FlowConfig, Layer, Mask,
    Spline,
};
pub use full_rank::{FullRank, MultivariateT, Triangle};
pub use gaussian::{GaussianFamily, Normal, kl_gaussian};
pub use law::{Dof, Fixed, Gauss, KnownLaw, Law, Learned};
pub use link::Link;
pub use location_scale::{LocationScale, Shape};
pub use low_rank::LowRank;
pub use mcsa_core::{Error, Seed};
pub use mean_field::{Diagonal, MeanField, StudentT};
pub use mixture::Mixture;
pub use moments::MomentMatched;
pub use per_datum::{Amortised, BlockFamily, BlocksAt, PerDatum};
pub use pushforward::{Drawn, WithTheta};
pub use start::{Rho, Start};
