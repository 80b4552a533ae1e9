//! Score ascents with parts chosen by name.

mod climbing;
mod family;
mod method;
mod rule;

pub(crate) use climbing::Climbing;
