//! Results in the format of ArviZ: a Zarr archive with the groups `posterior`, `sample_stats` and, for separable targets,
//! `log_likelihood`.

mod archive;
mod zarr;

pub use archive::Archive;
