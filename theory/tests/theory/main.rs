//! Tests of claims, bounds and exact finite problems.

mod claims;
mod curves;
mod instances;
