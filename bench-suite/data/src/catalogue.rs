//! Catalogue of all data sets, by name, with those that are part of the program.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use mcsa_core::Seed;

use super::{DataError, Dataset, Entry, Kind, Radon, Series, Table, synthetic};

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_bytes!(concat!("../", $name, ".csv")))),+]
    };
}

/// Name and contents of each carried file.
const FILES: [(&str, &[u8]); 17] = files![
    "pima",
    "german_credit_numeric",
    "heart_cleveland",
    "heart_cleveland_303",
    "heart_statlog",
    "sonar",
    "ionosphere",
    "breast_wdbc",
    "magic_gamma",
    "yacht",
    "concrete",
    "airfoil",
    "wine_red",
    "boston",
    "radon_mn",
    "fx_ecb_18",
    "eight_schools",
];

/// Contents of a carried file; `None` if there is none of this name.
fn carried(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

/// All data sets by name: those that are part of the program, and those in one folder.
///
/// ```
/// use mcsa_data::Catalogue;
/// let catalogue = Catalogue::new(None);
/// assert_eq!(catalogue.load("boston")?.rows(), 506);
/// let absent = catalogue.load("sml").unwrap_err();
/// assert!(absent.is_absent() && absent.to_string().contains("cargo xtask data import sml FILE"));
/// # Ok::<(), mcsa_data::DataError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Catalogue {
    entries: Vec<Entry>,
    folder: Option<PathBuf>,
    is_of_archive: bool,
}

/// Availability of a data set.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Part of the program.
    Carried,
    /// A file in the folder.
    Imported(PathBuf),
    /// Absent: the user has to obtain it.
    Absent,
}

impl Catalogue {
    /// Catalogue of carried data sets and of those in `folder`, each as `<name>.csv`. The folder need not exist.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { entries: Entry::all(), folder, is_of_archive: false }
    }

    /// Catalogue of the program: uses `folder` if given, else the one that `MCSA_DATA` names, else `data` below the current
    /// directory.
    pub fn found(folder: Option<PathBuf>) -> Self {
        let named = || std::env::var_os("MCSA_DATA").filter(|name| !name.is_empty()).map(PathBuf::from);
        Self::new(Some(folder.or_else(named).unwrap_or_else(|| PathBuf::from("data"))))
    }

    /// This catalogue for archived results, which are found without their data sets.
    #[must_use]
    pub fn of_archive(self) -> Self {
        Self { is_of_archive: true, ..self }
    }

    /// Digest of an absent data set behind archived results, if this catalogue is for these.
    pub fn archived_digest(&self, name: &str) -> Option<String> {
        self.entry(name).ok().filter(|_| self.is_of_archive)?.archived.clone()
    }

    /// Descriptions of all data sets.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Folder of imported files.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Description of one data set.
    ///
    /// # Errors
    /// If there is none of this name; the message suggests the closest name.
    pub fn entry(&self, name: &str) -> Result<&Entry, DataError> {
        self.entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let known = self.entries.iter().map(|entry| entry.name.as_str());
            let meant = did_you_mean(name, known);
            DataError::Unknown(format!("no data set {name:?}; {meant}`cargo xtask data` lists them"))
        })
    }

    /// Availability of a data set; looks for its file without reading it.
    pub fn state(&self, entry: &Entry) -> State {
        if entry.is_carried() {
            return State::Carried;
        }
        match self.place(entry).filter(|path| path.is_file()) {
            Some(path) => State::Imported(path),
            None => State::Absent,
        }
    }

    /// Loads a data set of inputs and a target.
    ///
    /// # Errors
    /// If there is no data set of this name, it is absent, its file does not have the required contents, or it has another
    /// shape.
    pub fn load(&self, name: &str) -> Result<Dataset, DataError> {
        let entry = self.entry(name)?;
        if !matches!(entry.kind, Kind::Classification | Kind::Regression) {
            return Err(entry.other_kind());
        }
        Ok(Dataset::of(entry, &self.table(entry)?.0))
    }

    /// Loads the radon measurements by county: `radon_mn`.
    pub fn radon(&self) -> Result<Radon, DataError> {
        Ok(Radon::of(&self.table(self.of_kind("radon_mn", Kind::Hierarchical)?)?.0))
    }

    /// Loads time series.
    pub fn series(&self, name: &str) -> Result<Series, DataError> {
        let entry = self.of_kind(name, Kind::Series)?;
        let (table, file) = self.table(entry)?;
        Series::of(entry, &table, &file)
    }

    /// Synthetic data of the shape of a data set, drawn from `seed`. With `rows` it has
    /// only that many rows; except for `wasp_precipitation_2010`, these equal the first rows of the full stand-in.
    ///
    /// # Errors
    /// If there is no data set of this name or no stand-in for it, or it cannot have that many rows.
    pub fn stand_in(&self, name: &str, rows: Option<usize>, seed: Seed) -> Result<Dataset, DataError> {
        synthetic::stand_in(self.entry(name)?, rows, seed)
    }

    /// Synthetic levels of the shape of a time series, drawn from `seed`.
    ///
    /// # Errors
    /// If there is no data set of this name or no stand-in of this kind for it.
    pub fn series_stand_in(&self, name: &str, seed: Seed) -> Result<Series, DataError> {
        synthetic::series(self.entry(name)?, seed)
    }

    /// Loads a data set of any kind, to check that this is possible.
    pub fn check(&self, name: &str) -> Result<(), DataError> {
        let entry = self.entry(name)?;
        let (table, file) = self.table(entry)?;
        entry.check(&table, &file)
    }

    fn of_kind(&self, name: &str, kind: Kind) -> Result<&Entry, DataError> {
        match self.entry(name)? {
            entry if entry.kind == kind => Ok(entry),
            entry => Err(entry.other_kind()),
        }
    }

    /// SHA-256 of the file of a data set; of the file behind archived results if there are some. The check of a table compares sums of its
    /// columns with those of that file, and an import writes the same values in another layout.
    pub fn digest(&self, name: &str) -> Result<String, DataError> {
        let entry = self.entry(name)?;
        let read = self.table(entry)?.0.sha256;
        Ok(entry.archived.clone().unwrap_or(read))
    }

    pub(super) fn place(&self, entry: &Entry) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(entry.file()))
    }

    /// Table of a data set, and the name of its file in messages.
    fn table(&self, entry: &Entry) -> Result<(Table, String), DataError> {
        if let Some(bytes) = carried(&entry.name) {
            let file = entry.file();
            return Ok((Table::read(entry, &file, bytes)?, file));
        }
        let State::Imported(path) = self.state(entry) else {
            let place = match self.place(entry) {
                Some(place) => format!("no file {}", place.display()),
                None => "no data folder: give --data DIR or set MCSA_DATA".to_owned(),
            };
            let Entry { name, obtain, .. } = entry;
            let more = entry.stand_in.map_or("", |_| " A synthetic stand-in of its shape exists.");
            let reason = format!(
                "the data set {name} is absent ({place}). Get it: {obtain}. Then `cargo xtask data import {name} FILE`.{more}"
            );
            return Err(DataError::Absent { reason, stand_in: entry.stand_in.is_some() });
        };
        let file = path.display().to_string();
        Ok((Table::read(entry, &file, open(&path)?)?, file))
    }
}

/// Opens a file for reading.
pub(super) fn open(path: &Path) -> Result<BufReader<File>, DataError> {
    let opened = File::open(path);
    let fail = |error| DataError::of(&path.display().to_string(), format!("cannot be opened: {error}"));
    opened.map(BufReader::new).map_err(fail)
}

/// `did you mean "NAME"? ` with the name that shares the most pairs of letters with `name` (Dice's coefficient, at least a third); empty if
/// none does.
pub fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let rated = known.map(|other| (strsim::sorensen_dice(name, other), other));
    let near = rated.filter(|(likeness, _)| *likeness >= 1.0 / 3.0);
    let closest = near.max_by(|a, b| a.0.total_cmp(&b.0));
    closest.map_or_else(String::new, |(_, other)| format!("did you mean {other:?}? "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carried sets are what was verified; every other one is absent, with what to do.
    #[test]
    fn every_set_is_whole_or_absent() {
        let catalogue = Catalogue::new(Some("no-such-folder".into()));
        let mut count = 0;
        for entry in catalogue.entries() {
            let found = catalogue.check(&entry.name);
            assert_eq!(entry.is_carried(), carried(&entry.name).is_some() && found.is_ok(), "{found:?}");
            count += usize::from(entry.is_carried());
            if let Err(error) = found {
                let text = error.to_string();
                assert!(error.is_absent() && text.contains("no-such-folder") && text.contains("Get it: "));
            }
        }
        assert_eq!(count, FILES.len());
    }

    #[test]
    fn a_wrong_name_or_method_is_answered_with_the_right_one() {
        let catalogue = Catalogue::new(None);
        for (name, said) in [
            ("pimma", "no data set \"pimma\"; did you mean \"pima\"? `cargo xtask data` lists them"),
            ("zzz", "no data set \"zzz\"; `cargo xtask data` lists them"),
            ("radon_mn", "radon_mn: it has the kind `hierarchical`: load it with `Catalogue::radon`"),
        ] {
            assert_eq!(catalogue.load(name).unwrap_err().to_string(), said);
        }
        assert!(catalogue.series("pima").is_err());
    }

    #[test]
    fn a_catalogue_of_the_archive_knows_digests_of_absent_data() {
        let (plain, archive) = (Catalogue::new(None), Catalogue::new(None).of_archive());
        assert!(archive.archived_digest("energy").is_some_and(|digest| digest.len() == 64));
        assert!(archive.digest("energy").unwrap_err().is_absent(), "it has no contents");
        for name in ["covtype", "nothing"] {
            assert_eq!(archive.archived_digest(name), None);
        }
        assert_eq!(plain.archived_digest("energy"), None);
    }

    /// An import in another layout has the digest of the file behind archived results. Counterexample: without such results it has its own.
    #[test]
    fn an_import_has_the_digest_of_the_archive() {
        let folder = std::env::temp_dir().join(format!("mcsa-data-digest-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("small.csv"), "a,y\n1.0,2\n3,4.50\n").unwrap();
        let head =
            "name = \"small\"\nkind = \"regression\"\nrows = 2\ncolumns = [\"a\", \"y\"]\ntarget = \"y\"\n";
        let rest = "source = \"\"\ncitation = \"\"\nterms = \"\"\n";
        let mut entry: Entry =
            toml::from_str(&format!("{head}{rest}archived = \"that of the archive\"\n")).unwrap();
        let of = |entry: &Entry| {
            let entries = vec![entry.clone()];
            Catalogue { entries, ..Catalogue::new(Some(folder.clone())) }.digest("small").unwrap()
        };
        assert_eq!(of(&entry), "that of the archive");
        entry.archived = None;
        assert_eq!(of(&entry).len(), 64);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
