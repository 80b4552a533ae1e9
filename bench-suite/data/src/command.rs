//! The subcommand `data`: lists, shows, checks and imports data sets.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use mcsa_core::{Error, counted};

use super::{Catalogue, State};

/// List the data sets, show one, check them, or import a file.
///
/// A data set is carried (part of the program), imported (from a file of yours) or absent. Only the experiments on an absent
/// data set fail.
#[derive(Debug, Args)]
pub struct Command {
    /// Folder of imported files; by default the one that MCSA_DATA names, else `data`.
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// Print licence and citation of every data set on one page.
    #[arg(long)]
    pub terms: bool,
    /// Action; by default `list`.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Actions on data sets.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List all data sets with their state, and where to get those that are absent.
    List,
    /// Show all facts about one data set: columns, labels, source, citation, terms.
    Show {
        /// Name of the data set.
        name: String,
    },
    /// Load every data set that is present, or one, and check it against all known facts.
    Check {
        /// Name of the data set; by default all that are present.
        name: Option<String>,
    },
    /// Check a file of yours, and keep it in the folder: `import sml path/to/data.csv`.
    Import {
        /// Name of the data set.
        name: String,
        /// The file: as published (`show` lists the layouts that are read), or with the header of the data set. Not
        /// compressed; `gunzip -c HIGGS.csv.gz | .. import higgs /dev/stdin` unpacks on the way.
        file: PathBuf,
    },
}

impl Command {
    /// Runs the command and prints to `out`.
    ///
    /// # Errors
    /// If a data set is unknown or absent, a file does not have the required contents, or `out` cannot be written.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Error> {
        let catalogue = Catalogue::found(self.data.clone());
        let mut say = |text: &str| {
            let said = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            said.map_err(|error| Error::invalid(format!("cannot write: {error}")))
        };
        match &self.verb {
            None if self.terms => say(&catalogue.terms()),
            None | Some(Verb::List) => say(&catalogue.listing()),
            Some(Verb::Show { name }) => say(&catalogue.description(name)?),
            Some(Verb::Check { name: Some(name) }) => {
                catalogue.check(name)?;
                say(&format!("{name}: in order\n"))
            }
            Some(Verb::Check { name: None }) => {
                let mut faults = 0;
                for entry in catalogue.entries() {
                    let verdict = match catalogue.state(entry) {
                        State::Absent => "absent".to_string(),
                        _ => catalogue.check(&entry.name).map_or_else(
                            |error| {
                                faults += 1;
                                format!("FAULT: {error}")
                            },
                            |()| "in order".into(),
                        ),
                    };
                    say(&format!("{}: {verdict}\n", entry.name))?;
                }
                match faults {
                    0 => Ok(()),
                    _ => {
                        let sets = counted(faults, "data set");
                        Err(Error::invalid(format!("{sets} with other contents than stated")))
                    }
                }
            }
            Some(Verb::Import { name, file }) => {
                let place = catalogue.import(name, file)?;
                say(&format!("{name}: checked, and kept as {}\n", place.display()))
            }
        }
    }
}
