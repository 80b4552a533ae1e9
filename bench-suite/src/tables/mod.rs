//! Tables: pure functions from results to text and numbers. The comparison with published cells is made for every experiment
//! by the [`report`](crate::report). Here is the standard table; those of single experiments are in
//! `experiments`.

mod differences;
mod standard;
mod written;

pub(crate) use differences::Differences;
pub(crate) use standard::metrics;
pub use standard::standard;
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
}
