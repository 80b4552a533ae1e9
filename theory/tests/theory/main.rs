//! Tests of claims, bounds and exact finite problems.

mod claims;
mod curves;
mod dais;
mod exact;
mod instances;
mod pairs;
