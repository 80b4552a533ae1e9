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
//! | [`GaussianMixture`] | `K (1 + 2 d)` | `K d` | many: labels can be swapped |
//! | [`Flow`], couplings or splines | those of its networks | one forward and one backward sweep | no closed form |
//! | [`TwistedChain`], paths of a model | `2 T` | `T` | the posterior, if the model is linear and Gaussian |
//! | [`Atoms`] | one per atom | one per atom | the target's probabilities |
//! | [`Maf`], [`Iaf`] | `2 d` and those of the networks | a forward and a backward pass; `Iaf`: `d` steps first | no closed form |
//! | [`PlanarFlow`], [`RadialFlow`] | `2 d + K (2 d + 1)`, `2 d + K (d + 2)` | `K d` | no closed form |
//! | [`Bnaf`] | `2 d` and those of the networks | no score: log q is known at its own draws alone | - |
//!
//! The flows of the last three rows are compositions of bijections ([`Composed`]) with a location and scale at the end. They are
//! all [`Pushforward`](mcsa_core::Pushforward)s and can be fitted to the exclusive divergence KL(q || p), as can any reparameterised
//! family wrapped in [`Drawn`]. Inclusive training evaluates the proposal density at the chain's state: a [`Family`](mcsa_core::Family)
//! provides it, a type that is only a `Pushforward` does not, and using one there does not compile.
//!
//! [`Defence`] mixes a heavy-tailed [`Tail`] into the proposal of a kernel, so that importance weights are bounded. A family
//! of [`Atoms`] lets [`mcsa_core::enumerate`] compute the transition matrix of a kernel.
//!
//! A [`Flow`] is also a [`Pushforward`](mcsa_core::Pushforward), starts exactly at a Gaussian or a t, and can be saved as text bit for
//! bit.
//!
//! [`Start`] draws the initial parameters; [`Normal`] and [`kl_gaussian`] are the closed forms against which a Gaussian fit is
//! checked; [`conformance`] is a test suite for families, also for your own.
//!
//! Deliberately absent: targets and transforms (a model is defined on unconstrained space itself), natural gradients (a matter of
//! the optimiser), and, as families, flows whose inverse is iterative beyond one monotone scalar equation: score ascent needs log q
//! at points that q did not draw.

mod amortised;
mod atoms;
mod composed;
pub mod conformance;
mod defensive;
mod dof;
mod drawn;
mod flow;
mod full_rank;
mod gamma_ratio;
mod gaussian;
mod gaussian_mixture;
mod lanes;
mod link;
mod low_rank;
mod mean_field;
mod multivariate_t;
mod normal;
mod packed;
mod per_datum;
mod softmax;
mod standard;
mod start;
mod student;
mod student_t;
mod tail;
mod twisted;
mod woodbury;

pub use amortised::Amortised;
pub use atoms::Atoms;
pub use composed::{
    Autoregressive, Bijection, BlockLayer, BlockNeural, Bnaf, Composed, Iaf, Invertible, Maf, MaskedAffine,
    Planar, PlanarFlow, Radial, RadialFlow,
};
pub use defensive::{Defence, Defensive};
pub use dof::{Dof, Fixed, Learned};
pub use drawn::Drawn;
pub use flow::{
    Activation, Affine, Base, BaseConfig, Coupling, CouplingMap, FixedBase, Flow, FlowConfig, Gauss, Layer,
    Mask, Permutation, Spline,
};
pub use full_rank::FullRank;
pub use gaussian_mixture::GaussianMixture;
pub use link::Link;
pub use low_rank::LowRank;
pub use mean_field::MeanField;
pub use multivariate_t::MultivariateT;
pub use normal::{Gaussian, Normal, kl_gaussian};
pub use per_datum::PerDatum;
pub use start::{Rho, Start};
pub use student_t::StudentT;
pub use tail::Tail;
pub use twisted::{Twisted, TwistedChain, TwistedSteps};
