//! Scoreboard: errors of methods of inference at equal numbers of evaluations.

mod board;
mod figures;
mod tables;

pub(crate) use figures::figures;
pub(crate) use tables::tables;
