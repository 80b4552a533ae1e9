//! Random split of labelled rows with given numbers of either label.

use mcsa_core::Seed;

use super::split::permutation;
use super::{DataError, Dataset, Split, Task};

/// Numbers of training and test rows, and the share of the label 1 among the training rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strata {
    /// Number of training rows.
    pub train: usize,
    /// Number of test rows.
    pub test: usize,
    /// Share of the label 1 among the training rows; `None` for that of the data set.
    pub ratio: Option<f64>,
}

impl Split {
    /// Draws training rows and test rows without replacement; rows that are neither are not used.
    ///
    /// ```text
    /// n_1 = round(ratio n),   m_1 = round(share m),   share = share of the label 1 among all rows
    /// ```
    /// with n training rows, m test rows and n_1, m_1 rows of the label 1, all subsets being equally likely. Test rows do not depend on
    /// `train` and `ratio`, and at equal n training rows of one label are nested.
    ///
    /// # Errors
    /// If the target is measured, a side has no row, the ratio is not between 0 and 1, or a label occurs too rarely.
    pub fn stratified(data: &Dataset, strata: Strata, seed: Seed) -> Result<Self, DataError> {
        let Strata { train, test, ratio } = strata;
        let fail = |problem: String| Err(DataError::unusable(&data.name, problem));
        if data.task != Task::Classification {
            return fail("a measured target has no strata".into());
        }
        if train == 0 || test == 0 {
            return fail(format!("{train} rows to train and {test} to test; each needs at least one"));
        }
        if ratio.is_some_and(|ratio| !(ratio > 0.0 && ratio < 1.0)) {
            return fail(format!("ratio is {}, expected between 0 and 1", ratio.unwrap_or(f64::NAN)));
        }
        let order = permutation(data.rows(), seed.named("strata"));
        let (ones, zeros): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|row| data.y[*row] == 1.0);
        let share = ones.len() as f64 / data.rows() as f64;
        let of_ones = |share: f64, rows: usize| (share * rows as f64).round() as usize;
        let (tested, trained) = (of_ones(share, test), of_ones(ratio.unwrap_or(share), train));
        let (mut training, mut testing) = (Vec::with_capacity(train), Vec::with_capacity(test));
        for (label, rows, tested, trained) in
            [(1, &ones, tested, trained), (0, &zeros, test - tested, train - trained)]
        {
            let Some(rows) = rows.get(..tested.saturating_add(trained)) else {
                return fail(format!(
                    "label {label} occurs {} times; {trained} rows to train and {tested} to test are needed",
                    rows.len()
                ));
            };
            testing.extend(&rows[..tested]);
            training.extend(&rows[tested..]);
        }
        let shuffled = |rows: &[usize], name: &str| -> Vec<usize> {
            permutation(rows.len(), seed.named(name)).into_iter().map(|place| rows[place]).collect()
        };
        let (training, testing) = (shuffled(&training, "train"), shuffled(&testing, "test"));
        let (train, test) = (data.select(&training), data.select(&testing));
        Ok(Self { train, test, order: [training, testing].concat() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    const SEED: Seed = Seed::new(1);

    fn split(train: usize, ratio: Option<f64>) -> Result<Split, DataError> {
        let data = Catalogue::new(None).load("pima").unwrap(); // 268 of 768 have the label 1
        Split::stratified(&data, Strata { train, test: 96, ratio }, SEED)
    }

    #[test]
    fn labels_have_their_numbers_and_no_row_is_on_both_sides() {
        for (ratio, expected) in [(None, 134.0), (Some(0.1), 38.0), (Some(0.5), 192.0)] {
            let Split { train, test, mut order } = split(384, ratio).unwrap();
            assert_eq!((train.rows(), train.y.iter().sum::<f64>()), (384, expected));
            assert_eq!((test.rows(), test.y.iter().sum::<f64>()), (96, 34.0));
            assert!(train.y[..192].contains(&1.0) && train.y[192..].contains(&1.0), "shuffled");
            order.sort_unstable();
            order.dedup();
            assert_eq!(order.len(), 480);
        }
    }

    #[test]
    fn test_rows_are_shared_and_rare_rows_nested() {
        let (some, few) = (split(384, Some(0.3)).unwrap(), split(384, Some(0.1)).unwrap());
        assert_eq!(some.test, few.test);
        let rare = |split: &Split| -> Vec<usize> {
            let train = split.order[..384].iter().zip(&split.train.y);
            train.filter(|(_, y)| **y == 1.0).map(|(row, _)| *row).collect()
        };
        assert!(rare(&few).iter().all(|row| rare(&some).contains(row)));
        assert_ne!(some.order, few.order);
        let data = Catalogue::new(None).load("pima").unwrap();
        let strata = Strata { train: 384, test: 96, ratio: Some(0.3) };
        assert_eq!(Split::stratified(&data, strata, SEED).unwrap(), some);
        assert_ne!(Split::stratified(&data, strata, Seed::new(2)).unwrap().order, some.order);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let refused = |train, ratio| split(train, ratio).unwrap_err().to_string();
        assert!(refused(700, None).contains("label 1 occurs 268 times; 244 rows to train and 34"));
        assert!(refused(384, Some(0.95)).contains("label 1 occurs 268 times; 365"));
        assert!(refused(384, Some(1.0)).contains("ratio is 1, expected between 0 and 1"));
        assert!(refused(384, Some(f64::NAN)).contains("ratio is NaN"));
        assert!(refused(0, None).contains("0 rows to train"));
        let data = Catalogue::new(None).load("yacht").unwrap();
        let strata = Strata { train: 3, test: 3, ratio: None };
        assert!(Split::stratified(&data, strata, SEED).is_err());
    }
}
