//! Radon measurements in homes of Minnesota.

use super::{DataError, Entry, Table};

/// Radon measurements in homes by county, for the hierarchical regression of log radon on the floor of the measurement
/// (MCMC-SE, fig. 6).
///
/// ```
/// use mcsa_data::Catalogue;
/// let radon = Catalogue::new(None).radon()?;
/// assert_eq!((radon.log_radon.len(), radon.counties.len()), (919, 85));
/// # Ok::<(), mcsa_data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Radon {
    /// Names of the counties.
    pub counties: Vec<String>,
    /// Log of the uranium in the soil, for each county.
    pub log_uranium: Vec<f64>,
    /// Index of the county of each home, from 0.
    pub county: Vec<usize>,
    /// Floor of each measurement: 0 basement, 1 first floor.
    pub floor: Vec<f64>,
    /// Log of the activity of each home in pCi/L; activity 0 is replaced by 0.1.
    pub log_radon: Vec<f64>,
}

/// Replacement of activity 0, which has no logarithm (Gelman & Hill 2007, ch. 12).
const FAINTEST: f64 = 0.1;

impl Radon {
    /// Checks that go beyond those of a table: counties are numbered without gap, each has one name and one uranium value,
    /// floors are 0 or 1, and the target is the logarithm of the activity.
    pub(super) fn of(entry: &Entry, table: &Table, file: &str) -> Result<Self, DataError> {
        let names = table.words(1);
        let (codes, floor, uranium) = (table.numbers(0), table.numbers(2), table.numbers(3));
        let (activity, log_radon) = (table.numbers(4), table.numbers(5));
        let mut radon = Self {
            counties: Vec::new(),
            log_uranium: Vec::new(),
            county: Vec::with_capacity(entry.rows),
            floor: floor.to_vec(),
            log_radon: log_radon.to_vec(),
        };
        for row in 0..entry.rows {
            let fail = |column: &str, problem: &str| Err(DataError::cell(file, row + 2, column, problem));
            let known = radon.counties.len();
            if codes[row] == (known + 1) as f64 {
                radon.counties.push(names[row].clone());
                radon.log_uranium.push(uranium[row]);
            } else if !(1.0..=known as f64).contains(&codes[row]) || codes[row].fract() != 0.0 {
                return fail("county", "counties are numbered 1, 2, .. in the order of the homes");
            }
            let county = codes[row] as usize - 1;
            if (&radon.counties[county], radon.log_uranium[county]) != (&names[row], uranium[row]) {
                return fail("log_uranium", "a county has one name and one log uranium");
            }
            if floor[row] != 0.0 && floor[row] != 1.0 {
                return fail("floor", "expected 0 (basement) or 1 (first floor)");
            }
            let expected = if activity[row] == 0.0 { FAINTEST } else { activity[row] }.ln();
            let agrees = (log_radon[row] - expected).abs() < 1e-12; // not so where the logarithm is NaN
            if !agrees {
                return fail("y", "expected the logarithm of the activity");
            }
            radon.county.push(county);
        }
        Ok(radon)
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
        assert_eq!(radon.counties[84], "yellow_medicine");
        assert_eq!(radon.county.iter().max(), Some(&84));
    }
}
