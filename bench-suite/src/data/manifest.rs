//! What is known of each data set.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// One data set, as `data/manifest.toml` describes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entry {
    /// Its name, which is also that of its file without `.csv`.
    pub name: String,
    /// What it is used for, which says what shape it is loaded in.
    pub kind: Kind,
    /// Rows without the header.
    pub rows: usize,
    /// The header.
    pub columns: Vec<String>,
    /// The column to predict, always the last.
    pub target: Option<String>,
    /// Columns that hold words.
    #[serde(default)]
    pub text: Vec<String>,
    /// The codes of the target; empty where it is measured.
    #[serde(default)]
    pub labels: Vec<Label>,
    /// Columns that are constant, known to be so.
    #[serde(default)]
    pub constant: Vec<String>,
    /// Columns with empty cells, known to be so, and what these are read as.
    #[serde(default)]
    pub fill: BTreeMap<String, f64>,
    /// SHA-256 of the file, for the sets that are carried.
    pub sha256: Option<String>,
    /// Who published the file.
    pub source: String,
    /// What to cite.
    pub citation: String,
    /// Whose it is, and what may be done with it.
    pub terms: String,
    /// What a user should know.
    #[serde(default)]
    pub note: String,
    /// Where a user gets it.
    #[serde(default)]
    pub obtain: String,
    /// What can stand in its place.
    pub stand_in: Option<StandIn>,
    /// Sum of the absolute values of each numeric column.
    #[serde(default)]
    pub sums: Vec<f64>,
    /// Sum of value times row number, from 1, over the number of rows, of each numeric column: other signs or another order of
    /// rows change it.
    #[serde(default)]
    pub order: Vec<f64>,
    /// Other forms in which a user's file may come.
    #[serde(default)]
    pub layouts: Vec<Layout>,
}

/// What a set is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Inputs and a label.
    Classification,
    /// Inputs and a measurement.
    Regression,
    /// Homes in counties: [`Radon`](super::Radon).
    Hierarchical,
    /// Levels over time: [`Series`](super::Series).
    Series,
    /// Effects with standard errors: [`Schools`](super::Schools).
    Schools,
}

/// A code of the target.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// The number in the file.
    pub code: f64,
    /// What it says.
    pub meaning: String,
    /// How often it occurs, where that is known.
    pub count: Option<usize>,
}

/// A form in which a user's file may come: `cells` values on each line, without a header.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// What the user has in hand.
    pub what: String,
    /// Values on a line.
    pub cells: usize,
    /// Lines before the first row.
    #[serde(default)]
    pub skip: usize,
    /// Whether blanks separate the values, not commas.
    #[serde(default)]
    pub blanks: bool,
    /// Values that are not read, counted from 0.
    #[serde(default)]
    pub ignore: Vec<usize>,
    /// Which value is the target, counted from 0; the last, if not said.
    pub target: Option<usize>,
    /// The word that stands for label 1; any other stands for 0.
    pub positive: Option<String>,
    /// No label on a line: the first line says how many rows of label 1 come first, then how many of label 0.
    #[serde(default)]
    pub counted: bool,
}

/// How a synthetic stand-in is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StandIn {
    /// Normal inputs, a smooth function of them with noise.
    SmoothRegression,
    /// 8 correlated inputs and 10 functions of them, a logistic label.
    Susy,
    /// 21 correlated inputs and 7 functions of them, a logistic label.
    Higgs,
    /// Heavy tails, and rows of -999.
    Miniboone,
    /// 10 measured inputs and two categories, a logistic label.
    Covtype,
    /// A Gaussian process on a grid.
    Precipitation,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    dataset: Vec<Entry>,
}

impl Entry {
    /// All sets, in the order of the manifest.
    pub(super) fn all() -> Vec<Self> {
        let manifest: Manifest = toml::from_str(include_str!("../../data/manifest.toml"))
            .expect("the manifest is part of the program, and a test reads it");
        manifest.dataset
    }

    /// Whether its file is part of the program.
    pub fn is_carried(&self) -> bool {
        self.sha256.is_some()
    }

    /// How many columns are numbers to predict from.
    pub fn inputs(&self) -> usize {
        self.columns.len() - self.text.len() - usize::from(self.target.is_some())
    }

    pub(super) fn is_text(&self, column: &str) -> bool {
        self.text.iter().any(|text| text == column)
    }

    /// The name of its file.
    pub fn file(&self) -> String {
        format!("{}.csv", self.name)
    }
}

impl Kind {
    /// The method of the catalogue that loads it.
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Classification | Self::Regression => "load",
            Self::Hierarchical => "radon",
            Self::Series => "series",
            Self::Schools => "schools",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Classification => "classification",
            Self::Regression => "regression",
            Self::Hierarchical => "hierarchical",
            Self::Series => "series",
            Self::Schools => "schools",
        })
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
            for layout in &entry.layouts {
                let read = layout.cells - layout.ignore.len() + usize::from(layout.counted);
                assert_eq!(read, entry.columns.len(), "{name}: {}", layout.what);
            }
        }
    }
}
