//! Data sets of other shapes than inputs and a target: radon by county, time series.

use faer::Mat;

use super::{DataError, Entry, Table};

/// Radon measurements in homes by county, for the hierarchical regression of log radon on the floor of the measurement
/// (MCMC-SE, fig. 6).
#[derive(Debug, Clone, PartialEq)]
pub struct Radon {
    /// Names of the counties.
    pub counties: Vec<String>,
    /// Index of the county of each home, from 0.
    pub county: Vec<usize>,
    /// Floor of each measurement: 0 basement, 1 first floor.
    pub floor: Vec<f64>,
    /// Log of the activity of each home in pCi/L; activity 0, which has no logarithm, is replaced by 0.1 (Gelman & Hill 2007, ch. 12).
    pub log_radon: Vec<f64>,
}

impl Radon {
    /// The measurements of a file that is part of the program: counties are numbered in their order.
    pub(super) fn of(table: &Table) -> Self {
        let mut counties: Vec<String> = Vec::new();
        let number = |name: &String| {
            let known = counties.iter().position(|county| county == name);
            known.unwrap_or_else(|| {
                counties.push(name.clone());
                counties.len() - 1
            })
        };
        let county = table.words(1).iter().map(number).collect();
        let (floor, log_radon) = (table.numbers(2).to_vec(), table.numbers(5).to_vec());
        Self { counties, county, floor, log_radon }
    }
}

/// One or more series of positive levels at the same dates.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Names of the series.
    pub columns: Vec<String>,
    /// Levels, `dates x columns`.
    pub levels: Mat<f64>,
}

impl Series {
    pub(super) fn of(entry: &Entry, table: &Table, file: &str) -> Result<Self, DataError> {
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
            columns: entry.columns[1..].to_vec(),
            levels: Mat::from_fn(entry.rows, entry.columns.len() - 1, |row, k| table.numbers(k + 1)[row]),
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
    fn the_homes_are_those_of_the_papers() {
        let radon = Catalogue::new(None).radon().unwrap();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean(&radon.log_radon) - 1.224_62).abs() < 1e-5);
        assert!((mean(&radon.floor) - 0.1665).abs() < 1e-4);
        assert_eq!((radon.log_radon.len(), radon.counties.len()), (919, 85));
        assert!(
            radon.county.is_sorted() && radon.county[918] == 84 && radon.counties[84] == "yellow_medicine"
        );
    }

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

    #[test]
    fn the_table_is_that_of_rubin() {
        let schools = Catalogue::new(None).load("eight_schools").unwrap();
        assert_eq!(schools.y, [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
        assert_eq!(schools.x.col_as_slice(0), [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
    }
}
