//! State-space models, conditional sequential Monte Carlo, and score climbing of their paths.
//!
//! * Models: the traits [`StateSpace`] and [`GaussianDynamics`]; [`LinearGaussian`] with exact answers; stochastic volatility
//!   [`FxVolatility`].
//! * Kernels of paths: [`ConditionalSmc`] moves a path, [`FreshPaths`] draws one by a filter; [`Smc`] estimates the evidence.
//! * Proposals: [`PathProposal`]; [`Bootstrap`] from the model, [`Twisted`] learned.
//! * Score climbing: [`PathScore`], by [`msc_paths`] or [`smc_paths`]; [`JointPaths`] learns parameters of the model as well.
//!
//! ```
//! use mcsa_optim::Adam;
//! use mcsa_particles::{Ascent, Learnable, LinearGaussianSeries, PathScore, Seed, Twisted, msc_paths};
//! let series = LinearGaussianSeries::new((0..20).map(|t| (1.3 * f64::from(t)).sin()).collect())?;
//! let model = series.at(&[0.7, -0.3, 0.4]);
//! let estimator = PathScore { lanes: 4, ..msc_paths(10) }; // four paths, ten particles each
//! let optimizer = Adam::new(0.03)?;
//! let ascent = Ascent { target: &model, family: &Twisted, estimator, optimizer, seed: Seed::new(1) };
//! let mut fit = ascent.start(vec![0.0; 40])?; // two numbers per state
//! ascent.run(&mut fit, 100)?;
//! # Ok::<(), mcsa_core::Error>(())
//! ```
//!
//! Lengths or shapes that differ and indices out of range panic in methods that return no `Error`.
//!
//! Deliberately absent: particle smoothers and adaptive numbers of particles, which the method does not need.

mod fx;
mod linear_gaussian;
mod path_score;
mod resampling;
mod smc;
mod state_space;
mod swarm;
mod twisted;

pub use fx::{FirstState, FxStates, FxVolatility, Theta};
pub use linear_gaussian::{LinearGaussian, LinearGaussianSeries, Moments};
pub use mcsa_core::{Error, Seed, from_fn};
pub use mcsa_estimators::{Ascent, Draws, Run};
pub use mcsa_models::Learnable;
pub use path_score::{JointPaths, PathScore, msc_paths, smc_paths};
pub use resampling::Resampling;
pub use smc::{
    ConditionalSmc, ConditionalSmcInfo, FreshPaths, FreshPathsInfo, Lineage, PathKernel, Paths, Smc,
};
pub use state_space::{Bootstrap, GaussianDynamics, PathProposal, StateSpace, Untwisted};
pub use twisted::{Twisted, TwistedChain, TwistedSteps};
