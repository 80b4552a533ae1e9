//! Text output of the catalogue.

use std::fmt::Write;

use super::{Catalogue, Entry, State};

impl Catalogue {
    /// All data sets as a table, then instructions to obtain the absent ones.
    pub fn listing(&self) -> String {
        let widest = self.entries().iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        let mut text = format!("{:widest$}  state         rows  inputs  kind\n", "name");
        for entry in self.entries() {
            let state = match self.state(entry) {
                State::Carried => "carried",
                State::Imported(_) => "imported",
                State::Absent => "absent",
            };
            let (name, rows, inputs, kind) = (&entry.name, entry.rows, entry.inputs(), entry.kind);
            add(&mut text, format_args!("{name:widest$}  {state:8}  {rows:>8}  {inputs:>7}  {kind}"));
        }
        let absent = self.entries().iter().filter(|entry| self.state(entry) == State::Absent);
        let absent: Vec<&Entry> = absent.collect();
        if let (Some(first), Some(folder)) = (absent.first(), self.folder()) {
            add(
                &mut text,
                format_args!("\nAbsent; nothing needs these but the experiments on them. To import:"),
            );
            add(&mut text, format_args!("  cargo xtask data import {} FILE", first.name));
            add(
                &mut text,
                format_args!("  kept in {} (--data DIR or MCSA_DATA for another)", folder.display()),
            );
            for entry in absent {
                add(&mut text, format_args!("{}", entry.name));
                fold(&mut text, "", &entry.obtain, 4);
            }
        }
        add(&mut text, format_args!("\n`cargo xtask data show NAME` says more of one."));
        text
    }

    /// Terms and citation of every data set: first of those that travel with the program, then of those that a user brings.
    pub fn terms(&self) -> String {
        let mut text = String::from("Data are not under the licence of the code.\n");
        for (carried, heading) in [(true, "Carried with the program"), (false, "Brought by the user")] {
            add(&mut text, format_args!("\n{heading}"));
            for entry in self.entries().iter().filter(|entry| entry.is_carried() == carried) {
                fold(&mut text, "", &format!("{}: {}. {}.", entry.name, entry.terms, entry.citation), 4);
            }
        }
        text
    }

    /// All facts about one data set.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn description(&self, name: &str) -> Result<String, super::DataError> {
        let entry = self.entry(name)?;
        let mut text = format!("{name}: {}, {} rows, {} inputs\n", entry.kind, entry.rows, entry.inputs());
        let mut say = |what: &str, words: &str| fold(&mut text, what, words, 10);
        match self.state(entry) {
            State::Carried => say("state", "carried: part of the program"),
            State::Imported(path) => say("state", &format!("imported: {}", path.display())),
            State::Absent => say("state", "absent"),
        }
        say("header", &entry.columns.join(", "));
        if let Some(target) = &entry.target {
            say("target", target);
        }
        for label in &entry.labels {
            let count = label.count.map_or(String::new(), |count| format!(", {count} times"));
            say("label", &format!("{} = {}{count}", label.code, label.meaning));
        }
        let rest = [
            ("source", &entry.source),
            ("cite", &entry.citation),
            ("terms", &entry.terms),
            ("note", &entry.note),
            ("get it", &entry.obtain),
        ];
        for (what, words) in rest.into_iter().filter(|(_, words)| !words.is_empty()) {
            say(what, words);
        }
        if let Some(kept) = entry.subset {
            say(
                "keeps",
                &format!("{kept} random rows of a published file, with both labels in their shares"),
            );
        }
        for layout in &entry.layouts {
            say("reads", &layout.what);
        }
        if entry.stand_in.is_some() {
            say("stand-in", "synthetic, of the same shape: `Catalogue::stand_in`");
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
            add(text, format_args!("{}", line.trim_end()));
            line = " ".repeat(indent);
        }
        line.push_str(word);
        line.push(' ');
    }
    add(text, format_args!("{}", line.trim_end()));
}

fn add(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}"); // writing to a string cannot fail
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
