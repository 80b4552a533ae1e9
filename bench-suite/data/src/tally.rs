//! Facts about the columns of a file, checked after its last row.

use super::{DataError, Entry};

/// Largest relative error of a sum of a user's file: known sums have 8 digits.
const SUM_TOLERANCE: f64 = 1e-6;

/// Running facts about each column of numbers: memory does not grow with the rows.
pub(super) struct Tally {
    columns: Vec<Facts>,
    /// Number of rows with each label, in the order of the manifest.
    labels: Vec<usize>,
    /// Expected number of rows.
    rows: usize,
}

/// Facts about the numbers of one column.
#[derive(Debug, Clone, Default)]
struct Facts {
    first: Option<f64>,
    differs: bool,
    /// Sum of absolute values.
    sum: f64,
    /// Sum of values times row numbers over the number of rows, and that of their absolute values.
    order: f64,
    order_scale: f64,
}

impl Tally {
    /// Facts about no row yet, of `rows`.
    pub(super) fn new(entry: &Entry, rows: usize) -> Self {
        Self {
            columns: vec![Facts::default(); entry.columns.len()],
            labels: vec![0; entry.labels.len()],
            rows,
        }
    }

    /// Adds a number of the column at `place`; rows are numbered from 1.
    pub(super) fn add(&mut self, place: usize, row: usize, value: f64) {
        let (facts, numbered) = (&mut self.columns[place], value * row as f64 / self.rows as f64);
        facts.differs |= *facts.first.get_or_insert(value) != value;
        facts.sum += value.abs();
        facts.order += numbered;
        facts.order_scale += numbered.abs();
    }

    /// Adds a row with the label at this place of the manifest.
    pub(super) fn add_label(&mut self, place: usize) {
        self.labels[place] += 1;
    }

    /// Refuses a file whose facts are not those of the manifest; sums are of published files and of files of all rows.
    pub(super) fn check(&self, entry: &Entry, file: &str) -> Result<(), DataError> {
        let name = entry.columns.last().map_or("", String::as_str);
        for (label, found) in entry.labels.iter().zip(&self.labels) {
            if let Some(count) = entry.count_among(label, self.rows).filter(|count| count != found) {
                let (code, meaning) = (label.code, &label.meaning);
                let problem = format!("label {code} ({meaning}) occurs {found} times, expected {count}");
                return Err(DataError::column(file, name, problem));
            }
        }
        let numeric = || {
            let named = entry.columns.iter().zip(&self.columns);
            named.filter(|(name, _)| !entry.is_text(name))
        };
        for (name, facts) in numeric().filter(|_| self.rows > 1) {
            let problem = match (facts.differs, entry.constant.contains(name)) {
                (false, false) => {
                    let first = facts.first.unwrap_or(f64::NAN);
                    format!("every value is {first}; expected values that differ")
                }
                (true, true) => "the values differ; this column is known to be constant".into(),
                _ => continue,
            };
            return Err(DataError::column(file, name, problem));
        }
        for ((name, facts), expected) in numeric().zip(&entry.sums) {
            if (facts.sum - expected).abs() > SUM_TOLERANCE * expected.abs() {
                let problem = format!(
                    "the absolute values sum to {}, expected {expected}: another version of the set, or \
                     columns in another order",
                    facts.sum
                );
                return Err(DataError::column(file, name, problem));
            }
        }
        for ((name, facts), expected) in numeric().zip(&entry.order) {
            if (facts.order - expected).abs() > SUM_TOLERANCE * facts.order_scale {
                let problem = format!(
                    "values times row numbers sum to {}, expected {expected}: rows in another order, or signs turned",
                    facts.order
                );
                return Err(DataError::column(file, name, problem));
            }
        }
        Ok(())
    }
}
