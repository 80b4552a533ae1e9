//! The matrix of a regression, packed for products with a few columns at a time.

mod panels;
mod product;
mod pullback;

pub(crate) use panels::{Panels, finite_matrix};

/// Rows that stand together in a panel: two registers of AVX-512, four of AVX2.
pub(crate) const ROWS: usize = 16;

/// Columns that one pass over the matrix serves: ten chains are usual, and their sums fit in the registers of AVX-512.
pub(crate) const GROUP: usize = 10;
