//! Random split into training rows and test rows.

use mcsa_core::Seed;

use super::{DataError, Dataset, Share};

/// A data set split at random: a pure function of data set, share and seed.
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
    /// Splits `data`; each replicate should use its own seed.
    ///
    /// # Errors
    /// If the share leaves no training row or no test row.
    pub fn new(data: &Dataset, share: Share, seed: Seed) -> Result<Self, DataError> {
        let (rows, size) = (data.rows(), share.of(data.rows()));
        if size == 0 || size >= rows {
            let problem = format!("{share:?} of {rows} rows leaves none to train or none to test");
            return Err(DataError::unusable(&data.name, problem));
        }
        let order = permutation(rows, seed);
        let (train, test) = order.split_at(size);
        Ok(Self { train: data.select(train), test: data.select(test), order: order.clone() })
    }
}

/// `0..rows` in random order (Fisher & Yates; Durstenfeld 1964).
pub(super) fn permutation(rows: usize, seed: Seed) -> Vec<usize> {
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
        let split = Split::new(&data, Share::Nearest(0.9), Seed::new(1)).unwrap();
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
        let split = |seed| Split::new(&data, Share::Down(0.9), seed).unwrap();
        assert_eq!(split(Seed::new(1)), split(Seed::new(1)));
        assert_ne!(split(Seed::new(1)).order, split(Seed::new(2)).order);
        assert_eq!(permutation(8, Seed::new(1)), PINNED);
    }

    /// The first permutation is fixed, because a change of it changes every split.
    const PINNED: [usize; 8] = [1, 6, 2, 7, 0, 5, 3, 4];

    #[test]
    fn all_orders_are_equally_likely() {
        // 6 orders, 6000 draws: chi-square with 5 degrees of freedom, above 27.9 with probability 4e-5.
        let (mut counts, draws) = ([0_u32; 27], 6_000);
        for replicate in 0..draws {
            let order = permutation(3, Seed::new(3).child(replicate));
            counts[order[0] + 3 * order[1] + 9 * order[2]] += 1;
        }
        let seen: Vec<f64> =
            counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count)).collect();
        let statistic: f64 = seen.iter().map(|count| (count - 1_000.0).powi(2) / 1_000.0).sum();
        assert_eq!(seen.len(), 6);
        assert!(statistic < 27.9, "{statistic}");
    }

    #[test]
    fn a_side_without_rows_is_refused() {
        let data = Catalogue::new(None).load("yacht").unwrap();
        for share in [Share::Down(0.0), Share::Down(1.0), Share::Down(f64::NAN), Share::Nearest(-3.0)] {
            assert!(Split::new(&data, share, Seed::new(1)).is_err());
        }
    }
}
