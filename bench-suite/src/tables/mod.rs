//! Tables: pure functions from results to text and numbers. The comparison with published cells is made for every experiment
//! by the [`report`](crate::report). Here is the standard table; those of single experiments are in
//! `experiments`.

mod standard;
mod written;

pub use standard::standard;
pub(crate) use standard::{Differences, metrics};
pub use written::Written;
pub(crate) use written::stand_ins;

use crate::interval::binomial;
use crate::results::Results;

/// A table of text cells with its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Name, unique within the experiment.
    pub name: String,
    /// Title above the table.
    pub title: String,
    /// Titles of the columns.
    pub head: Vec<String>,
    /// Rows, each with as many cells as the head.
    pub rows: Vec<Vec<String>>,
    /// Note for the reader.
    pub note: String,
}

/// A rate with its exact 90 % interval, in percent with some digits.
pub(crate) fn rate(count: usize, of: usize, digits: usize) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    let [low, high] = binomial(count, of, 0.9).map(|end| 100.0 * end);
    let share = 100.0 * count as f64 / of as f64;
    format!("{count} of {of}: {share:.digits$} % [{low:.digits$}, {high:.digits$}]")
}

/// For experiments without tables.
pub fn none(_: &Results) -> Vec<Sheet> {
    Vec::new()
}

/// For experiments without tables in Rust that are in files of the user: the standard one if the file has none.
pub fn from_file(results: &Results) -> Vec<Sheet> {
    if results.experiment.tables.is_empty() { standard(results) } else { Vec::new() }
}

impl Sheet {
    /// The table as CSV, every cell in quotes.
    pub fn csv(&self) -> String {
        let line = |row: &Vec<String>| {
            let cells: Vec<String> =
                row.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            cells.join(",") + "\n"
        };
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::tests;
    use crate::experiment::PresetName;
    use crate::registry::REGISTRY;

    #[test]
    fn every_table_is_as_wide_as_its_head() {
        for entry in &REGISTRY {
            let mut results =
                Results::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| Vec::new());
            for _ in 0..2 {
                for sheet in entry.sheets(&results) {
                    assert!(!sheet.head.is_empty(), "{} {}", entry.file, sheet.name);
                    assert!(sheet.rows.iter().all(|row| row.len() == sheet.head.len()), "{}", sheet.name);
                    assert_eq!(sheet.csv().lines().count(), 1 + sheet.rows.len());
                }
                results.outcomes.clear();
            }
        }
    }

    /// Cells of small results, by hand.
    #[test]
    fn cells_are_those_of_the_definition() {
        let cells = |id: &str, preset, sheet: &str, name: &str, columns: &[&str], rows: fn(f64) -> Vec<_>| {
            let results = tests::results(id, preset, |task, replicate, _| {
                let variant = task.variant();
                let is_base = variant.ends_with(", 0 steps") || (variant.is_empty() && id.ends_with("ranks"));
                let mut values = rows(replicate as f64);
                values.push(("elbo", if is_base { 1.0 } else { 3.0 }));
                values
            });
            let all = tests::entry(id).sheets(&results);
            let sheet = all.iter().find(|known| known.name == sheet).unwrap();
            let row = sheet.rows.iter().find(|row| row[..2].iter().any(|cell| cell == name)).unwrap();
            let place = |column: &&str| sheet.head.iter().position(|known| known == column).unwrap();
            columns.iter().map(|column| row[place(column)].clone()).collect::<Vec<_>>()
        };
        use PresetName::{Default, Quick};
        let errors = |r| vec![("error", 0.1 * (1.0 + r))];
        let found = cells("msc/tab1-probit", Quick, "error", "EP", &["Data", "Ours", "Splits"], errors);
        assert_eq!(found, ["pima", "0.200 ± 0.100", "3"]);
        let printed = cells("msc/tab1-probit", Quick, "error", "EP", &["Printed"], errors);
        assert!(printed[0].starts_with("0.2") && printed[0].contains(" ± 0.0"), "{printed:?}");
        let rates = |r| vec![("log_z", r), ("log_z_error", 0.5)];
        let found =
            cells("msc/fig3-exchange-rates", Quick, "evidence", "cad", &["log Z, same filter"], rates);
        assert_eq!(found, ["1.00 ± 0.50 (fits 1.00)"]);
        let gains = ["ELBO, nats", "Gain in ELBO, nats", "Room, nats"];
        let latents = |name| {
            cells("sl-dais/tab5-local-latents", Quick, "gains", name, &gains, |_| vec![("log_z", 5.0)])
        };
        assert_eq!(latents("mean field"), ["1.0", "–", "4.00"]);
        assert_eq!(latents("integrated out"), ["3.0", "2.0", "2.00"]);
        let chains = |r| vec![("r_hat", 1.0 + 0.1 * r), ("bulk_ess", 100.0 - r)];
        let found = cells("sl-dais/fig2-ranks", Default, "chains", "HMCECS", &["R-hat", "Bulk ESS"], chains);
        assert_eq!(found, ["1.200", "98"]);
        let bound = |name| cells("sl-dais/fig2-ranks", Default, "metrics", name, &["ELBO, nats"], |_| vec![]);
        assert_eq!(bound("SL-DAIS 4"), ["2.00 [2.00, 2.00]"]);
        assert_eq!(bound("mean field"), ["1.00"]);
    }
}
