//! The verb `anchors`: writes cases for packages in other languages.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use mcsa_core::Error;
use mcsa_data::Catalogue;
use serde::Deserialize;

use super::Exit;
use crate::catalog::Case;
use crate::grid::{Entry, expand};
use crate::store::{check_folder, write_whole};
use crate::text;

/// Write the cases that packages in other languages are run on, one file of JSON each: data, test points with their densities, moments and quantiles.
#[derive(Debug, Clone, Args)]
pub struct Anchors {
    /// The list of cases.
    #[arg(long, value_name = "FILE", default_value = "bench-suite/anchors/cases.toml")]
    cases: PathBuf,
    /// Titles of the cases to write; all, if there is none.
    #[arg(long, value_name = "TITLE")]
    only: Vec<String>,
    /// Folder for the files.
    #[arg(long, value_name = "DIR", default_value = "target/anchors/cases")]
    out: PathBuf,
    /// Folder of imported data sets; default: the one that MCSA_DATA names, else `data`.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Entry>,
}

impl Anchors {
    /// Runs the verb.
    ///
    /// # Errors
    /// If the list cannot be read, a case cannot be built, or a file cannot be written.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        let place = |path: &Path, error: &dyn std::fmt::Display| {
            Error::invalid(format!("{}: {error}", path.display()))
        };
        let text = text::read(&self.cases)?;
        let cases: Cases = toml::from_str(&text).map_err(|error| place(&self.cases, &error))?;
        let catalogue = Catalogue::found(self.data.clone());
        check_folder(&self.out)?;
        let all = expand::<Case>("case", &cases.case)?;
        for title in &self.only {
            if all.iter().all(|placed| placed.value.title() != *title) {
                return Err(place(&self.cases, &format!("no case is called {title:?}")).into());
            }
        }
        for (number, placed) in all.into_iter().enumerate() {
            let case = placed.value;
            if !self.only.is_empty() && !self.only.contains(&case.title()) {
                continue;
            }
            let written = case.exported(&catalogue)?;
            let file = self.out.join(format!("{number:02}-{}.json", case.kind()));
            let text = serde_json::to_string(&written).map_err(|error| place(&file, &error))?;
            write_whole(&file, text.as_bytes())?;
            writeln!(out, "{}: {}", file.display(), case.title())?;
        }
        Ok(())
    }
}
