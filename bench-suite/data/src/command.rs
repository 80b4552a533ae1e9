//! The subcommand `data`: lists, shows, checks and imports data sets.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mcsa_core::{Error, counted};

use super::catalogue::open;
use super::{Catalogue, DataError, Entry, State, Table};

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
        let mut print = |text: &str| {
            let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            printed.map_err(|error| Error::invalid(format!("cannot write: {error}")))
        };
        match &self.verb {
            None if self.terms => print(&catalogue.terms()),
            None | Some(Verb::List) => print(&catalogue.listing()),
            Some(Verb::Show { name }) => print(&catalogue.description(name)?),
            Some(Verb::Check { name: Some(name) }) => {
                catalogue.check(name)?;
                print(&format!("{name}: in order\n"))
            }
            Some(Verb::Check { name: None }) => {
                let mut faults = 0;
                for entry in catalogue.entries() {
                    let verdict = match (catalogue.state(entry), catalogue.check(&entry.name)) {
                        (State::Absent, _) => "absent".to_string(),
                        (_, Ok(())) => "in order".into(),
                        (_, Err(error)) => {
                            faults += 1;
                            format!("FAULT: {error}")
                        }
                    };
                    print(&format!("{}: {verdict}\n", entry.name))?;
                }
                let sets = counted(faults, "data set");
                let fault = || Error::invalid(format!("{sets} with other contents than stated"));
                if faults == 0 { Ok(()) } else { Err(fault()) }
            }
            Some(Verb::Import { name, file }) => {
                let place = catalogue.import(name, file)?;
                print(&format!("{name}: checked, and kept as {}\n", place.display()))
            }
        }
    }
}

impl Catalogue {
    /// Reads a user's file, checks it against all facts about the data set, and stores it in the folder in our own format, or a random
    /// subset of it with both labels in their shares if the manifest says so; returns the path. A file that fails a check is not stored,
    /// and an earlier file stays.
    ///
    /// # Errors
    /// If the data set is carried or unknown, no folder was given, the file fails a check, or the file cannot be written.
    pub fn import(&self, name: &str, file: &Path) -> Result<PathBuf, DataError> {
        let entry = self.entry(name)?;
        if entry.is_carried() {
            return Err(DataError::of(name, "part of the program; there is nothing to import"));
        }
        let Some(place) = self.place(entry) else {
            return Err(DataError::of(name, "no data folder: give --data DIR or set MCSA_DATA"));
        };
        let unwritable =
            |error| DataError::of(&place.display().to_string(), format!("cannot be written: {error}"));
        mcsa_core::file::check(&place).map_err(unwritable)?;
        let shown = file.display().to_string();
        let table = Table::read_any(entry, &shown, open(file)?).map_err(|error| {
            let is_packed = [".gz", ".zip", ".xlsx"].iter().any(|ending| shown.ends_with(ending));
            let problem = || format!("packed files are not read; unpack it first ({error})");
            if is_packed { DataError::of(&shown, problem()) } else { error }
        })?;
        entry.check(&table, &shown)?;
        mcsa_core::file::write_with(&place, |out| table.write(entry, out)).map_err(unwritable)?;
        Ok(place)
    }

    /// All data sets as a table, then instructions to obtain the absent ones.
    pub fn listing(&self) -> String {
        let widest = self.entries().iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        let mut text = format!("{:widest$}  state         rows  inputs  kind\n", "name");
        let mut absent: Vec<&Entry> = Vec::new();
        for entry in self.entries() {
            let state = match self.state(entry) {
                State::Carried => "carried",
                State::Imported(_) => "imported",
                State::Absent => {
                    absent.push(entry);
                    "absent"
                }
            };
            let (name, rows, inputs, kind) = (&entry.name, entry.rows, entry.inputs(), entry.kind);
            let _ = writeln!(text, "{name:widest$}  {state:8}  {rows:>8}  {inputs:>7}  {kind}");
        }
        if let (Some(first), Some(folder)) = (absent.first(), self.folder()) {
            let _ = writeln!(
                text,
                "\nAbsent; nothing needs these but the experiments on them. To import:\n  cargo xtask data import {} \
                 FILE\n  kept in {} (--data DIR or MCSA_DATA for another)",
                first.name,
                folder.display()
            );
            for entry in absent {
                let _ = writeln!(text, "{}", entry.name);
                fold(&mut text, "", &entry.obtain, 4);
            }
        }
        text + "\n`cargo xtask data show NAME` says more of one.\n"
    }

    /// Terms and citation of every data set: first of those that travel with the program, then of those that a user brings.
    pub fn terms(&self) -> String {
        let mut text = String::from("Data are not under the licence of the code.\n");
        for (carried, heading) in [(true, "Carried with the program"), (false, "Brought by the user")] {
            let _ = writeln!(text, "\n{heading}");
            for entry in self.entries().iter().filter(|entry| entry.is_carried() == carried) {
                fold(&mut text, "", &format!("{}: {}. {}.", entry.name, entry.terms, entry.citation), 4);
            }
        }
        text
    }

    /// All facts about one data set.
    pub fn description(&self, name: &str) -> Result<String, DataError> {
        let entry = self.entry(name)?;
        let state = match self.state(entry) {
            State::Carried => "carried: part of the program".to_owned(),
            State::Imported(path) => format!("imported: {}", path.display()),
            State::Absent => "absent".to_owned(),
        };
        let mut facts = vec![("state", state), ("header", entry.columns.join(", "))];
        facts.extend(entry.target.iter().map(|target| ("target", target.clone())));
        facts.extend(entry.labels.iter().map(|label| {
            let count = label.count.map_or(String::new(), |count| format!(", {count} times"));
            ("label", format!("{} = {}{count}", label.code, label.meaning))
        }));
        facts.extend([
            ("source", entry.source.clone()),
            ("cite", entry.citation.clone()),
            ("terms", entry.terms.clone()),
            ("note", entry.note.clone()),
            ("get it", entry.obtain.clone()),
        ]);
        facts.extend(entry.subset.map(|kept| {
            ("keeps", format!("{kept} random rows of a published file, with both labels in their shares"))
        }));
        facts.extend(entry.layouts.iter().map(|layout| ("reads", layout.what.clone())));
        let stand_in = || ("stand-in", "synthetic, of the same shape: `Catalogue::stand_in`".to_owned());
        facts.extend(entry.stand_in.map(|_| stand_in()));
        let mut text = format!("{name}: {}, {} rows, {} inputs\n", entry.kind, entry.rows, entry.inputs());
        for (what, words) in facts.iter().filter(|(_, words)| !words.is_empty()) {
            fold(&mut text, what, words, 10);
        }
        Ok(text)
    }
}

/// Appends `what` and then, indented by `indent`, words on lines that fit a terminal.
fn fold(text: &mut String, what: &str, words: &str, indent: usize) {
    const WIDTH: usize = 96;
    let mut line = format!("{what:indent$}");
    for word in words.split(' ') {
        if line.len() + word.len() > WIDTH && !line.trim().is_empty() {
            let _ = writeln!(text, "{}", line.trim_end());
            line = " ".repeat(indent);
        }
        line.push_str(word);
        line.push(' ');
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn every_set_has_its_line() {
        let catalogue = Catalogue::new(Some("no-such-folder".into()));
        let text = catalogue.listing();
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        let mut lines = text.lines().skip(1);
        for entry in catalogue.entries() {
            let line = lines.next().unwrap();
            assert!(line.starts_with(&entry.name) && line.contains(&entry.rows.to_string()), "{line}");
            assert!(line.contains(if entry.is_carried() { " carried " } else { " absent " }), "{line}");
            let said = catalogue.description(&entry.name).unwrap();
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(&entry.terms) && said.contains(&entry.citation), "{said}");
        }
        let terms = catalogue.terms();
        assert!(terms.lines().all(|line| line.len() <= 100), "{terms}");
        for entry in catalogue.entries() {
            assert_eq!(terms.matches(&format!("    {}: ", entry.name)).count(), 1, "{}", entry.name);
        }
        // Copies of UCI sets that came out of a GPL package are under UCI's terms.
        let copied =
            catalogue.entries().iter().filter(|entry| entry.is_carried() && entry.terms.contains("GPL"));
        assert!(copied.into_iter().all(|entry| entry.terms.starts_with("UCI Machine Learning Repository")));
        assert!(text.contains("sml\n    https://github.com/treforevans/uci_datasets"), "{text}");
    }
}
