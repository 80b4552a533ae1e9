//! Differentiable annealed importance sampling (DAIS): short Hamiltonian chains from a Gaussian base towards a surrogate posterior.
//!
//! The base draws `z_0`. K Hamiltonian steps (half a drift, a kick, half a drift) move it along a path of densities. The log
//! ratio of the densities of this path forward and backward takes the place of `log q` in a lower bound of the log evidence
//! (SL-DAIS, Sec. 3 and Lemma 1).
//!
//! [`Annealed`] is the variational family, with unconstrained parameters and pathwise gradients by a hand-written reverse sweep.
//! [`Dais`] is one chain with constrained parameters, which replays a path and computes all its derivatives. The density that
//! guides a path is a [`Surrogate`](crate::Surrogate). [`SemiAnnealed`] has one path per datum, for models with local latents.

mod annealed;
mod base;
mod chain;
mod fixed;
mod semi;

pub use annealed::Annealed;
pub use base::Shape;
pub use chain::{Mass, Slope};
pub use fixed::{Dais, DaisGradient, DaisPath};
pub use semi::{SemiAnnealed, SemiPart};
