//! Families of distributions: maps `lambda -> q_lambda` with their scores.
pub mod conformance;
mod lanes;
mod link;
mod mean_field;
mod normal;
mod standard;

pub use link::Link;
pub use mean_field::MeanField;
