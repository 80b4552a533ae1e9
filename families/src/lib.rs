//! Families of distributions: maps `lambda -> q_lambda`, with the scores that Markov chain score ascent averages.
//!
//! A family is a config value (a dimension, a [`Link`]); lambda is one flat slice of unconstrained numbers. It can
//! evaluate a batch, draw one, and add weighted scores; Gaussians are also reparameterised, with their entropy. All
//! memory is lent, and what does not depend on the point (scales, logarithms, small factorisations) is computed once
//! per batch.
//!
//! | family | params | a score costs | its inclusive optimum |
//! |---|---|---|---|
//! | [`MeanField`] | `2 d` | `d` | the target's means and variances |
//! | [`LowRank`] | `(2 + r) d` | `r d` | no closed form |
//! | [`FullRank`] | `d + d (d + 1) / 2` | `d^2` | the target's mean and covariance |
//! | [`StudentT`], [`MultivariateT`] | as the Gaussians, and `nu` if learned | `d`, `d^2` | no closed form |
//! | [`GaussianMixture`] | `K (1 + 2 d)` | `K d` | many: labels can be swapped |
//! | [`Flow`], couplings or splines | those of its networks | a sweep forth and one back | no closed form |
//! | [`TwistedChain`], paths of a model | `2 T` | `T` | if the model is linear and Gaussian, the posterior |
//! | [`Atoms`] | one per atom | one per atom | the target's probabilities |
//! | [`Maf`], [`Iaf`] | `2 d` and the networks' | a pass and its way back; `Iaf`: `d` steps first | no closed form |
//! | [`PlanarFlow`], [`RadialFlow`] | `2 d + K (2 d + 1)`, `2 d + K (d + 2)` | `K d` | no closed form |
//! | [`Bnaf`] | `2 d` and the networks' | no score: it is known by its draws alone | - |
//!
//! Flows of the last three rows are [`Composed`] of bijections around a location and scale; all are
//! [`Pushforward`](mcsa::Pushforward)s and can be fitted to the exclusive divergence, as can any reparameterised family that is
//! [`Drawn`]. Inclusive training asks the proposal for its density where the chain is: a [`Family`](mcsa::Family) may be one, what is a
//! `Pushforward` only may not, and there it does not compile.
//!
//! [`Defence`] mixes a [`Tail`] into what a kernel proposes from, so that importance weights are bounded. A family
//! of [`Atoms`] lets [`mcsa::enumerate`] compute a kernel's transition matrix.
//!
//! A [`Flow`] is also a [`Pushforward`](mcsa::Pushforward), begins exactly at a Gaussian or a t, and goes to text and back bit for bit.
//!
//! [`Start`] says where a fit begins; [`Normal`] and [`kl_gaussian`] are the closed forms against which it is judged;
//! [`conformance`] holds the laws, for your families too.
//!
//! Deliberately absent: targets and transforms (a model lives on unconstrained space itself), natural gradients (an
//! optimiser's business), and as families flows whose inverse is iterative beyond one monotone scalar equation: whoever climbs the
//! score asks for log q at points that q did not draw.

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
