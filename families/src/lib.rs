//! Families of distributions: maps `lambda -> q_lambda` with their scores.
pub mod conformance;
mod full_rank;
mod lanes;
mod link;
mod low_rank;
mod mean_field;
mod normal;
mod packed;
mod standard;
mod woodbury;

pub use full_rank::FullRank;
pub use link::Link;
pub use low_rank::LowRank;
pub use mean_field::MeanField;
