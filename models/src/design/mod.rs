//! Packed design matrix of a regression, for products with a few columns at a time.

/// Runs a kernel with every instruction set of the machine, each followed by a check.
#[cfg(test)]
macro_rules! on_every_backend {
    ($kernel:expr, $check:expr) => {{
        use pulp::Simd;
        Simd::vectorize(pulp::Scalar, $kernel);
        $check;
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = pulp::x86::V3::try_new() {
            Simd::vectorize(lanes, $kernel);
            $check;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = pulp::x86::V4::try_new() {
            Simd::vectorize(lanes, $kernel);
            $check;
        }
    }};
}
#[cfg(test)]
pub(crate) use on_every_backend;

mod panels;
mod product;
mod pullback;
mod rows;

pub(crate) use panels::{Panels, View, finite_matrix, pack_into, padded};
pub(crate) use rows::{Rows, RowsRef};

/// Number of rows in a panel: two registers of AVX-512, four of AVX2.
pub(crate) const ROWS: usize = 16;

/// Number of columns per pass over the matrix: ten chains are usual, and their sums fit in the registers of AVX-512.
pub(crate) const GROUP: usize = 10;

/// Number of rows of a minibatch whose products are held at once.
pub(crate) const MINIBATCH: usize = 256;
