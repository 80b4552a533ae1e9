//! Reader of data files: from bytes to checked columns.

use std::io::{BufRead, Read as _, Write};

use mcsa_core::counted;
use sha2::{Digest, Sha256};

use super::reservoir::Reservoir;
use super::{DataError, Entry, Layout};

/// Largest relative error of a sum of a user's file: known sums have 8 digits.
const SUM_TOLERANCE: f64 = 1e-6;

/// Columns of a file, in the order of the manifest, checked against all facts in the manifest.
///
/// Errors, with file, line and column, are: a wrong header, rows too short or too long, cells that are empty or not a finite
/// number, labels that are not codes, too few or too many rows, wrong counts of codes, columns that are unexpectedly constant
/// or unexpectedly not constant, wrong sums, rows in another order, changed signs, lines of more than a megabyte, a wrong
/// checksum. No input causes a panic.
///
/// All rows of a published file are checked; where the manifest keeps a subset, the rows of the subset are held: memory does not
/// grow with the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Numbers and words of each column, of which one is empty.
    columns: Vec<(Vec<f64>, Vec<String>)>,
    pub(super) rows: usize,
    /// SHA-256 of the file.
    pub sha256: String,
}

impl Table {
    /// Reads a file in our own layout; `file` is its name in messages.
    pub fn read(entry: &Entry, file: &str, reader: impl BufRead) -> Result<Self, DataError> {
        let table = Reading::run(entry, file, reader, Form::own)?;
        match &entry.sha256 {
            Some(expected) if *expected != table.sha256 => Err(DataError::of(
                file,
                format!(
                    "not the file that was verified: its SHA-256 is {}, expected {expected}; restore it (`git checkout -- \
                     bench-suite/data`)",
                    table.sha256
                ),
            )),
            _ => Ok(table),
        }
    }

    /// Reads a file in our own layout or in one in which the data set is published.
    pub fn read_any(entry: &Entry, file: &str, reader: impl BufRead) -> Result<Self, DataError> {
        Reading::run(entry, file, reader, Form::any)
    }

    /// Numbers of the column at index `place` of the manifest; empty if it holds words.
    pub fn numbers(&self, place: usize) -> &[f64] {
        self.columns.get(place).map_or(&[], |(numbers, _)| numbers)
    }

    /// Words of the column at index `place` of the manifest; empty if it holds numbers.
    pub fn words(&self, place: usize) -> &[String] {
        self.columns.get(place).map_or(&[], |(_, words)| words)
    }

    fn keep(&mut self, entry: &Entry, row: &[f64]) {
        self.rows += 1;
        for ((name, (numbers, _)), value) in entry.columns.iter().zip(&mut self.columns).zip(row) {
            if !entry.is_text(name) {
                numbers.push(*value);
            }
        }
    }

    /// Writes the rows in our own layout; every number is read back bit for bit.
    pub(super) fn write(&self, entry: &Entry, out: &mut (impl Write + ?Sized)) -> std::io::Result<()> {
        writeln!(out, "{}", entry.columns.join(","))?;
        for row in 0..self.rows {
            for (k, (numbers, words)) in self.columns.iter().enumerate() {
                let comma = if k == 0 { "" } else { "," };
                match numbers.get(row) {
                    Some(number) => write!(out, "{comma}{number}")?,
                    None => write!(out, "{comma}{}", words[row])?,
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// State of a table that is being read.
struct Reading<'a> {
    entry: &'a Entry,
    file: &'a str,
    table: Table,
    /// Numbers of rows so far, and of the file.
    rows: usize,
    all: usize,
    /// Facts about each column, and the number of rows with each label.
    facts: Vec<Facts>,
    labels: Vec<usize>,
    /// Subset of a published file that is kept in place of all rows.
    reservoir: Option<Reservoir>,
    /// Numbers of the last row.
    row: Vec<f64>,
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

impl<'a> Reading<'a> {
    fn run(
        entry: &'a Entry,
        file: &'a str,
        reader: impl BufRead,
        recognise: fn(&'a Entry, &str, &str) -> Result<Form<'a>, DataError>,
    ) -> Result<Table, DataError> {
        let mut lines = Lines::new(file, reader);
        let Some((number, first)) = lines.next()? else {
            return Err(DataError::of(file, "the file is empty"));
        };
        let form = recognise(entry, file, first)?;
        let subset = entry.subset.filter(|_| form.layout.is_some());
        let mut reading = Self {
            entry,
            file,
            table: Table { columns: vec![Default::default(); entry.columns.len()], ..Table::default() },
            rows: 0,
            all: if form.layout.is_some() { entry.rows } else { entry.kept() },
            facts: vec![Facts::default(); entry.columns.len()],
            labels: vec![0; entry.labels.len()],
            reservoir: subset.map(|size| Reservoir::new(&entry.name, size)),
            row: vec![0.0; entry.columns.len()],
        };
        match form.layout {
            Some(Layout { skip: 0, counted: false, .. }) => reading.add(&form, number, first)?,
            Some(layout) => {
                for _ in 1..layout.skip {
                    lines.next()?;
                }
            }
            None => {}
        }
        while let Some((number, line)) = lines.next()? {
            reading.add(&form, number, line)?;
        }
        let Self { rows, all, .. } = reading;
        if rows < all {
            return Err(DataError::of(file, format!("{rows} rows, expected {all}: is it whole?")));
        }
        reading.check()?;
        let Self { mut table, reservoir, .. } = reading;
        table.sha256 = lines.sha256();
        for row in reservoir.map(Reservoir::subset).into_iter().flatten() {
            table.keep(entry, &row);
        }
        Ok(table)
    }

    fn add(&mut self, form: &Form<'_>, number: usize, line: &str) -> Result<(), DataError> {
        let Self { entry, file, .. } = *self;
        if self.rows == self.all {
            return Err(DataError::line(file, number, format!("more than {} rows", self.all)));
        }
        let cells = cells(line, form.layout.is_some_and(|layout| layout.blanks));
        if cells.len() != form.places.len() {
            let problem = format!("{} values, expected {}", cells.len(), form.places.len());
            return Err(DataError::line(file, number, problem));
        }
        for (cell, place) in cells.into_iter().zip(&form.places) {
            let Some(place) = *place else { continue };
            let name = &entry.columns[place];
            let fail = |problem: String| DataError::cell(file, number, name, problem);
            if entry.is_text(name) {
                if cell.is_empty() {
                    return Err(fail("the cell is empty".into()));
                }
                self.table.columns[place].1.push(cell.into());
            } else {
                let word = if entry.target.as_ref() == Some(name) { form.label(cell) } else { None };
                let value = word.unwrap_or_else(|| value(cell, entry.fill.get(name)));
                self.row[place] = value.map_err(fail)?;
            }
        }
        let last = entry.columns.len() - 1;
        if let Some(ones) = form.ones {
            self.row[last] = f64::from(u8::from(self.rows < ones));
        }
        if !entry.labels.is_empty() {
            let fail = |problem| DataError::cell(file, number, &entry.columns[last], problem);
            self.labels[code(entry, self.row[last]).map_err(fail)?] += 1;
        }
        self.rows += 1;
        for (facts, value) in self.facts.iter_mut().zip(&self.row) {
            facts.add(*value, self.rows as f64, self.all as f64);
        }
        match &mut self.reservoir {
            Some(reservoir) => reservoir.see(&self.row),
            None => self.table.keep(entry, &self.row),
        }
        Ok(())
    }

    /// An error if the facts are not those of the manifest; sums are of published files and of files of all rows.
    fn check(&self) -> Result<(), DataError> {
        let Self { entry, file, .. } = *self;
        let column =
            |name: &str, problem: String| Err(DataError::of(&format!("{file}, column {name}"), problem));
        let last = entry.columns.last().map_or("", String::as_str);
        for (label, found) in entry.labels.iter().zip(&self.labels) {
            if let Some(count) = entry.count_among(label, self.rows).filter(|count| count != found) {
                let (code, meaning) = (label.code, &label.meaning);
                return column(
                    last,
                    format!("label {code} ({meaning}) occurs {found} times, expected {count}"),
                );
            }
        }
        let numeric = || entry.numeric().map(|(place, name)| (name, &self.facts[place]));
        for (name, facts) in numeric().filter(|_| self.rows > 1) {
            match (facts.differs, entry.constant.contains(name)) {
                (false, false) => {
                    let first = facts.first.unwrap_or(f64::NAN);
                    return column(name, format!("every value is {first}; expected values that differ"));
                }
                (true, true) => {
                    return column(name, "the values differ; this column is known to be constant".into());
                }
                _ => {}
            }
        }
        for (k, (name, facts)) in numeric().enumerate() {
            let version = "another version of the set, or columns in another order";
            let sum = |known: &f64| (facts.sum, *known, known.abs(), "the absolute values", version);
            let turned = "rows in another order, or signs turned";
            let order =
                |known: &f64| (facts.order, *known, facts.order_scale, "values times row numbers", turned);
            let known = entry.sums.get(k).map(sum).into_iter().chain(entry.order.get(k).map(order));
            for (found, known, scale, what, cause) in known {
                if (found - known).abs() > SUM_TOLERANCE * scale {
                    return column(name, format!("{what} sum to {found}, expected {known}: {cause}"));
                }
            }
        }
        Ok(())
    }
}

impl Facts {
    /// Adds the number of a row out of `rows`, numbered from 1.
    fn add(&mut self, value: f64, row: f64, rows: f64) {
        let numbered = value * row / rows;
        self.differs |= *self.first.get_or_insert(value) != value;
        self.sum += value.abs();
        self.order += numbered;
        self.order_scale += numbered.abs();
    }
}

fn value(cell: &str, fill: Option<&f64>) -> Result<f64, String> {
    if cell.is_empty() {
        return fill.copied().ok_or_else(|| "the cell is empty, expected a number".into());
    }
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!("{} is not finite", shown(cell))),
        Err(_) => Err(format!("{} is not a number", shown(cell))),
    }
}

/// Place of a label in the manifest; an error if it is not one of the codes.
fn code(entry: &Entry, value: f64) -> Result<usize, String> {
    entry.labels.iter().position(|label| label.code == value).ok_or_else(|| {
        let known = entry.labels.iter().map(|label| format!("{} ({})", label.code, label.meaning));
        format!("label {value}, expected {}", known.collect::<Vec<_>>().join(" or "))
    })
}

/// Layout of a file: mapping of its cells to columns.
struct Form<'a> {
    /// Index of the column of each cell; `None` for cells that are not read.
    places: Vec<Option<usize>>,
    /// Layout of a published file, which has all rows; `None` for our own.
    layout: Option<&'a Layout>,
    /// Number of rows with label 1, which come first, if lines carry no label.
    ones: Option<usize>,
}

impl<'a> Form<'a> {
    /// Our own layout: the header of the manifest, then one row per line. The error names the first column that differs.
    fn own(entry: &'a Entry, file: &str, header: &str) -> Result<Self, DataError> {
        let found: Vec<&str> = header.split(',').map(str::trim).collect();
        let columns = &entry.columns;
        match found.iter().zip(columns).position(|(found, name)| found != name) {
            Some(k) => {
                // A file with another number of columns is no data table, and nothing of it is shown.
                let is_table = found.len() == columns.len();
                let text = if is_table { shown(found[k]) } else { "something else".to_owned() };
                let problem = format!("the header says {text}, expected {}", columns[k]);
                Err(DataError::cell(file, 1, &(k + 1).to_string(), problem))
            }
            None if found.len() < columns.len() => {
                Err(DataError::cell(file, 1, &columns[found.len()], "missing in the header"))
            }
            None if found.len() > columns.len() => {
                let problem = format!("the header has {} columns, expected {}", found.len(), columns.len());
                Err(DataError::line(file, 1, problem))
            }
            None => Ok(Self { places: (0..columns.len()).map(Some).collect(), layout: None, ones: None }),
        }
    }

    /// Our own layout, or one in which the data set is published.
    fn any(entry: &'a Entry, file: &str, first: &str) -> Result<Self, DataError> {
        let own = match Self::own(entry, file, first) {
            Ok(own) => return Ok(own),
            Err(error) if entry.layouts.is_empty() => return Err(error),
            Err(_) => entry.columns.join(","),
        };
        if let Some(form) = entry.layouts.iter().find_map(|layout| Self::published(entry, layout, first)) {
            return Ok(form);
        }
        let known = |layout: &Layout| format!("{} values on a line ({})", layout.cells, layout.what);
        let known: Vec<String> = entry.layouts.iter().map(known).collect();
        let problem = format!(
            "{} by commas, {} by blanks; expected {}, or the header {}",
            counted(first.split(',').count(), "value"),
            first.split_ascii_whitespace().count(),
            known.join(", or "),
            shown(&own)
        );
        Err(DataError::line(file, 1, problem))
    }

    /// A published layout, if the first line fits it.
    fn published(entry: &Entry, layout: &'a Layout, first: &str) -> Option<Self> {
        let cells = cells(first, layout.blanks || layout.counted);
        let mut ones = None;
        if layout.counted {
            let counts: Vec<usize> = cells.iter().map(|cell| cell.parse()).collect::<Result<_, _>>().ok()?;
            let [count, _] = counts[..] else { return None };
            ones = Some(count);
        } else {
            // In a header no cell is a number; in a row, one cell may be a letter for the class.
            let is_header = cells.iter().all(|cell| cell.parse::<f64>().is_err());
            if cells.len() != layout.cells || is_header != (layout.skip > 0) {
                return None;
            }
        }
        let last = entry.columns.len() - 1;
        let target = layout.target.or_else(|| (0..layout.cells).rfind(|cell| !layout.ignore.contains(cell)));
        let mut inputs = 0..entry.columns.len();
        let place = |cell| match cell {
            cell if layout.ignore.contains(&cell) => None,
            cell if Some(cell) == target && !layout.counted => Some(last),
            _ => inputs.next(),
        };
        Some(Self { places: (0..layout.cells).map(place).collect(), layout: Some(layout), ones })
    }

    /// Label of a word; `None` if labels are numbers.
    fn label(&self, word: &str) -> Option<Result<f64, String>> {
        let Layout { positive, negative, .. } = self.layout?;
        let positive = positive.as_ref()?;
        let is_negative = negative.is_empty() || negative.iter().any(|known| known == word);
        Some(match (word == positive, is_negative) {
            (true, _) => Ok(1.0),
            (false, true) => Ok(0.0),
            (false, false) => {
                Err(format!("label {}, expected {positive} or {}", shown(word), negative.join(" or ")))
            }
        })
    }
}

fn cells(line: &str, has_blanks: bool) -> Vec<&str> {
    if has_blanks {
        line.split_ascii_whitespace().collect()
    } else {
        line.split(',').map(str::trim).collect()
    }
}

/// Text from a file, quoted and truncated.
fn shown(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return format!("{text:?}");
    }
    format!("{:?}..", text.chars().take(MOST).collect::<String>())
}

/// Largest length of a line in bytes: no table has a line of a megabyte, and the limit stops reading of devices without line
/// ends.
const LONGEST: u64 = 1 << 20;

/// Reads line by line, so that a file larger than memory can be checked.
///
/// Line endings of either kind, a byte order mark and empty lines at the end (also lines of commas alone, as written by
/// spreadsheets) are not part of a line. An empty line before another line is an error, as are bytes that are not UTF-8.
pub(super) struct Lines<'a, R> {
    pub(super) file: &'a str,
    reader: R,
    number: usize,
    bytes: Vec<u8>,
    sum: Sha256,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(file: &'a str, reader: R) -> Self {
        Self { file, reader, number: 0, bytes: Vec::new(), sum: Sha256::new() }
    }

    /// The next line with its number, counted from 1.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, DataError> {
        let mut empty = None;
        loop {
            self.bytes.clear();
            let read = (&mut self.reader).take(LONGEST + 1).read_until(b'\n', &mut self.bytes);
            let read = read.map_err(|error| DataError::of(self.file, format!("cannot be read: {error}")))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.bytes.len() as u64 > LONGEST {
                let problem =
                    format!("the line is longer than {LONGEST} bytes; a table has a row on each line");
                return Err(DataError::line(self.file, self.number, problem));
            }
            self.sum.update(&self.bytes);
            let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
            match (self.bytes.iter().all(blank), empty) {
                (true, None) => empty = Some(self.number),
                (true, Some(_)) => {}
                (false, None) => break,
                (false, Some(line)) => {
                    return Err(DataError::line(self.file, line, "the line is empty; take it out"));
                }
            }
        }
        let number = self.number;
        let line = std::str::from_utf8(&self.bytes)
            .map_err(|_| DataError::line(self.file, number, "not text in UTF-8"))?;
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        Ok(Some((number, line.trim_end_matches(['\n', '\r']))))
    }

    /// SHA-256 of all bytes read.
    pub(super) fn sha256(self) -> String {
        self.sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_they_may() {
        let mut lines = Lines::new("x", "\u{feff}a\r\nb\n\n ,,\n".as_bytes());
        assert_eq!(lines.next().unwrap(), Some((1, "a")));
        assert_eq!(lines.next().unwrap(), Some((2, "b")));
        assert_eq!(lines.next().unwrap(), None);
        let mut lines = Lines::new("x", &b"a\n\nb\n\xff\n"[..]);
        lines.next().unwrap();
        let message = lines.next().unwrap_err().to_string();
        assert_eq!(message, "x, line 2: the line is empty; take it out");
        assert_eq!(lines.next().unwrap_err().to_string(), "x, line 4: not text in UTF-8");
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::new("x", std::io::BufReader::new(std::io::repeat(0)));
        let error = lines.next().unwrap_err().to_string();
        assert_eq!(error, "x, line 1: the line is longer than 1048576 bytes; a table has a row on each line");
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // The one-block example of FIPS 180-2, appendix B.1.
        let mut lines = Lines::new("x", &b"abc"[..]);
        while lines.next().unwrap().is_some() {}
        assert_eq!(lines.sha256(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
