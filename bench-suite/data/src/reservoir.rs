//! Random subset of a stream of labelled rows, in memory for the subset alone.

use std::collections::BinaryHeap;

use mcsa_core::{Address, Seed, Stream};

use super::manifest::share_of;

/// Seed of the subsets that imports keep: a subset is a pure function of the file.
const SEED: Seed = Seed::new(1);

/// Bits of the key, which is positive, number, and bits of the values.
type Row = (u64, usize, Box<[u64]>);

/// Rows of either label with the smallest of independent uniform keys, so that all subsets of a size are equally likely.
///
/// The key of a row is a function of its number. As long as the numbers of rows are not known, as many rows of each label are held as
/// the subset has in all.
pub(super) struct Reservoir {
    keys: Stream,
    size: usize,
    rows: usize,
    ones: usize,
    /// Rows with label 0, then those with label 1; the largest key on top.
    held: [BinaryHeap<Row>; 2],
}

impl Reservoir {
    /// Subset of `size` rows of the data set of this name.
    pub(super) fn new(name: &str, size: usize) -> Self {
        let keys = SEED.named("subset").named(name).stream(0, 0);
        Self { keys, size, rows: 0, ones: 0, held: Default::default() }
    }

    /// Sees the next row, whose last value is its label, 0 or 1.
    pub(super) fn see(&mut self, values: &[f64]) {
        let number = self.rows;
        self.rows += 1;
        let is_one = values.last() == Some(&1.0);
        self.ones += usize::from(is_one);
        self.keys.go_to(Address::of(number as u64, 0));
        let (key, held) = (self.keys.uniform().to_bits(), &mut self.held[usize::from(is_one)]);
        if held.len() == self.size && held.peek().is_none_or(|top| top.0 <= key) {
            return;
        }
        held.push((key, number, values.iter().map(|value| value.to_bits()).collect()));
        if held.len() > self.size {
            held.pop();
        }
    }

    /// The rows of the subset in the order of the stream: labels have their shares among all rows, rounded.
    pub(super) fn subset(self) -> Vec<Vec<f64>> {
        let ones = share_of(self.ones, self.rows, self.size);
        let held = self.held.into_iter().zip([self.size - ones, ones]);
        let mut chosen: Vec<_> =
            held.flat_map(|(held, count)| held.into_sorted_vec().into_iter().take(count)).collect();
        chosen.sort_unstable_by_key(|(_, number, _)| *number);
        chosen.iter().map(|(.., values)| values.iter().map(|bits| f64::from_bits(*bits)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the rows in a subset of `rows`, of which every fourth has the label 1.
    fn subset(name: &str, rows: usize, size: usize) -> Vec<usize> {
        let mut reservoir = Reservoir::new(name, size);
        for row in 0..rows {
            reservoir.see(&[row as f64, f64::from(u8::from(row % 4 == 0))]);
            assert!(reservoir.held.iter().all(|held| held.len() <= size));
        }
        reservoir.subset().iter().map(|values| values[0] as usize).collect()
    }

    #[test]
    fn labels_have_their_shares_and_rows_their_order() {
        let rows = subset("a", 4_000, 100);
        assert_eq!(rows.len(), 100);
        assert!(rows.is_sorted_by(|a, b| a < b));
        assert_eq!(rows.iter().filter(|row| *row % 4 == 0).count(), 25);
        assert_eq!(rows, subset("a", 4_000, 100));
        assert_ne!(rows, subset("b", 4_000, 100));
        assert_eq!(subset("a", 7, 7), [0, 1, 2, 3, 4, 5, 6]);
    }

    /// Each of 8 rows with label 0 is among 3 of them with probability 3/8: over 4000 subsets six standard errors are 0.046. The first
    /// three rows, which a reservoir that never replaces would hold, would be there always.
    #[test]
    fn rows_are_equally_likely() {
        let mut counts = [0_u32; 8];
        for name in 0..4_000 {
            let mut reservoir = Reservoir::new(&name.to_string(), 3);
            (0..8).for_each(|row| reservoir.see(&[f64::from(row), 0.0]));
            reservoir.subset().iter().for_each(|values| counts[values[0] as usize] += 1);
        }
        assert!(counts.iter().all(|count| (f64::from(*count) / 4_000.0 - 0.375).abs() < 0.046), "{counts:?}");
    }
}
