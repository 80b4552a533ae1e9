//! Archives of weighted draws and of fits in one call.

use std::path::Path;

use mcsa_core::{Error, LogDensity};
use mcsa_estimators::Draws;

use super::Archive;
use crate::fit::Fitted;

/// Results that can be written to a Zarr archive, which ArviZ opens with `from_zarr`.
///
/// ```
/// use mcsa::arviz::ToZarr;
/// # let path = std::env::temp_dir().join(format!("mcsa-doc-to-{}.zarr", std::process::id()));
/// let target = mcsa::models::EightSchools::non_centred();
/// let fitted = mcsa::fit(&target, &mcsa::fit::Options::seeded(1))?;
/// fitted.to_zarr(&target, &path)?;
/// fitted.draws.to_zarr(&target, &path)?; // the same points, without the verdict
/// # std::fs::remove_dir_all(&path).unwrap();
/// # Ok::<(), mcsa::prelude::Error>(())
/// ```
pub trait ToZarr {
    /// Writes points with equal weights to an archive, with the names of the target; [`Archive`] has choices.
    ///
    /// # Errors
    /// If all weights are zero, or the archive cannot be written.
    fn to_zarr(&self, target: &dyn LogDensity, path: impl AsRef<Path>) -> Result<(), Error>;
}

impl ToZarr for Draws {
    fn to_zarr(&self, target: &dyn LogDensity, path: impl AsRef<Path>) -> Result<(), Error> {
        Archive::of(self, target)?.write(path)
    }
}

impl ToZarr for Fitted {
    fn to_zarr(&self, target: &dyn LogDensity, path: impl AsRef<Path>) -> Result<(), Error> {
        Archive::of_fit(self, target)?.write(path)
    }
}
