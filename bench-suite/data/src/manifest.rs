//! Manifest of the data sets: shape, source, terms and checksums.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::{DataError, Series, Table};

/// One data set, as described in `data/manifest.toml`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entry {
    /// Name, which is also the name of its file without `.csv`.
    pub name: String,
    /// Kind, which determines the method that loads it.
    pub kind: Kind,
    /// Number of rows without the header.
    pub rows: usize,
    /// The header.
    pub columns: Vec<String>,
    /// Column to predict, always the last.
    pub target: Option<String>,
    /// Columns that hold words.
    #[serde(default)]
    pub text: Vec<String>,
    /// Codes of the target; empty if it is measured.
    #[serde(default)]
    pub labels: Vec<Label>,
    /// Columns that are known to be constant.
    #[serde(default)]
    pub constant: Vec<String>,
    /// Columns that are known to have empty cells, with the value these are read as.
    #[serde(default)]
    pub fill: BTreeMap<String, f64>,
    /// SHA-256 of the file, for carried data sets.
    pub sha256: Option<String>,
    /// SHA-256 of the imported file behind archived results, for data sets that are not carried.
    pub archived: Option<String>,
    /// Publisher of the file.
    pub source: String,
    /// Work to cite.
    pub citation: String,
    /// Copyright and licence.
    pub terms: String,
    /// Note for the user.
    #[serde(default)]
    pub note: String,
    /// Instructions to obtain it.
    #[serde(default)]
    pub obtain: String,
    /// Synthetic stand-in.
    pub stand_in: Option<StandIn>,
    /// Code of a missing measurement.
    pub missing: Option<f64>,
    /// Sum of the absolute values of each numeric column.
    #[serde(default)]
    pub sums: Vec<f64>,
    /// Sum of value times row number, from 1, divided by the number of rows, for each numeric column: changed signs or
    /// another order of rows change it.
    #[serde(default)]
    pub order: Vec<f64>,
    /// Number of rows that an import keeps of a published file, with both labels in their shares; by default all.
    pub subset: Option<usize>,
    /// Other accepted layouts of a user's file.
    #[serde(default)]
    pub layouts: Vec<Layout>,
}

/// Kind of a data set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Inputs and a label: [`Dataset`](super::Dataset).
    Classification,
    /// Inputs and a measured target: [`Dataset`](super::Dataset).
    #[default]
    Regression,
    /// Measurements by county: [`Radon`](super::Radon).
    Hierarchical,
    /// Time series: [`Series`](super::Series).
    Series,
}

/// A code of the target.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Number in the file.
    pub code: f64,
    /// Meaning of the code.
    pub meaning: String,
    /// Number of rows with this code, if known.
    pub count: Option<usize>,
}

/// A layout of a user's file: `cells` values on each line, without a header.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Description of the layout.
    pub what: String,
    /// Number of values per line.
    pub cells: usize,
    /// Number of lines before the first row.
    #[serde(default)]
    pub skip: usize,
    /// True if values are separated by blanks instead of commas.
    #[serde(default)]
    pub blanks: bool,
    /// Indices of values that are not read, from 0.
    #[serde(default)]
    pub ignore: Vec<usize>,
    /// Index of the target, from 0; by default the last value.
    pub target: Option<usize>,
    /// Word for label 1.
    pub positive: Option<String>,
    /// Words for label 0; if there are none, any word but that for label 1.
    #[serde(default)]
    pub negative: Vec<String>,
    /// True if lines carry no label: the first line gives the number of rows with label 1, which come first, and the number
    /// with label 0.
    #[serde(default)]
    pub counted: bool,
}

/// Distribution of a synthetic stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StandIn {
    /// Normal inputs, target a smooth function of them with noise.
    SmoothRegression,
    /// 8 correlated inputs and 10 functions of them, logistic label.
    Susy,
    /// 21 correlated inputs and 7 functions of them, logistic label.
    Higgs,
    /// Heavy-tailed inputs, and rows of -999.
    Miniboone,
    /// 10 measured inputs and two categories, logistic label.
    Covtype,
    /// A Gaussian process on a grid.
    Precipitation,
    /// Levels whose log returns have a stochastic volatility.
    IndexLevels,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    dataset: Vec<Entry>,
}

impl Entry {
    /// All data sets, in the order of the manifest.
    pub(super) fn all() -> Vec<Self> {
        let manifest: Manifest = toml::from_str(include_str!("../manifest.toml"))
            .expect("the manifest is part of the program, and a test reads it");
        manifest.dataset
    }

    /// Returns true if the file is part of the program.
    pub fn is_carried(&self) -> bool {
        self.sha256.is_some()
    }

    /// Number of rows of its file in our own layout.
    pub fn kept(&self) -> usize {
        self.subset.unwrap_or(self.rows)
    }

    /// Number of rows with a label in a file of this number of rows, if known.
    pub(super) fn count_among(&self, label: &Label, rows: usize) -> Option<usize> {
        let count = label.count?;
        let ones = if label.code == 1.0 { count } else { self.rows.saturating_sub(count) };
        let ones = share_of(ones, self.rows, rows);
        Some(if label.code == 1.0 { ones } else { rows - ones })
    }

    /// Number of numeric columns to predict from.
    pub fn inputs(&self) -> usize {
        self.columns.len() - self.text.len() - usize::from(self.target.is_some())
    }

    /// Error of a method for another kind; it names the catalogue's method that loads this kind.
    pub(super) fn other_kind(&self) -> DataError {
        let method = match self.kind {
            Kind::Classification | Kind::Regression => "load",
            Kind::Hierarchical => "radon",
            Kind::Series => "series",
        };
        DataError::of(
            &self.name,
            format!("it has the kind `{}`: load it with `Catalogue::{method}`", self.kind),
        )
    }

    /// An error if a table does not have the contents of this kind of data set.
    pub(super) fn check(&self, table: &Table, file: &str) -> Result<(), DataError> {
        match self.kind {
            Kind::Series => Series::of(self, table, file).map(drop),
            _ => Ok(()),
        }
    }

    /// Names of the numeric columns, with their places among all columns.
    pub(super) fn numeric(&self) -> impl Iterator<Item = (usize, &String)> {
        self.columns.iter().enumerate().filter(|(_, name)| !self.is_text(name))
    }

    pub(super) fn is_text(&self, column: &str) -> bool {
        self.text.iter().any(|text| text == column)
    }

    /// Name of the file.
    pub fn file(&self) -> String {
        format!("{}.csv", self.name)
    }
}

/// Number of rows with label 1 among `rows`, if `ones` of `all` rows have it: rounded to the nearest.
pub(super) fn share_of(ones: usize, all: usize, rows: usize) -> usize {
    if rows == all { ones } else { (ones as f64 / all as f64 * rows as f64).round() as usize }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}").to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_agrees_with_itself() {
        let entries = Entry::all();
        for (k, entry) in entries.iter().enumerate() {
            let name = &entry.name;
            assert!(entries[..k].iter().all(|other| other.name != *name), "{name} twice");
            assert!(entry.target.is_none() || entry.target.as_ref() == entry.columns.last(), "{name}");
            let named = entry.text.iter().chain(&entry.constant).chain(entry.fill.keys());
            assert!(named.into_iter().all(|column| entry.columns.contains(column)), "{name}");
            let counts: Vec<usize> = entry.labels.iter().filter_map(|label| label.count).collect();
            assert!(counts.is_empty() || counts.iter().sum::<usize>() == entry.rows, "{name}");
            let numeric = entry.columns.len() - entry.text.len();
            assert!(entry.sums.is_empty() || entry.sums.len() == numeric, "{name}");
            assert!(entry.order.is_empty() || entry.order.len() == numeric, "{name}");
            assert!(entry.is_carried() == entry.obtain.is_empty(), "{name}: where does a user get it?");
            assert!(entry.labels.is_empty() == (entry.kind != Kind::Classification), "{name}");
            let is_whole = entry.subset.is_none_or(|kept| {
                kept < entry.rows && entry.kind == Kind::Classification && entry.text.is_empty()
            });
            assert!(is_whole && (entry.subset.is_none() || entry.sums.is_empty()), "{name}");
            for layout in &entry.layouts {
                assert_eq!(layout.positive.is_some(), !layout.negative.is_empty(), "{name}: {}", layout.what);
                let read = layout.cells - layout.ignore.len() + usize::from(layout.counted);
                assert_eq!(read, entry.columns.len(), "{name}: {}", layout.what);
            }
        }
    }
}
