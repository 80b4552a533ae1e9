//! Reader of data files: from bytes to checked columns.

use std::io::BufRead;

use super::form::{Form, shown};
use super::lines::Lines;
use super::reservoir::Reservoir;
use super::tally::Tally;
use super::{DataError, Entry};

/// Columns of a file, in the order of the manifest, checked against all facts in the manifest.
///
/// Refused, with file, line and column: a wrong header, rows too short or too long, cells that are empty or not a finite
/// number, labels that are not codes, too few or too many rows, wrong counts of codes, columns that are unexpectedly constant
/// or unexpectedly not constant, wrong sums, rows in another order, changed signs, lines of more than a megabyte, a wrong
/// checksum. No input causes a panic.
///
/// All rows of a published file are checked; where the manifest keeps a subset, the rows of the subset are held: memory does not
/// grow with the file.
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
        let table = Reading::run(entry, file, reader, Form::own)?;
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
        Reading::run(entry, file, reader, Form::any)
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match column {
            Column::Numbers(values) => values.len(),
            Column::Words(values) => values.len(),
        })
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
    pub(super) fn write_row(
        &self,
        row: usize,
        out: &mut (impl std::io::Write + ?Sized),
    ) -> std::io::Result<()> {
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
    /// Number of rows so far, and of the file.
    rows: usize,
    all: usize,
    tally: Tally,
    /// Subset of a published file that is kept in place of all rows, and room for a row.
    reservoir: Option<Reservoir>,
    row: Vec<f64>,
}

type Recognise = fn(&Entry, &str, &str) -> Result<Form, DataError>;

impl<'a> Reading<'a> {
    fn new(entry: &'a Entry, file: &'a str, form: &Form) -> Self {
        let empty = |name: &String| match entry.is_text(name) {
            true => Column::Words(Vec::new()),
            false => Column::Numbers(Vec::new()),
        };
        let all = if form.is_published { entry.rows } else { entry.kept() };
        let subset = entry.subset.filter(|_| form.is_published);
        Self {
            entry,
            file,
            columns: entry.columns.iter().map(empty).collect(),
            rows: 0,
            all,
            tally: Tally::new(entry, all),
            reservoir: subset.map(|size| Reservoir::new(&entry.name, size)),
            row: Vec::new(),
        }
    }

    fn run(
        entry: &'a Entry,
        file: &'a str,
        reader: impl BufRead,
        recognise: Recognise,
    ) -> Result<Table, DataError> {
        let mut lines = Lines::new(file, reader);
        let Some((number, first)) = lines.next()? else {
            return Err(DataError::file(file, "the file is empty"));
        };
        let form = recognise(entry, file, first)?;
        let mut reading = Self::new(entry, file, &form);
        if form.starts_at_once {
            reading.add(&form, number, first)?;
        }
        for _ in 0..form.skip {
            lines.next()?;
        }
        while let Some((number, line)) = lines.next()? {
            reading.add(&form, number, line)?;
        }
        let Self { rows, all, .. } = reading;
        if rows < all {
            return Err(DataError::file(file, format!("{rows} rows, expected {all}: is it whole?")));
        }
        reading.tally.check(entry, file)?;
        Ok(Table { columns: reading.kept(), sha256: lines.sha256() })
    }

    /// Columns of all rows, or of the subset.
    fn kept(mut self) -> Vec<Column> {
        for row in self.reservoir.map(Reservoir::subset).into_iter().flatten() {
            for (column, value) in self.columns.iter_mut().zip(row) {
                if let Column::Numbers(numbers) = column {
                    numbers.push(value);
                }
            }
        }
        self.columns
    }

    /// Reads one line.
    fn add(&mut self, form: &Form, number: usize, line: &str) -> Result<(), DataError> {
        let fail = |problem: String| Err(DataError::line(self.file, number, problem));
        if self.rows == self.all {
            return fail(format!("more than {} rows", self.all));
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
                    let word = is_target.then(|| form.label(cell)).flatten();
                    let value = word.unwrap_or_else(|| value(cell, self.entry.fill.get(name)));
                    let value = value.map_err(fail)?;
                    if is_target && !self.entry.labels.is_empty() {
                        self.tally.add_label(code(self.entry, value).map_err(fail)?);
                    }
                    self.tally.add(place, self.rows + 1, value);
                    numbers.push(value);
                }
            }
        }
        let last = self.columns.len() - 1;
        if let (Some((ones, _)), Some(Column::Numbers(labels))) = (form.counted, self.columns.last_mut()) {
            let value = f64::from(u8::from(self.rows < ones));
            if !self.entry.labels.is_empty() {
                let fail = |problem| DataError::line(self.file, number, problem);
                self.tally.add_label(code(self.entry, value).map_err(fail)?);
            }
            self.tally.add(last, self.rows + 1, value);
            labels.push(value);
        }
        if let Some(reservoir) = &mut self.reservoir {
            self.row.clear();
            self.row.extend(self.columns.iter_mut().filter_map(|column| match column {
                Column::Numbers(numbers) => numbers.pop(),
                Column::Words(_) => None,
            }));
            reservoir.see(&self.row);
        }
        self.rows += 1;
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

/// Place of a label in the manifest; refuses a value that is not one of the codes.
fn code(entry: &Entry, value: f64) -> Result<usize, String> {
    entry.labels.iter().position(|label| label.code == value).ok_or_else(|| {
        let known = entry.labels.iter().map(|label| format!("{} ({})", label.code, label.meaning));
        format!("label {value}, expected {}", known.collect::<Vec<_>>().join(" or "))
    })
}
