//! Import of a user's file.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::{Catalogue, DataError, Entry, Kind, Radon, Series, Table};

impl Catalogue {
    /// Reads a user's file, checks it against all facts about the data set, and stores it in the folder in our own format, or a random
    /// subset of it with both labels in their shares if the manifest says so; returns the path. A file that fails a check is not stored, and an earlier file stays.
    ///
    /// # Errors
    /// If the data set is carried or unknown, no folder was given, the file fails a check, or the file cannot be written.
    pub fn import(&self, name: &str, file: &Path) -> Result<PathBuf, DataError> {
        let entry = self.entry(name)?;
        if entry.is_carried() {
            return Err(DataError::unusable(name, "part of the program; there is nothing to import"));
        }
        let Some(place) = self.place(entry) else {
            return Err(DataError::unusable(name, "no data folder: give --data DIR or set MCSA_DATA"));
        };
        let unwritable = |error: std::io::Error| {
            DataError::file(&place.display().to_string(), format!("cannot be written: {error}"))
        };
        mcsa_core::file::check(&place).map_err(unwritable)?;
        let shown = file.display().to_string();
        let opened = File::open(file);
        let opened = opened.map_err(|error| DataError::file(&shown, format!("cannot be opened: {error}")))?;
        let packed = shown.ends_with(".gz") || shown.ends_with(".zip") || shown.ends_with(".xlsx");
        let table = Table::read_any(entry, &shown, BufReader::new(opened)).map_err(|error| match error {
            error if packed => {
                DataError::file(&shown, format!("packed files are not read; unpack it first ({error})"))
            }
            error => error,
        })?;
        match entry.kind {
            Kind::Series => {
                let origin = super::Origin::Imported { path: place.clone(), sha256: table.sha256.clone() };
                Series::of(entry, &table, &shown, origin).map(drop)?;
            }
            Kind::Hierarchical => Radon::of(entry, &table, &shown).map(drop)?,
            Kind::Classification | Kind::Regression | Kind::Schools => {}
        }
        write(entry, &table, &place).map_err(unwritable)?;
        Ok(place)
    }
}

/// Writes the table row by row.
fn write(entry: &Entry, table: &Table, place: &Path) -> std::io::Result<()> {
    mcsa_core::file::write_with(place, |out| {
        writeln!(out, "{}", entry.columns.join(","))?;
        (0..table.rows()).try_for_each(|row| table.write_row(row, out))
    })
}
