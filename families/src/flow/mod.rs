//! Normalising flows with an exact inverse.

pub(crate) mod network;
pub(crate) mod product;

pub use network::Activation;
