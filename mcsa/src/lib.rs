//! Markov chain score ascent: fits a distribution `q_lambda` to a target density p by minimising the inclusive Kullback-Leibler
//! divergence `KL(p || q_lambda)`, with gradients that a Markov chain provides.
//!
//! ```text
//! d/dlambda KL(p || q_lambda) = -E_p[d/dlambda log q_lambda(z)],     estimated at the points of chains that leave p invariant
//! ```
//!
//! [`fit`] takes a posterior from starts to weighted draws and a verdict:
//!
//! ```
//! use mcsa::prelude::*;
//!
//! // Log odds of a coin that fell on heads six times in eight, under a standard normal prior; up to a constant.
//! let target = from_fn(1, |z| 6.0 * z[0] - 8.0 * z[0].exp().ln_1p() - 0.5 * z[0] * z[0]);
//! let fitted = mcsa::fit_density(&target, &mcsa::Options::seeded(1))?; // `mcsa::fit` if there is a gradient
//! println!("{fitted}");
//! # assert!((fitted.parameters[0].mean - 0.72).abs() < 0.05 && fitted.verdict.is_yes());
//! # Ok::<(), Error>(())
//! ```
//!
//! [`calibrate`] draws data from the prior of a model and fits them, and so tries whether answers with a yes are right on this model.
//!
//! The parts can be chosen one by one:
//!
//! ```
//! use mcsa::prelude::*;
//!
//! let target = from_fn(1, |z| 6.0 * z[0] - 8.0 * z[0].exp().ln_1p() - 0.5 * z[0] * z[0]);
//! let family = MeanField::new(1);
//! let (estimator, optimizer) = (pmcsa(10), Adam::new(0.002)?);
//! let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
//! let mut fit = ascent.start(family.at(&[0.0], &[1.0])?)?;
//! ascent.run(&mut fit, 4_000)?;
//!
//! let draws = ascent.draws(&fit, 4_000)?; // from q, weighted for p
//! let (mean, variance) = draws.moments();
//! println!("log odds {:.2} +- {:.2}, k-hat {:.2}", mean[0], variance[0].sqrt(), draws.shape);
//! # assert!((mean[0] - 0.72).abs() < 0.05 && (variance[0].sqrt() - 0.61).abs() < 0.05);
//! # Ok::<(), Error>(())
//! ```
//!
//! The modules are the crates of the workspace, under the names in the table. Each can be used alone; this crate adds the
//! fit in one call ([`posterior`]), the [`prelude`], and [`faer`] for matrices.
//!
//! | module | package | contents |
//! |---|---|---|
//! | [`core`] | `mcsa-core` | traits of targets, families, kernels, estimators, optimisers; random streams |
//! | [`models`] | `mcsa-models` | target densities with gradients |
//! | [`families`] | `mcsa-families` | variational families and normalising flows |
//! | [`kernels`] | `mcsa-kernels` | Markov kernels, and whole runs of NUTS or HMC |
//! | [`estimators`] | `mcsa-estimators` | gradient estimators, the optimisation loop, stopping rule, draws and health of a fit |
//! | [`annealed`] | `mcsa-annealed` | annealed paths with surrogate likelihoods (SL-DAIS), sparse Gaussian processes |
//! | [`numeric`] | `mcsa-numeric` | vectorised functions, linear algebra in a fixed order, quadrature |
//! | [`particles`] | `mcsa-particles` | state-space models, conditional SMC, score climbing of paths |
//! | [`optim`] | `mcsa-optim` | Adam and other optimisers; modes, Laplace and Pathfinder approximations |
//! | [`diagnostics`] | `mcsa-diagnostics` | k-hat, effective sample sizes, R-hat, Stein discrepancy |
//! | [`testing`] | `mcsa-testing` | tests of a kernel, a family or a model of one's own: invariance, exact transition matrices, conformance |
//! | [`theory`] | `mcsa-theory` | the papers' claims and bounds as checks, exact finite problems |
//!
//! These are the examples of this crate; `cargo run --release -p mcsa --example own_posterior` runs one of them:
//!
//! * `fit`: a fit in one call;
//! * `hierarchical_poisson`: a model without a gradient by hand;
//! * `own_posterior`: a posterior of one's own, from start to checked draws;
//! * `own_model`, `own_family`, `own_kernel`: a model, a family and a kernel of one's own;
//! * `nuts_rs`: a density and a step of another crate, `nuts-rs`;
//! * `sl_dais`: a fit from minibatches along annealed paths;
//! * `amortised`: an encoder learned with its model.

mod book;
mod calibration;
pub mod posterior;
pub mod prelude;

pub use calibration::{Calibration, CalibrationResult, Conclusion, Ranked, calibrate, calibrate_density};
pub use faer;
pub use mcsa_annealed as annealed;
pub use mcsa_core as core;
pub use mcsa_diagnostics as diagnostics;
pub use mcsa_estimators as estimators;
pub use mcsa_families as families;
pub use mcsa_kernels as kernels;
pub use mcsa_models as models;
pub use mcsa_numeric as numeric;
pub use mcsa_optim as optim;
pub use mcsa_particles as particles;
pub use mcsa_testing as testing;
pub use mcsa_theory as theory;
pub use posterior::{Candidate, Options, Posterior, compare, fit, fit_density};
