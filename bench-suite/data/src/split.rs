//! Random splits into training rows and test rows, also with given numbers of either label.

use mcsa_core::Seed;

use super::{DataError, Dataset};

/// A data set split at random: a pure function of data set, number of training rows and seed.
///
/// The rows are permuted, each order being equally likely up to `2^-52`, and the first ones are the training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Training rows.
    pub train: Dataset,
    /// Test rows.
    pub test: Dataset,
    /// Rows in their new order: first training rows, then test rows.
    pub order: Vec<usize>,
}

impl Split {
    /// Splits `data` into `train` training rows and the others; each replicate should use its own seed.
    ///
    /// # Errors
    /// If there is no training row or no test row.
    pub fn new(data: &Dataset, train: usize, seed: Seed) -> Result<Self, DataError> {
        let rows = data.rows();
        if train == 0 || train >= rows {
            let problem = format!("{train} training rows of {rows} leave none to train or none to test");
            return Err(DataError::of(&data.name, problem));
        }
        let order = permutation(rows, seed);
        let (train, test) = order.split_at(train);
        Ok(Self { train: data.select(train), test: data.select(test), order: order.clone() })
    }

    /// Draws training rows and test rows without replacement; rows that are neither are not used. `ratio` is the share of the label 1
    /// among the training rows; by default that of the data set.
    ///
    /// ```text
    /// n_1 = round(ratio n),   m_1 = round(share m),   share = share of the label 1 among all rows
    /// ```
    /// with n training rows, m test rows and n_1, m_1 rows of the label 1, all subsets being equally likely. Test rows do not depend on
    /// `train` and `ratio`, and at equal n training rows of one label are nested.
    ///
    /// # Errors
    /// If the target is measured, a side has no row, the ratio is not between 0 and 1, or a label occurs too rarely.
    pub fn stratified(
        data: &Dataset,
        [train, test]: [usize; 2],
        ratio: Option<f64>,
        seed: Seed,
    ) -> Result<Self, DataError> {
        let fail = |problem: String| Err(DataError::of(&data.name, problem));
        if !data.has_labels {
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

/// `0..rows` in random order (Fisher & Yates; Durstenfeld 1964).
fn permutation(rows: usize, seed: Seed) -> Vec<usize> {
    let mut stream = seed.named("split").stream(0, 0);
    let mut order: Vec<usize> = (0..rows).collect();
    for last in (1..rows).rev() {
        let other = (stream.uniform() * (last + 1) as f64) as usize;
        order.swap(last, other.min(last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn every_row_is_on_one_side() {
        let data = Catalogue::new(None).load("ionosphere").unwrap();
        let split = Split::new(&data, 316, Seed::new(1)).unwrap();
        assert_eq!((split.train.rows(), split.test.rows()), (316, 35));
        let mut rows = split.order.clone();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..351));
        assert_eq!(split.test.y[0], data.y[split.order[316]]);
        assert_eq!(split.test.x[(0, 5)], data.x[(split.order[316], 5)]);
    }

    #[test]
    fn the_seed_decides() {
        let data = Catalogue::new(None).load("yacht").unwrap();
        let split = |seed| Split::new(&data, 277, seed).unwrap();
        assert_eq!(split(Seed::new(1)), split(Seed::new(1)));
        assert_ne!(split(Seed::new(1)).order, split(Seed::new(2)).order);
        // A change of it changes every split, and would have to keep all orders equally likely.
        assert_eq!(permutation(8, Seed::new(1)), [1, 6, 2, 7, 0, 5, 3, 4]);
    }

    #[test]
    fn a_side_without_rows_is_refused() {
        let data = Catalogue::new(None).load("yacht").unwrap();
        for train in [0, 308, usize::MAX] {
            assert!(Split::new(&data, train, Seed::new(1)).is_err());
        }
    }

    const SEED: Seed = Seed::new(1);

    fn stratified(train: usize, ratio: Option<f64>) -> Result<Split, DataError> {
        let data = Catalogue::new(None).load("pima").unwrap(); // 268 of 768 have the label 1
        Split::stratified(&data, [train, 96], ratio, SEED)
    }

    #[test]
    fn labels_have_their_numbers_and_no_row_is_on_both_sides() {
        for (ratio, expected) in [(None, 134.0), (Some(0.1), 38.0), (Some(0.5), 192.0)] {
            let Split { train, test, mut order } = stratified(384, ratio).unwrap();
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
        let (some, few) = (stratified(384, Some(0.3)).unwrap(), stratified(384, Some(0.1)).unwrap());
        assert_eq!(some.test, few.test);
        let rare = |split: &Split| -> Vec<usize> {
            let train = split.order[..384].iter().zip(&split.train.y);
            train.filter(|(_, y)| **y == 1.0).map(|(row, _)| *row).collect()
        };
        assert!(rare(&few).iter().all(|row| rare(&some).contains(row)));
        assert_ne!(some.order, few.order);
        assert_eq!(stratified(384, Some(0.3)).unwrap(), some);
        let data = Catalogue::new(None).load("pima").unwrap();
        assert_ne!(Split::stratified(&data, [384, 96], Some(0.3), Seed::new(2)).unwrap().order, some.order);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let refused = |train, ratio| stratified(train, ratio).unwrap_err().to_string();
        assert!(refused(700, None).contains("label 1 occurs 268 times; 244 rows to train and 34"));
        assert!(refused(384, Some(0.95)).contains("label 1 occurs 268 times; 365"));
        assert!(refused(384, Some(1.0)).contains("ratio is 1, expected between 0 and 1"));
        assert!(refused(384, Some(f64::NAN)).contains("ratio is NaN"));
        assert!(refused(0, None).contains("0 rows to train"));
        let data = Catalogue::new(None).load("yacht").unwrap();
        assert!(Split::stratified(&data, [3, 3], None, SEED).is_err());
    }
}
