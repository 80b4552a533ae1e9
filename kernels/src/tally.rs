//! The mean of what several steps tell.

use mcsa::Record;

const ROOM: usize = 24;

/// What a composition of kernels tells: each number is its mean over the parts that told it.
///
/// ```
/// use mcsa::Record;
/// use mcsa_kernels::{ImhInfo, Tally};
/// let mut tally = Tally::default();
/// tally.add(&ImhInfo { tried: 2, accepted: 1, ..ImhInfo::default() });
/// tally.add(&ImhInfo { tried: 2, accepted: 2, ..ImhInfo::default() });
/// assert_eq!(tally.mean("acceptance"), Some(0.75));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    sums: [(&'static str, f64, u32); ROOM],
    len: usize,
}

impl Tally {
    /// Takes up what a step tells. Names beyond the twenty-fourth are dropped.
    pub fn add(&mut self, record: &dyn Record) {
        record.record(&mut |name, value| {
            let known = self.sums[..self.len].iter().position(|(known, _, _)| *known == name);
            let k = known.unwrap_or_else(|| {
                let k = self.len.min(ROOM);
                self.len = (k + 1).min(ROOM);
                k
            });
            if let Some((slot, sum, count)) = self.sums.get_mut(k) {
                *slot = name;
                *sum += value;
                *count += 1;
            }
        });
    }

    /// The mean of a number, if it was told.
    pub fn mean(&self, name: &str) -> Option<f64> {
        let found = self.sums[..self.len].iter().find(|(known, _, _)| *known == name);
        found.map(|(_, sum, count)| sum / f64::from(*count))
    }
}

impl Record for Tally {
    fn record(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        for (name, sum, count) in &self.sums[..self.len] {
            sink(name, sum / f64::from(*count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Many;
    impl Record for Many {
        fn record(&self, sink: &mut dyn FnMut(&'static str, f64)) {
            const NAMES: [&str; 26] = [
                "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r",
                "s", "t", "u", "v", "w", "x", "y", "z",
            ];
            NAMES.iter().for_each(|name| sink(name, 1.0));
        }
    }

    #[test]
    fn too_many_names_do_no_harm() {
        let mut tally = Tally::default();
        tally.add(&Many);
        tally.add(&Many);
        assert_eq!((tally.mean("a"), tally.mean("x"), tally.mean("y")), (Some(1.0), Some(1.0), None));
    }
}
