//! Regression models for binary labels, with logistic or probit link.

mod hierarchical;
mod likelihood;
mod link;
mod prediction;
mod regression;
mod scale_prior;

pub use hierarchical::HierarchicalLogistic;
pub(crate) use likelihood::Likelihood;
pub use link::{Link, Logistic, Probit};
pub use prediction::{log_odds_from_draws, log_odds_from_moments};
pub use regression::{BinaryRegression, LogisticRegression, ProbitRegression};
pub use scale_prior::ScalePrior;
