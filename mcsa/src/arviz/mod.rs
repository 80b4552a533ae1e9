//! Results in the format of ArviZ: a Zarr archive with the groups `posterior`, `sample_stats`, for separable targets `log_likelihood`,
//! and `observed_data`.

mod archive;
mod to_zarr;
mod zarr;

pub use archive::Archive;
pub use to_zarr::ToZarr;
pub use zarr::{Array, Group, write_archive};
