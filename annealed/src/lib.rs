//! Differentiable annealed importance sampling with surrogate likelihoods (SL-DAIS): families, surrogates, bounds, and sparse
//! Gaussian processes.
//!
//! A path of K Hamiltonian steps leads from a Gaussian towards the posterior. It gives a lower bound of the log evidence, which
//! becomes tighter with K and has an exact gradient. If the whole likelihood guided the path, every step would cost all data. So
//! a surrogate likelihood of a few points guides it, and the bound itself is estimated from a minibatch.
//!
//! * Families: [`dais`].
//! * What guides a path: [`Surrogate`], in [`surrogate`].
//! * Bounds from minibatches: [`Minibatched`], also of models with local latents ([`LocalMinibatch`]) and of sparse processes with their
//!   parameters.
//! * Sparse Gaussian processes: [`SparseGaussianProcess`].
//!
//! ```
//! use mcsa_annealed::dais::{Annealed, Shape};
//! use mcsa_annealed::surrogate::LogisticSurrogate;
//! use mcsa_annealed::{Ascent, FlowElbo, Minibatched, Seed};
//! use mcsa_families::{Link, MeanField};
//! use mcsa_models::LogisticRegression;
//! use mcsa_optim::Adam;
//! let x = faer::Mat::from_fn(1000, 2, |i, k| if k == 0 { 1.0 } else { (i % 7) as f64 - 3.0 });
//! let y: Vec<f64> = (0..1000).map(|i| f64::from(u8::from(i % 7 > 2))).collect();
//! let target = LogisticRegression::new(x.as_ref(), &y, 1.0)?;
//! let surrogate = LogisticSurrogate::rand(x.as_ref(), &y, 20, 1.0, &mut Seed::new(1).stream(0, 0))?;
//! let psi = surrogate.initial();
//! let family = Annealed::new(surrogate, Shape::Diagonal, 4);
//! let base = MeanField::new(2).with_link(Link::Exp).at(&[0.0; 2], &[0.3; 2])?;
//! let start = family.at(&base, 0.05, &psi)?;
//! let (estimator, optimizer) = (Minibatched::new(50, FlowElbo::new(1)), Adam::new(0.01)?);
//! let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
//! let mut fit = ascent.start(start)?;
//! ascent.run(&mut fit, 100)?;
//! # Ok::<(), mcsa_core::Error>(())
//! ```
//!
//! Lengths or shapes that differ and indices out of range panic in methods that return no `Error`.
//!
//! Deliberately absent: other proposals along the path than Hamiltonian ones, and learned transitions.

pub mod dais;
mod local_latents;
mod minibatched;
mod sparse_gp;
pub mod surrogate;

pub use local_latents::LocalMinibatch;
pub use mcsa_core::{Error, Seed, from_fn};
pub use mcsa_estimators::{Ascent, Draws, FlowElbo, Run};
pub use minibatched::{Minibatched, Rows, draw_subset, seen_len};
pub use sparse_gp::{
    InducingCoordinates, SparseGaussianProcess, SparseMinibatch, SparsePosterior, SparseSurrogate,
};
pub use surrogate::{Along, PathPoint, Sizes, Surrogate};
