//! Layout of a file: mapping of its cells to columns.

use mcsa_core::counted;

use super::{DataError, Entry, Layout};

/// Layout of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    /// Index of the column of each cell; `None` for cells that are not read.
    pub(super) places: Vec<Option<usize>>,
    /// True if cells are separated by blanks instead of commas.
    blanks: bool,
    /// Number of lines before the first row, not counting the one already read.
    pub(super) skip: usize,
    /// True if the first line is a row.
    pub(super) starts_at_once: bool,
    /// True for the layout of a published file, which has all rows.
    pub(super) is_published: bool,
    /// Word for label 1, and words for label 0; any other word if there are none.
    pub(super) words: Option<(String, Vec<String>)>,
    /// Number of rows with label 1, then with label 0, if lines carry no label.
    pub(super) counted: Option<(usize, usize)>,
}

impl Form {
    /// Our own layout: the header of the manifest, then one row per line. The error names the first column that differs.
    pub(super) fn own(entry: &Entry, file: &str, header: &str) -> Result<Self, DataError> {
        let found: Vec<&str> = header.split(',').map(str::trim).collect();
        for (k, name) in entry.columns.iter().enumerate() {
            match found.get(k) {
                Some(found) if found == name => {}
                Some(found) => {
                    // A file with another number of columns is no data table, and nothing of it is shown.
                    let is_table = header.split(',').count() == entry.columns.len();
                    let found = if is_table { shown(found) } else { "something else".to_owned() };
                    let problem = format!("the header says {found}, expected {name}");
                    return Err(DataError::cell(file, 1, &format!("{}", k + 1), problem));
                }
                None => return Err(DataError::cell(file, 1, name, "missing in the header")),
            }
        }
        if found.len() > entry.columns.len() {
            let problem = format!("the header has {} columns, expected {}", found.len(), entry.columns.len());
            return Err(DataError::line(file, 1, problem));
        }
        let places = (0..entry.columns.len()).map(Some).collect();
        let (is_published, words, counted) = (false, None, None);
        Ok(Self { places, blanks: false, skip: 0, starts_at_once: false, is_published, words, counted })
    }

    /// Our own layout, or one in which the data set is published.
    pub(super) fn any(entry: &Entry, file: &str, first: &str) -> Result<Self, DataError> {
        let own = match Self::own(entry, file, first) {
            Ok(own) => return Ok(own),
            Err(error) if entry.layouts.is_empty() => return Err(error),
            Err(_) => entry.columns.join(","),
        };
        if let Some(form) = entry.layouts.iter().find_map(|layout| Self::published(entry, layout, first)) {
            return Ok(form);
        }
        let known: Vec<String> = entry
            .layouts
            .iter()
            .map(|layout| format!("{} values on a line ({})", layout.cells, layout.what))
            .collect();
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
    fn published(entry: &Entry, layout: &Layout, first: &str) -> Option<Self> {
        let mut form = Self {
            places: Vec::new(),
            blanks: layout.blanks,
            skip: layout.skip.saturating_sub(1),
            starts_at_once: layout.skip == 0,
            is_published: true,
            words: layout.positive.clone().map(|positive| (positive, layout.negative.clone())),
            counted: None,
        };
        if layout.counted {
            let counts: Vec<usize> =
                first.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
            let [ones, zeros] = counts[..] else { return None };
            (form.counted, form.starts_at_once) = (Some((ones, zeros)), false);
        } else {
            let cells: Vec<&str> = form.cells(first).collect();
            // In a header no cell is a number; in a row, one cell may be a letter for the class.
            let is_header = cells.iter().all(|cell| cell.parse::<f64>().is_err());
            if cells.len() != layout.cells || is_header != (layout.skip > 0) {
                return None;
            }
        }
        let last = entry.columns.len() - 1;
        let target = layout.target.or_else(|| (0..layout.cells).rfind(|cell| !layout.ignore.contains(cell)));
        let mut inputs = 0..entry.columns.len();
        form.places = (0..layout.cells)
            .map(|cell| match cell {
                cell if layout.ignore.contains(&cell) => None,
                cell if Some(cell) == target && !layout.counted => Some(last),
                _ => inputs.next(),
            })
            .collect();
        Some(form)
    }

    /// Label of a word; `None` if labels are numbers.
    pub(super) fn label(&self, word: &str) -> Option<Result<f64, String>> {
        let (positive, negative) = self.words.as_ref()?;
        Some(match (word == positive, negative.is_empty() || negative.iter().any(|known| known == word)) {
            (true, _) => Ok(1.0),
            (false, true) => Ok(0.0),
            (false, false) => {
                Err(format!("label {}, expected {positive} or {}", shown(word), negative.join(" or ")))
            }
        })
    }

    /// The cells of a line.
    pub(super) fn cells<'l>(&self, line: &'l str) -> Box<dyn Iterator<Item = &'l str> + 'l> {
        if self.blanks {
            Box::new(line.split_ascii_whitespace())
        } else {
            Box::new(line.split(',').map(str::trim))
        }
    }
}

/// Text from a file, quoted and truncated.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return format!("{text:?}");
    }
    format!("{:?}..", text.chars().take(MOST).collect::<String>())
}
