//! Tests of annealed paths, their surrogates and bounds, and of sparse Gaussian processes.

mod dais;
mod families;
mod fits;
mod kernels;
mod points;
mod replay;
mod sparse_gp;
mod surrogates;

/// Counter of allocations, for the laws of memory.
fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}
