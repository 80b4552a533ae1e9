//! Markov kernels: what moves points and leaves the target invariant.
//!
//! A kernel is an immutable config, [`Imh`], beside a small serialisable state, [`ImhState`]. It knows the
//! family only as a guide to propose from, so that the same code runs under any family, and under
//! a finite one along every branch of its decisions.
//!
//! * Proposing from the guide: [`Imh`], [`Cis`].
//! * One chain per datum: [`RandomScan`].
//! * Around the chain: [`Rwm`], [`Mala`], [`Hmc`], [`Nuts`], [`Elliptical`]; their warm-up is [`warm_up`].
//! * Along a path, with particles: [`ConditionalSmc`]; without a chain [`Smc`], [`FreshPaths`].
//! * Of kernels: [`Repeat`], [`Cycle`], [`Mixture`], [`DelayedAcceptance`].
//!
//! Cached: the target's log density at the chains. Never cached: the guide's, for lambda moves between steps.
//!
//! Deliberately absent: averaging of scores, and anything that moves lambda.

mod adaptation;
mod cis;
mod compose;
mod delayed_acceptance;
mod elliptical;
mod gaussian_prior;
mod gradient_ensemble;
mod hmc;
mod imh;
mod leapfrog;
mod mala;
mod mass;
mod nuts;
mod particles;
mod random_scan;
mod repeat;
mod rwm;
mod tally;
mod unguided;
mod weights;

pub use adaptation::{
    Accepts, Adaptation, DiagonalMass, DualAveraging, StepSize, Tunable, WindowAdaptation, warm_up,
};
pub use cis::{Cis, CisInfo, CisState};
pub use compose::{Composed, Cycle, Mixture};
pub use delayed_acceptance::{DelayedAcceptance, DelayedInfo, DelayedState};
pub use elliptical::{Elliptical, EllipticalInfo, EllipticalState};
pub use gaussian_prior::GaussianPrior;
pub use gradient_ensemble::GradientEnsemble;
pub use hmc::{Hmc, HmcInfo, Selection};
pub use imh::{Acceptance, Imh, ImhInfo, ImhState};
pub use leapfrog::Leapfrog;
pub use mala::Mala;
pub use mass::Mass;
pub use nuts::{Nuts, NutsInfo};
pub use particles::{
    Bootstrap, ConditionalSmc, ConditionalSmcInfo, FreshPaths, FreshPathsInfo, Lineage, PathKernel, Paths,
    Resampling, Smc, Untwisted,
};
pub use random_scan::{RandomScan, RandomScanInfo, RandomScanState, Restart};
pub use repeat::{Repeat, RepeatState};
pub use rwm::{Rwm, RwmInfo, RwmState};
pub use tally::Tally;
pub use unguided::Unguided;
