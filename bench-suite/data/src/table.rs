//! Reader of data files: from bytes to checked columns.

use std::io::BufRead;

use super::form::{Form, shown};
use super::lines::Lines;
use super::{DataError, Entry};

/// Largest relative error of a sum of a user's file: known sums have 8 digits.
const SUM_TOLERANCE: f64 = 1e-6;

/// Columns of a file, in the order of the manifest, checked against all facts in the manifest.
///
/// Refused, with file, line and column: a wrong header, rows too short or too long, cells that are empty or not a finite
/// number, labels that are not codes, too few or too many rows, wrong counts of codes, columns that are unexpectedly constant
/// or unexpectedly not constant, wrong sums, rows in another order, changed signs, lines of more than a megabyte, a wrong
/// checksum. No input causes a panic.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    /// SHA-256 of the file.
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Column {
    Numbers(Vec<f64>),
    Words(Vec<String>),
}

impl Table {
    /// Reads a file in our own layout; `file` is its name in messages.
    ///
    /// # Errors
    /// If it differs from `entry`: see [`Table`].
    pub fn read(entry: &Entry, file: &str, reader: impl BufRead) -> Result<Self, DataError> {
        let table = Reading::new(entry, file).run(reader, Form::own)?;
        match &entry.sha256 {
            Some(expected) if *expected != table.sha256 => {
                Err(DataError::Changed { file: file.into(), expected: expected.clone(), found: table.sha256 })
            }
            _ => Ok(table),
        }
    }

    /// Reads a file in our own layout or in one in which the data set is published.
    ///
    /// # Errors
    /// If it differs from `entry`: see [`Table`].
    pub fn read_any(entry: &Entry, file: &str, reader: impl BufRead) -> Result<Self, DataError> {
        Reading::new(entry, file).run(reader, Form::any)
    }

    /// Numbers of the column at index `place` of the manifest; empty if it holds words.
    pub fn numbers(&self, place: usize) -> &[f64] {
        match self.columns.get(place) {
            Some(Column::Numbers(values)) => values,
            _ => &[],
        }
    }

    /// Words of the column at index `place` of the manifest; empty if it holds numbers.
    pub fn words(&self, place: usize) -> &[String] {
        match self.columns.get(place) {
            Some(Column::Words(values)) => values,
            _ => &[],
        }
    }

    /// Writes row `row` in our own layout; every number is read back bit for bit.
    pub(super) fn write_row(&self, row: usize, out: &mut impl std::io::Write) -> std::io::Result<()> {
        for (k, column) in self.columns.iter().enumerate() {
            let comma = if k == 0 { "" } else { "," };
            match column {
                Column::Numbers(values) => write!(out, "{comma}{}", values[row])?,
                Column::Words(values) => write!(out, "{comma}{}", values[row])?,
            }
        }
        writeln!(out)
    }
}

/// State of a table that is being read.
struct Reading<'a> {
    entry: &'a Entry,
    file: &'a str,
    columns: Vec<Column>,
    rows: usize,
}

type Recognise = fn(&Entry, &str, &str) -> Result<Form, DataError>;

impl<'a> Reading<'a> {
    fn new(entry: &'a Entry, file: &'a str) -> Self {
        let empty = |name: &String| match entry.is_text(name) {
            true => Column::Words(Vec::new()),
            false => Column::Numbers(Vec::new()),
        };
        Self { entry, file, columns: entry.columns.iter().map(empty).collect(), rows: 0 }
    }

    fn run(mut self, reader: impl BufRead, recognise: Recognise) -> Result<Table, DataError> {
        let mut lines = Lines::new(self.file, reader);
        let Some((number, first)) = lines.next()? else {
            return Err(DataError::file(self.file, "the file is empty"));
        };
        let form = recognise(self.entry, self.file, first)?;
        if form.starts_at_once {
            self.add(&form, number, first)?;
        }
        for _ in 0..form.skip {
            lines.next()?;
        }
        while let Some((number, line)) = lines.next()? {
            self.add(&form, number, line)?;
        }
        if self.rows < self.entry.rows {
            let problem = format!("{} rows, expected {}: is it whole?", self.rows, self.entry.rows);
            return Err(DataError::file(self.file, problem));
        }
        self.check_labels()?;
        self.check_constants()?;
        self.check_sums()?;
        Ok(Table { columns: self.columns, sha256: lines.sha256() })
    }

    /// Reads one line.
    fn add(&mut self, form: &Form, number: usize, line: &str) -> Result<(), DataError> {
        let fail = |problem: String| Err(DataError::line(self.file, number, problem));
        if self.rows == self.entry.rows {
            return fail(format!("more than {} rows", self.entry.rows));
        }
        let found = form.cells(line).count();
        if found != form.places.len() {
            return fail(format!("{found} values, expected {}", form.places.len()));
        }
        for (cell, place) in form.cells(line).zip(&form.places) {
            let Some(place) = *place else { continue };
            let name = &self.entry.columns[place];
            let is_target = self.entry.target.as_ref() == Some(name);
            let fail = |problem: String| DataError::cell(self.file, number, name, problem);
            match &mut self.columns[place] {
                Column::Words(_) if cell.is_empty() => return Err(fail("the cell is empty".into())),
                Column::Words(words) => words.push(cell.into()),
                Column::Numbers(numbers) => {
                    let value = match &form.positive {
                        Some(word) if is_target => f64::from(u8::from(cell == word)),
                        _ => value(cell, self.entry.fill.get(name)).map_err(fail)?,
                    };
                    if is_target && !self.entry.labels.is_empty() {
                        code(self.entry, value).map_err(fail)?;
                    }
                    numbers.push(value);
                }
            }
        }
        if let (Some((ones, _)), Some(Column::Numbers(labels))) = (form.counted, self.columns.last_mut()) {
            labels.push(f64::from(u8::from(self.rows < ones)));
        }
        self.rows += 1;
        Ok(())
    }

    fn numeric(&self) -> impl Iterator<Item = (&String, &[f64])> {
        let named = self.entry.columns.iter().zip(&self.columns);
        named.filter_map(|(name, column)| match column {
            Column::Numbers(numbers) => Some((name, numbers.as_slice())),
            Column::Words(_) => None,
        })
    }

    fn check_labels(&self) -> Result<(), DataError> {
        let Some((name, values)) = self.numeric().last().filter(|_| !self.entry.labels.is_empty()) else {
            return Ok(());
        };
        for label in &self.entry.labels {
            let found = values.iter().filter(|value| **value == label.code).count();
            if label.count.is_some_and(|count| count != found) {
                let (code, meaning, count) = (label.code, &label.meaning, label.count.unwrap_or(0));
                let problem = format!("label {code} ({meaning}) occurs {found} times, expected {count}");
                return Err(DataError::column(self.file, name, problem));
            }
        }
        Ok(())
    }

    fn check_constants(&self) -> Result<(), DataError> {
        for (name, values) in self.numeric().filter(|(_, values)| values.len() > 1) {
            let is_constant = values.iter().all(|value| *value == values[0]);
            let problem = match (is_constant, self.entry.constant.contains(name)) {
                (true, false) => format!("every value is {}; expected values that differ", values[0]),
                (false, true) => "the values differ; this column is known to be constant".into(),
                _ => continue,
            };
            return Err(DataError::column(self.file, name, problem));
        }
        Ok(())
    }

    fn check_sums(&self) -> Result<(), DataError> {
        for ((name, values), expected) in self.numeric().zip(&self.entry.sums) {
            let found: f64 = values.iter().map(|value| value.abs()).sum();
            if (found - expected).abs() > SUM_TOLERANCE * expected.abs() {
                let problem = format!(
                    "the absolute values sum to {found}, expected {expected}: another version of the set, or \
                     columns in another order"
                );
                return Err(DataError::column(self.file, name, problem));
            }
        }
        let rows = self.rows as f64;
        for ((name, values), expected) in self.numeric().zip(&self.entry.order) {
            let numbered = || values.iter().zip(1..).map(|(value, row)| value * f64::from(row) / rows);
            let (found, scale): (f64, f64) = (numbered().sum(), numbered().map(f64::abs).sum());
            if (found - expected).abs() > SUM_TOLERANCE * scale {
                let problem = format!(
                    "values times row numbers sum to {found}, expected {expected}: rows in another order, or signs turned"
                );
                return Err(DataError::column(self.file, name, problem));
            }
        }
        Ok(())
    }
}

/// Number in a cell.
fn value(cell: &str, fill: Option<&f64>) -> Result<f64, String> {
    match (cell.is_empty(), fill) {
        (true, Some(fill)) => return Ok(*fill),
        (true, None) => return Err("the cell is empty, expected a number".into()),
        _ => {}
    }
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!("{} is not finite", shown(cell))),
        Err(_) => Err(format!("{} is not a number", shown(cell))),
    }
}

/// Refuses a value that is not one of the codes.
fn code(entry: &Entry, value: f64) -> Result<(), String> {
    if entry.labels.iter().any(|label| label.code == value) {
        return Ok(());
    }
    let known = entry.labels.iter().map(|label| format!("{} ({})", label.code, label.meaning));
    Err(format!("label {value}, expected {}", known.collect::<Vec<_>>().join(" or ")))
}
