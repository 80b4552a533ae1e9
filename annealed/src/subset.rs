//! Random subsets of rows.

/// Length of the table `seen` that [`draw_subset`] needs for this number of rows: a hash table at most half full.
pub fn seen_len(rows: usize) -> usize {
    (2 * rows).next_power_of_two()
}

/// Inserts a row into the hash table `seen`; false if it is there.
fn insert(seen: &mut [usize], row: usize) -> bool {
    let mut at = row & (seen.len() - 1);
    while seen[at] != 0 {
        if seen[at] == row + 1 {
            return false;
        }
        at = (at + 1) & (seen.len() - 1);
    }
    seen[at] = row + 1;
    true
}

/// Uniform random subset of `0..data`, written to `rows` in no order (Floyd's algorithm; Bentley & Floyd 1987); `index(n)` is
/// uniform on `0..n`, such as [`Stream::index`](mcsa_core::Stream::index).
///
/// ```
/// use mcsa_annealed::{draw_subset, seen_len};
/// use mcsa_core::Seed;
/// let (mut stream, mut rows) = (Seed::new(1).stream(0, 0), [0; 3]);
/// let mut seen = vec![0; seen_len(3)];
/// draw_subset(10, &mut rows, &mut seen, |count| stream.index(count).unwrap_or(0));
/// assert!(rows.iter().all(|&row| row < 10) && rows[0] != rows[1] && rows[1] != rows[2] && rows[2] != rows[0]);
/// ```
///
/// # Panics
/// If there are more rows than data, or `seen` is shorter than [`seen_len`] says.
pub fn draw_subset(
    data: usize,
    rows: &mut [usize],
    seen: &mut [usize],
    mut index: impl FnMut(usize) -> usize,
) {
    seen.fill(0);
    let first = data - rows.len();
    for (row, last) in rows.iter_mut().zip(first..) {
        let candidate = index(last + 1);
        *row = if insert(seen, candidate) { candidate } else { last };
        insert(seen, *row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn subsets(with_replacement: bool) -> BTreeMap<Vec<usize>, f64> {
        let branches = mcsa_core::enumerate(1, 1000, |lanes| {
            let mut index = |count| lanes[0].index(count).expect("a count above 0");
            let mut rows = vec![0; 3];
            if with_replacement {
                rows.fill_with(|| index(5));
            } else {
                draw_subset(5, &mut rows, &mut vec![0; seen_len(3)], index);
            }
            rows.sort_unstable();
            rows
        });
        let mut total = BTreeMap::new();
        for branch in branches.expect("discrete decisions") {
            *total.entry(branch.outcome).or_insert(0.0) += branch.probability;
        }
        total
    }

    /// All ten subsets of three out of five, with equal probabilities; drawing with replacement is not that.
    #[test]
    fn subsets_are_equally_likely() {
        let total = subsets(false);
        assert_eq!(total.len(), 10);
        assert!(total.values().all(|p| (p - 0.1).abs() < 1e-14));
        assert!(subsets(true).len() > 10);
    }

    #[test]
    fn everything_is_a_subset() {
        let mut rows = vec![0; 40];
        draw_subset(40, &mut rows, &mut vec![0; seen_len(40)], |count| count / 2);
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..40));
    }
}
