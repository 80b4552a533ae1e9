//! Traits and shared types of Markov chain score ascent: targets, families, kernels, estimators, optimisers.
//!
//! Markov chain score ascent minimises the inclusive divergence `KL(p || q_lambda)` in lambda. Minus the gradient of the divergence
//! is the expected score, `E_p[d/dlambda log q_lambda(z)]`, and a Markov chain that leaves `p` invariant supplies the points at
//! which scores are averaged. This crate declares the parts of such a method and contains no algorithm:
//!
//! * Targets: [`LogDensity`], also from a closure ([`from_fn()`]), [`Gradient`], [`Curvature`],
//!   [`ExactDraws`]; with one likelihood term per datum [`Separable`], [`Subsampled`] and the [`Minibatch`];
//!   on all cores [`AllCores`].
//! * Variational families: [`Parametric`] with the subtraits [`Family`] and [`Reparameterised`], and
//!   [`Pushforward`] for distributions with samples and pathwise gradients, but no density at
//!   arbitrary points.
//! * Markov kernels: [`Kernel`], its [`ChainState`] of points, and the proposal distributions [`Proposal`].
//! * Gradient estimators and optimisers: [`Estimator`], [`Optimizer`].
//! * Random numbers: [`Seed`], [`Stream`], and the [`Script`] that enumerates discrete decisions.
//! * Diagnostics: [`Record`] and its [`Metric`]s, evaluation counts ([`Counted`]), and [`Error`].
//! * Numerics and storage: [`numeric`], [`bits`], [`Ensemble`], and whole files ([`file`](mod@file)).
//!
//! The words of these documents are explained in the glossary of the book, `docs/book/src/glossary.md`.
//!
//! # Conventions
//!
//! * A batch is a `d x N` column-major matrix; a column is a point, or a chain.
//! * Papers descend along `g = -E_p[score]`; every direction here is an ascent direction, `E_p[score]`.
//! * `-inf` is a log density outside the support. NaN is a fault of a model: kernels reject and count it.
//! * Lengths or shapes that differ and indices out of range panic in methods that return no [`Error`].
//! * The caller lends memory: `work_len(columns)` is the length that a method needs of its argument `work: &mut [f64]`.
//!
//! Deliberately absent: algorithms, formats of files, clocks, printing, global state, feature flags.

mod all_cores;
pub mod bits;
mod chacha;
mod config;
mod counted;
mod ensemble;
mod error;
mod estimator;
mod family;
pub mod file;
mod kernel;
mod named;
mod normal;
mod normal_table;
mod record;
mod script;
mod seed;
mod stream;
mod target;
mod whitened;

pub use all_cores::AllCores;
pub use config::{checksum, type_name};
pub use counted::{Counted, Counts, Evaluation};
pub use ensemble::Ensemble;
pub use error::{
    Error, all_finite, at_least_one, counted, finite_matrix, fits_in_memory, positive, same_length,
    square_fits_in_memory,
};
pub use estimator::{Estimator, Optimizer};
pub use family::{Backprop, Family, Parametric, Pushforward, Reparameterised, StepSizes};
pub use kernel::{ChainState, FamilyProposal, Kernel, Proposal};
pub use mcsa_numeric as numeric;
pub use mcsa_numeric::{Columns, ColumnsMut, batch, batch_mut, borrow, one};
pub use named::Named;
pub use record::{Metric, Record, Reduction};
pub use script::{Branch, Script, each_branch, enumerate};
pub use seed::{Address, Seed};
pub use stream::{Stream, each_column};
pub use target::{
    Curvature, ExactDraws, FromFn, Gradient, LogDensity, Minibatch, Part, Separable, Subsampled,
    WithGradient, from_fn,
};
pub use whitened::{AffineMap, Transport, Whitened, WhitenedProposal};
