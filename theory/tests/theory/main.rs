//! Tests of the verification of kernels, and of the workspace's kernels by it.

mod annealed;
mod claims;
mod continuous;
mod curves;
mod dais;
mod enumeration;
mod errata;
mod families;
mod gradient_kernels;
mod instances;
mod mutations;
mod pairs;
mod particles;
mod targets;
