//! Laws of the regressions: derivatives are derivatives, a batch is its columns, no memory is asked for.

mod binary;
mod check;
mod gaussian_process;
mod linear;
mod network;
