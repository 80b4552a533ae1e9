//! Regression models against formulas written out, and their values at far points.

mod binary;
mod check;
mod gaussian_process;
mod linear;
mod network;
