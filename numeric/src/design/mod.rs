//! Packed design matrix of a regression, for products with a few columns at a time.

/// Runs a kernel with every instruction set of the machine, each followed by a check.
#[doc(hidden)]
#[macro_export]
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
mod panels;
mod product;
mod pullback;
mod rows;

pub use panels::{Panels, View, pack_into, padded};
pub use rows::{Rows, RowsRef};

/// Number of rows in a panel: two registers of AVX-512, four of AVX2.
pub const ROWS: usize = 16;

/// Number of columns per pass over the matrix: ten chains are usual, and their sums fit in the registers of AVX-512.
pub const GROUP: usize = 10;

/// Number of rows of a minibatch whose products are held at once.
pub const MINIBATCH: usize = 256;
