//! Surrogate posteriors of annealed paths, and the points and weights that they start from.
//!
//! | surrogate | log likelihood | parameters |
//! |---|---|---|
//! | [`LogisticSurrogate`] | weighted sum over a few points | weights, covariates |
//! | [`NeuralSurrogate`] | network of two hidden layers | its weights |
//! | [`QuadraticSurrogate`] | `a . z - z^T B z / 2` | a, B |
//! | [`PosteriorSurrogate`] | that of the target: DAIS | none |
//! | [`MinibatchSurrogate`] | that of rows drawn once per path: NS-DAIS | none |
//!
//! [`LogisticSurrogate`] has one constructor for each ansatz of (SL-DAIS, Sec. 4) but the network. [`Coreset`], [`sensitivities`]
//! and [`Clusters`] choose points, and can be used alone.

mod ansatz;
mod clusters;
mod coreset;
mod counted;
mod logistic;
mod minibatch;
mod neural;
mod posterior;
mod quadratic;
mod sweep;
mod traits;

pub use clusters::{Clusters, seed_clusters};
pub use coreset::{Coreset, sensitivities};
pub use logistic::LogisticSurrogate;
pub use minibatch::MinibatchSurrogate;
pub use neural::NeuralSurrogate;
pub use posterior::PosteriorSurrogate;
pub use quadratic::QuadraticSurrogate;
pub use traits::Surrogate;
