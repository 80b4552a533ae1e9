//! The papers. experiments, run, drawn and judged.

pub mod draw;
