//! The papers. experiments, run, drawn and judged.
