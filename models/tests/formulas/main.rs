//! What the regressions are, against formulas written out; what they do far out.

mod binary;
mod check;
mod gaussian_process;
mod linear;
mod network;
