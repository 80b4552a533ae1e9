//! Families of distributions: maps `lambda -> q_lambda` with their scores.
mod atoms;
pub mod conformance;
mod defensive;
mod dof;
mod full_rank;
mod gamma_ratio;
mod lanes;
mod link;
mod mean_field;
mod multivariate_t;
mod normal;
mod packed;
mod softmax;
mod standard;
mod student;
mod student_t;
mod tail;

pub use atoms::Atoms;
pub use defensive::{Defence, Defensive};
pub use dof::{Dof, Fixed, Learned};
pub use full_rank::FullRank;
pub use link::Link;
pub use mean_field::MeanField;
pub use multivariate_t::MultivariateT;
pub use student_t::StudentT;
pub use tail::Tail;
