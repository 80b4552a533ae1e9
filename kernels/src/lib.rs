//! Markov kernels: what moves points and leaves the target invariant.
//!
//! A kernel is an immutable config, [`Imh`], beside a small serialisable state, [`ImhState`]. It knows the
//! family only as a guide to propose from, so that the same code runs under any family, and under
//! a finite one along every branch of its decisions.
//!
//! Cached: the target's log density at the chains. Never cached: the guide's, for lambda moves between steps.
//!
//! Deliberately absent: averaging of scores, and anything that moves lambda.

mod imh;

pub use imh::{Acceptance, Imh, ImhInfo, ImhState};

mod adaptation;
mod elliptical;
mod gaussian_prior;
mod gradient_ensemble;
mod hmc;
mod leapfrog;
mod mala;
mod mass;
mod nuts;
mod rwm;
mod unguided;

pub use adaptation::{
    Accepts, Adaptation, DiagonalMass, DualAveraging, StepSize, Tunable, WindowAdaptation, warm_up,
};
pub use elliptical::{Elliptical, EllipticalInfo, EllipticalState};
pub use gaussian_prior::GaussianPrior;
pub use gradient_ensemble::GradientEnsemble;
pub use hmc::{Hmc, HmcInfo, Selection};
pub use leapfrog::Leapfrog;
pub use mala::Mala;
pub use mass::Mass;
pub use nuts::{Nuts, NutsInfo};
pub use rwm::{Rwm, RwmInfo, RwmState};
pub use unguided::Unguided;
