//! Linear algebra in a fixed order of summation: the bits of a column do not depend on the columns beside it.
//!
//! A general matrix product chooses its blocks by shape and cannot promise that. Lengths that do not fit each other panic.
//!
//! * [`packed`]: lower triangular matrices packed by columns; [`few`]: the same for few dimensions, in registers.
//! * [`Triangle`]: solves with a lower triangular matrix for several right-hand sides.
//! * [`woodbury`]: inverse and determinant of a low-rank plus diagonal matrix.
//! * [`product`]: products of small dense matrices; [`staircase`]: products of masked ones.
//! * [`standard`]: sums and scores of densities with a location and scales.

pub mod few;
pub mod packed;
pub mod product;
pub mod staircase;
pub mod standard;
pub mod woodbury;

pub use packed::Triangle;
