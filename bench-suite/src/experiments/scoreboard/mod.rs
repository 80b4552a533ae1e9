//! Scoreboard: errors of methods of inference at equal numbers of evaluations.

mod board;
mod dimensions;
mod figures;
mod reached;
mod tables;
#[cfg(test)]
mod tests;
mod warnings;

pub(crate) use board::Board;
pub(crate) use dimensions::{dimension_figures, dimension_tables, reach};
pub(crate) use figures::figures;
pub(crate) use reached::REACHED;
pub(crate) use tables::{evidence_tables, methods, tables, winners};
pub(crate) use warnings::{CHECKS, warning_tables};
