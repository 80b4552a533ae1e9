//! Tables: pure functions from results to words and numbers. That of published cells beside ours is made for every
//! experiment by the [`report`](crate::report); here are the others.

mod ancestor_weight;
mod bounds;
pub(crate) mod cost;
mod exchange_rates;
mod probit;
mod shapes;
pub(crate) mod taxonomy;

pub use ancestor_weight::ancestor_weight;
pub use bounds::bounds;
pub use cost::cost;
pub use exchange_rates::exchange_rates;
pub use probit::probit;
pub use shapes::shapes;
pub use taxonomy::taxonomy;

use crate::evidence::Evidence;

/// A table as words, with the name of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// The name, unique within the experiment.
    pub name: &'static str,
    /// What stands above it.
    pub title: String,
    /// What its columns are.
    pub head: Vec<String>,
    /// As many cells in each as in the head.
    pub rows: Vec<Vec<String>>,
    /// What a reader has to know.
    pub note: String,
}

/// No table.
pub fn none(_: &Evidence) -> Vec<Sheet> {
    Vec::new()
}

impl Sheet {
    /// As CSV, every cell in quotes.
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
            let mut evidence =
                Evidence::synthetic(entry.experiment().unwrap(), PresetName::Quick, |_, _, _| Vec::new());
            for _ in 0..2 {
                for sheet in (entry.tables)(&evidence) {
                    assert!(!sheet.head.is_empty(), "{} {}", entry.file, sheet.name);
                    assert!(sheet.rows.iter().all(|row| row.len() == sheet.head.len()), "{}", sheet.name);
                    assert_eq!(sheet.csv().lines().count(), 1 + sheet.rows.len());
                }
                evidence.outcomes.clear();
            }
        }
    }
}
