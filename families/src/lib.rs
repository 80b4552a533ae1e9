//! Families of distributions: maps `lambda -> q_lambda` with their scores.
mod atoms;
pub mod conformance;
mod lanes;
mod link;
mod mean_field;
mod normal;
mod softmax;
mod standard;

pub use atoms::Atoms;
pub use link::Link;
pub use mean_field::MeanField;
