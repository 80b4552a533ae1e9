//! Tables: pure functions from results to text and numbers. The comparison with published cells is made for every experiment by the
//! [`report`](crate::report). Here is the standard table; those of single experiments are in `experiments`.

mod standard;
mod written;

pub use standard::standard;
pub(crate) use standard::{Differences, metrics};
pub use written::Written;
pub(crate) use written::stand_ins;

use mcsa_diagnostics::quantile;

use crate::interval::binomial;
use crate::results::Results;

/// A table of text cells with its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
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

/// A cell; a dash if there is no value.
pub(crate) fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "–".to_owned())
}

/// A rate with its exact 90 % interval, in percent with some digits.
pub(crate) fn rate(count: usize, of: usize, digits: usize) -> String {
    let [low, high] = binomial(count, of, 0.9).map(|end| 100.0 * end);
    let share = 100.0 * count as f64 / of as f64;
    or_dash(
        (of > 0).then(|| format!("{count} of {of}: {share:.digits$} % [{low:.digits$}, {high:.digits$}]")),
    )
}

/// Median, also with infinities; NaN if there is no value or one is NaN.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    match values.iter().any(|value| value.is_nan()) || values.is_empty() {
        true => f64::NAN,
        // Interpolation between infinities would be NaN.
        false if values.iter().any(|value| value.is_infinite()) => {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        }
        false => quantile(&mut values, 0.5),
    }
}

/// Values by their keys, in the order in which the keys first occur.
pub(crate) fn in_groups<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Values without repeats, in the order in which they first occur.
pub(crate) fn distinct<K: PartialEq>(all: impl IntoIterator<Item = K>) -> Vec<K> {
    in_groups(all.into_iter().map(|key| (key, ()))).into_iter().map(|(key, _)| key).collect()
}

/// For experiments without tables in Rust that are in files of the user: the standard one if the file has none.
pub fn from_file(results: &Results) -> Vec<Table> {
    if results.experiment.tables.is_empty() { standard(results) } else { Vec::new() }
}

impl Table {
    /// A table; bars separate the titles of its columns.
    pub(crate) fn new(
        name: &str,
        title: impl Into<String>,
        head: &str,
        rows: Vec<Vec<String>>,
        note: impl Into<String>,
    ) -> Self {
        let head = head.split(" | ").map(str::to_owned).collect();
        Self { name: name.to_owned(), title: title.into(), head, rows, note: note.into() }
    }

    /// The table as CSV, every cell in quotes.
    pub fn csv(&self) -> String {
        let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
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
                for table in entry.tables(&results) {
                    assert!(!table.head.is_empty(), "{} {}", entry.file, table.name);
                    assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.name);
                    assert_eq!(table.csv().lines().count(), 1 + table.rows.len());
                }
                results.outcomes.clear();
            }
        }
    }

    /// Cells of small results, by hand.
    #[test]
    fn cells_are_those_of_the_definition() {
        let cells = |id: &str, preset, table: &str, name: &str, columns: &[&str], rows: fn(f64) -> Vec<_>| {
            let results = tests::results(id, preset, |task, replicate, _| {
                let variant = task.variant();
                let is_base = variant.ends_with(", 0 steps") || (variant.is_empty() && id.ends_with("ranks"));
                let mut values = rows(replicate as f64);
                values.push(("elbo", if is_base { 1.0 } else { 3.0 }));
                values
            });
            let all = tests::entry(id).tables(&results);
            let table = all.iter().find(|known| known.name == table).unwrap();
            let row = table.rows.iter().find(|row| row[..2].iter().any(|cell| cell == name)).unwrap();
            let place = |column: &&str| table.head.iter().position(|known| known == column).unwrap();
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

    /// Interpolation between infinities would be NaN; a value that is not known is not left out.
    #[test]
    fn medians_of_infinities() {
        assert_eq!(median([f64::INFINITY, 1.0, f64::INFINITY]), f64::INFINITY);
        assert_eq!(median([f64::INFINITY, 1.0, 2.0]), 2.0);
        assert!(median([f64::NAN, 1.0, 2.0]).is_nan() && median([]).is_nan());
    }
}
