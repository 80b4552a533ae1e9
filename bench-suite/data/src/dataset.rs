//! Data sets of inputs and a target, for regression and classification, and their standardisation by the training rows.

use faer::Mat;

use super::{DataError, Entry, Kind, Split, Table};

/// A data set for prediction, one case per row.
///
/// Cases are rows, unlike points of an ensemble, which are columns: `x z` is then the linear predictor of every case for a
/// batch of coefficients `z`.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Name of the data set.
    pub name: String,
    /// True if the target is a label, false if it is measured.
    pub has_labels: bool,
    /// Inputs, `rows x inputs`.
    pub x: Mat<f64>,
    /// Target: measured values, or labels 0 and 1.
    pub y: Vec<f64>,
}

impl Dataset {
    pub(super) fn of(entry: &Entry, table: &Table) -> Self {
        let (inputs, columns) = (entry.inputs(), entry.numeric().map(|(place, _)| table.numbers(place)));
        let columns: Vec<&[f64]> = columns.collect();
        let x = Mat::from_fn(table.rows, inputs, |row, column| columns[column][row]);
        Self::new(entry, x, columns[inputs].to_vec())
    }

    pub(super) fn new(entry: &Entry, x: Mat<f64>, y: Vec<f64>) -> Self {
        Self { name: entry.name.clone(), has_labels: entry.kind == Kind::Classification, x, y }
    }

    /// Number of cases.
    pub fn rows(&self) -> usize {
        self.y.len()
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.x.ncols()
    }

    /// The cases at `rows`, in this order.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let x = Mat::from_fn(rows.len(), self.inputs(), |row, column| self.x[(rows[row], column)]);
        self.with_numbers(x, rows.iter().map(|row| self.y[*row]).collect())
    }

    /// The cases in which some input is not `code`, the code of a missing measurement.
    #[must_use]
    pub fn without_rows_of(&self, code: f64) -> Self {
        let is_measured = |row: &usize| (0..self.inputs()).any(|column| self.x[(*row, column)] != code);
        let measured: Vec<usize> = (0..self.rows()).filter(is_measured).collect();
        if measured.len() == self.rows() { self.clone() } else { self.select(&measured) }
    }

    /// The data set with a column of ones in this place: the first in the probit regression of MSC, the last in the networks of pMCSA.
    #[must_use]
    pub fn with_ones(&self, place: usize) -> Self {
        let x = Mat::from_fn(self.rows(), self.inputs() + 1, |row, column| match column {
            column if column < place => self.x[(row, column)],
            column if column > place => self.x[(row, column - 1)],
            _ => 1.0,
        });
        self.with_numbers(x, self.y.clone())
    }

    /// The data set with other numbers.
    fn with_numbers(&self, x: Mat<f64>, y: Vec<f64>) -> Self {
        Self { name: self.name.clone(), x, y, ..*self }
    }
}

/// A column whose standard deviation among the training rows is at most this is left out, as in pMCSA's code.
const SMALLEST: f64 = 1e-5;

/// Mean and standard deviation of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// Mean.
    pub mean: f64,
    /// Standard deviation, with divisor `n - 1`.
    pub deviation: f64,
}

/// A split in which every input, and a measured target, has mean 0 and standard deviation 1 among the training rows.
///
/// Test rows are transformed by the scaling of the training rows and do not affect it. Inputs that are (nearly) constant
/// among the training rows cannot be scaled: they are left out on both sides. Labels are unchanged. Experiments on raw inputs use the [`Split`] itself, which keeps constant inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Standardised {
    /// Training rows.
    pub train: Dataset,
    /// Test rows.
    pub test: Dataset,
    /// Scaling of the target; `None` for labels.
    pub target: Option<Scaling>,
}

impl Standardised {
    /// Standardises a split.
    ///
    /// # Errors
    /// If there are fewer than two training rows, no input remains, or a measured target is constant among them.
    pub fn new(split: &Split) -> Result<Self, DataError> {
        let train = &split.train;
        let fail = |problem: &str| DataError::of(&train.name, problem);
        if train.rows() < 2 {
            return Err(fail("fewer than two rows train: no scale can be found; train on more"));
        }
        let scalings = (0..train.inputs()).map(|column| Scaling::of(train.x.col_as_slice(column)));
        let (kept, inputs): (Vec<usize>, Vec<Scaling>) =
            scalings.enumerate().filter(|(_, scaling)| scaling.deviation > SMALLEST).unzip();
        if kept.is_empty() {
            return Err(fail("every input is constant among the rows that train"));
        }
        let target = (!train.has_labels).then(|| Scaling::of(&train.y));
        if target.is_some() && train.y.iter().all(|y| *y == train.y[0]) {
            return Err(fail("the target is constant among the rows that train; take another seed"));
        }
        let scaled = |data: &Dataset| {
            let x = Mat::from_fn(data.rows(), kept.len(), |row, k| inputs[k].apply(data.x[(row, kept[k])]));
            let y = data.y.iter().map(|y| target.map_or(*y, |target| target.apply(*y))).collect();
            data.with_numbers(x, y)
        };
        let (train, test) = (scaled(train), scaled(&split.test));
        Ok(Self { train, test, target })
    }
}

impl Scaling {
    /// Scaling of some values: at least two.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Self { mean, deviation: (squares / (count - 1.0)).sqrt() }
    }

    /// `(value - mean) / deviation`.
    pub fn apply(&self, value: f64) -> f64 {
        (value - self.mean) / self.deviation
    }

    /// Log of the standard deviation: subtracted from a log density of the scaled target, it gives that of the original target.
    pub fn log_deviation(&self) -> f64 {
        self.deviation.ln()
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::Seed;

    use super::*;
    use crate::Catalogue;

    fn split(name: &str) -> Split {
        let data = Catalogue::new(None).load(name).unwrap();
        Split::new(&data, data.rows() * 9 / 10, Seed::new(1)).unwrap()
    }

    #[test]
    fn the_rows_that_train_have_mean_0_and_deviation_1() {
        for name in ["yacht", "boston", "concrete", "airfoil", "wine_red", "sonar", "breast_wdbc"] {
            let set = Standardised::new(&split(name)).unwrap();
            for column in 0..set.train.inputs() {
                let scaling = Scaling::of(set.train.x.col_as_slice(column));
                assert!(scaling.mean.abs() < 1e-10 && (scaling.deviation - 1.0).abs() < 1e-10, "{name}");
            }
            let target = Scaling::of(&set.train.y);
            assert_eq!(target.mean.abs() < 1e-10, set.target.is_some(), "{name}");
        }
    }

    #[test]
    fn test_rows_are_not_looked_at() {
        let original = split("boston");
        let mut changed = original.clone();
        changed.test.y.iter_mut().for_each(|y| *y *= 1e6);
        changed.test.x = Mat::from_fn(changed.test.rows(), 13, |_, _| -7.0);
        let (a, b) = (Standardised::new(&original).unwrap(), Standardised::new(&changed).unwrap());
        assert_eq!((&a.train, a.target), (&b.train, b.target));
        changed.train.x[(0, 0)] += 100.0; // the twin: a row that trains is looked at
        assert_ne!(Standardised::new(&changed).unwrap().test.x, b.test.x);
    }

    #[test]
    fn constant_inputs_are_left_out() {
        let set = Standardised::new(&split("ionosphere")).unwrap();
        assert_eq!((set.train.inputs(), set.test.inputs()), (33, 33));
        let deviation = |column| Scaling::of(set.train.x.col_as_slice(column)).deviation;
        assert!((0..33).all(|column| (deviation(column) - 1.0).abs() < 1e-10));
        let mut flat = split("ionosphere");
        flat.train.x = Mat::zeros(flat.train.rows(), 34);
        assert!(Standardised::new(&flat).unwrap_err().to_string().contains("every input is constant"));
        let mut flat = split("yacht");
        flat.train.y.fill(3.0);
        assert!(Standardised::new(&flat).is_err());
    }

    #[test]
    fn ones_come_first_or_last() {
        let yacht = Catalogue::new(None).load("yacht").unwrap();
        let (first, last) = (yacht.with_ones(0), yacht.with_ones(6));
        for row in 0..yacht.rows() {
            assert_eq!((first.x[(row, 0)], last.x[(row, 6)]), (1.0, 1.0));
            assert_eq!(first.x[(row, 1)], yacht.x[(row, 0)]);
            assert_eq!(last.x[(row, 5)], yacht.x[(row, 5)]);
        }
    }

    #[test]
    fn rows_without_a_measurement_are_left_out() {
        let yacht = Catalogue::new(None).load("yacht").unwrap();
        let mut gaps = yacht.select(&[0, 1, 2]);
        gaps.x.row_mut(1).fill(-999.0);
        gaps.x[(2, 0)] = -999.0;
        assert_eq!(gaps.without_rows_of(-999.0), gaps.select(&[0, 2]));
        assert_eq!(gaps.without_rows_of(-998.0), gaps);
    }
}
