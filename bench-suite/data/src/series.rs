//! Time series of positive levels, such as prices.

use faer::Mat;

use super::{DataError, Entry, Origin, Table};

/// One or more series of positive levels at the same dates.
///
/// ```
/// use mcsa_data::Catalogue;
/// let rates = Catalogue::new(None).series("fx_ecb_18")?;
/// assert_eq!((rates.dates.len(), rates.log_returns().nrows()), (120, 119));
/// # Ok::<(), mcsa_data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the data set.
    pub name: String,
    /// Names of the series.
    pub columns: Vec<String>,
    /// Dates, in ascending order.
    pub dates: Vec<String>,
    /// Levels, `dates x columns`.
    pub levels: Mat<f64>,
    /// Origin of the numbers.
    pub origin: Origin,
}

impl Series {
    pub(super) fn of(entry: &Entry, table: &Table, file: &str, origin: Origin) -> Result<Self, DataError> {
        let dates = table.words(0);
        if let Some(row) = dates.windows(2).position(|pair| pair[0] >= pair[1]) {
            let problem = format!("{} does not come after {}", dates[row + 1], dates[row]);
            return Err(DataError::cell(file, row + 3, &entry.columns[0], problem));
        }
        for (place, name) in entry.columns.iter().enumerate().skip(1) {
            if let Some(row) = table.numbers(place).iter().position(|level| *level <= 0.0) {
                let problem = format!("{} is not positive", table.numbers(place)[row]);
                return Err(DataError::cell(file, row + 2, name, problem));
            }
        }
        Ok(Self {
            name: entry.name.clone(),
            columns: entry.columns[1..].to_vec(),
            dates: dates.to_vec(),
            levels: Mat::from_fn(entry.rows, entry.columns.len() - 1, |row, k| table.numbers(k + 1)[row]),
            origin,
        })
    }

    /// Log returns `log(level_t / level_{t-1})`: one row fewer than there are dates.
    pub fn log_returns(&self) -> Mat<f64> {
        Mat::from_fn(self.levels.nrows().saturating_sub(1), self.levels.ncols(), |row, column| {
            self.levels[(row + 1, column)].ln() - self.levels[(row, column)].ln()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn returns_add_up() {
        let rates = Catalogue::new(None).series("fx_ecb_18").unwrap();
        let returns = rates.log_returns();
        assert_eq!((returns.nrows(), returns.ncols()), (119, 18));
        for column in 0..18 {
            let total: f64 = returns.col(column).iter().sum();
            let whole = (rates.levels[(119, column)] / rates.levels[(0, column)]).ln();
            assert!((total - whole).abs() < 1e-12);
        }
    }
}
