//! The subcommand `data`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use mcsa::Error;

use super::{Catalogue, State};

/// List the data sets, say more of one, check them, or import a file.
///
/// Sets are carried (part of the program), imported (a file you brought) or absent. Nothing fails because a set is
/// absent but the experiments on it.
#[derive(Debug, Args)]
pub struct Command {
    /// The folder of imported files; else the one MCSA_DATA names, else `data`.
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// What to do; to list, if not said.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// What to do with the data sets.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List all sets with their state, and where to get those that are absent.
    List,
    /// Say all that is known of one set: columns, labels, source, citation, terms.
    Show {
        /// The set.
        name: String,
    },
    /// Load every set that is there, or one, and check all that is known of it.
    Check {
        /// The set; all that are there, if not said.
        name: Option<String>,
    },
    /// Check a file you brought, and keep it in the folder: `import sml path/to/data.csv`.
    Import {
        /// The set.
        name: String,
        /// The file: as it is published (`show` says which forms are read), or with the set's header. Not packed.
        file: PathBuf,
    },
}

impl Command {
    /// Does it, telling `out`.
    ///
    /// # Errors
    /// If a set is unknown or absent, a file does not hold what it should, or `out` refuses.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Error> {
        let catalogue = Catalogue::found(self.data.clone());
        let mut say = |text: &str| {
            let said = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            said.map_err(|error| Error::invalid(format!("cannot write: {error}")))
        };
        match &self.verb {
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
                    _ => Err(Error::invalid(format!("{faults} sets do not hold what they should"))),
                }
            }
            Some(Verb::Import { name, file }) => {
                let place = catalogue.import(name, file)?;
                say(&format!("{name}: checked, and kept as {}\n", place.display()))
            }
        }
    }
}
