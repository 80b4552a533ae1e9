//! Annealed paths: parts of their gap, both sides of the evidence, a comparison with chains, and clipped step sizes.

mod gaps;
mod race;
mod sides;
mod step_sizes;
mod titles;

pub(super) use gaps::figures as gaps;
pub(super) use race::figures as race;
pub(super) use sides::figures as sides;
pub(super) use step_sizes::{figures as step_sizes, tables as step_size_table};
