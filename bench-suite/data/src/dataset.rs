//! Data sets of inputs and a target, for regression and classification.

use faer::Mat;

use super::{DataError, Entry, Kind, Origin, Table};

/// A data set for prediction, one case per row.
///
/// Cases are rows, unlike points of an ensemble, which are columns: `x z` is then the linear predictor of every case for a
/// batch of coefficients `z`.
///
/// ```
/// use mcsa_data::Catalogue;
/// let pima = Catalogue::new(None).load("pima")?;
/// assert_eq!((pima.rows(), pima.inputs(), pima.columns[1].as_str()), (768, 8, "glucose"));
/// assert_eq!(pima.y.iter().sum::<f64>(), 268.0);
/// # Ok::<(), mcsa_data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Name of the data set.
    pub name: String,
    /// Type of the target.
    pub task: Task,
    /// Names of the inputs.
    pub columns: Vec<String>,
    /// Inputs, `rows x inputs`.
    pub x: Mat<f64>,
    /// Target: measured values, or labels 0 and 1.
    pub y: Vec<f64>,
    /// Origin of the numbers.
    pub origin: Origin,
}

/// Type of the target of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Labels 0 and 1.
    Classification,
    /// Measured values.
    Regression,
}

impl Dataset {
    pub(super) fn of(entry: &Entry, table: &Table, origin: Origin) -> Result<Self, DataError> {
        let inputs = entry.inputs();
        let columns: Vec<&[f64]> = (0..inputs).map(|place| table.numbers(place)).collect();
        Ok(Self {
            name: entry.name.clone(),
            task: Task::of(entry)?,
            columns: entry.columns[..inputs].to_vec(),
            x: Mat::from_fn(table.rows(), inputs, |row, column| columns[column][row]),
            y: table.numbers(inputs).to_vec(),
            origin,
        })
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
        let y = rows.iter().map(|row| self.y[*row]).collect();
        Self { x, y, ..self.clone_head() }
    }

    /// The cases in which some input is not `code`, the code of a missing measurement.
    #[must_use]
    pub fn without_rows_of(&self, code: f64) -> Self {
        let is_measured = |row: &usize| (0..self.inputs()).any(|column| self.x[(*row, column)] != code);
        let measured: Vec<usize> = (0..self.rows()).filter(is_measured).collect();
        if measured.len() == self.rows() { self.clone() } else { self.select(&measured) }
    }

    /// The data set with a column of ones before the inputs, as in the probit regression of MSC.
    #[must_use]
    pub fn with_ones_first(&self) -> Self {
        self.with_ones(0)
    }

    /// The data set with a column of ones after the inputs, as in the networks of pMCSA.
    #[must_use]
    pub fn with_ones_last(&self) -> Self {
        self.with_ones(self.inputs())
    }

    fn with_ones(&self, place: usize) -> Self {
        let x = Mat::from_fn(self.rows(), self.inputs() + 1, |row, column| match column {
            column if column < place => self.x[(row, column)],
            column if column > place => self.x[(row, column - 1)],
            _ => 1.0,
        });
        let mut set = Self { x, y: self.y.clone(), ..self.clone_head() };
        set.columns.insert(place, "ones".into());
        set
    }

    /// The data set without its numbers.
    pub(super) fn clone_head(&self) -> Self {
        Self {
            name: self.name.clone(),
            task: self.task,
            columns: self.columns.clone(),
            x: Mat::new(),
            y: Vec::new(),
            origin: self.origin.clone(),
        }
    }
}

impl Task {
    pub(super) fn of(entry: &Entry) -> Result<Self, DataError> {
        match entry.kind {
            Kind::Classification => Ok(Self::Classification),
            Kind::Regression => Ok(Self::Regression),
            kind => Err(DataError::Shape { name: entry.name.clone(), kind }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn ones_come_first_or_last() {
        let yacht = Catalogue::new(None).load("yacht").unwrap();
        let (first, last) = (yacht.with_ones_first(), yacht.with_ones_last());
        assert_eq!((first.columns[0].as_str(), last.columns[6].as_str()), ("ones", "ones"));
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

    #[test]
    fn rows_keep_their_target() {
        let yacht = Catalogue::new(None).load("yacht").unwrap();
        let some = yacht.select(&[7, 0, 7]);
        assert_eq!(some.y, [yacht.y[7], yacht.y[0], yacht.y[7]]);
        assert_eq!(some.x[(1, 3)], yacht.x[(0, 3)]);
    }
}
