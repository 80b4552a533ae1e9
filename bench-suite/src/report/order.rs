//! Order of published cells in our results.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::interval::Interval;

/// Counts of pairs of methods, each on one data set and metric. They add up over tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Pairs whose published intervals are apart.
    apart: usize,
    /// Those of them of which both methods are measured.
    measured: usize,
    /// Measured ones whose means have the published order in our results.
    kept: usize,
    /// Data sets and metrics whose best published method is measured, and one that is not the best.
    bests: usize,
    /// Those of them whose best method is the best one in our results too.
    same: usize,
}

impl Order {
    /// Order of the cells of one data set and metric: the published interval, and our mean where it is measured. Intervals that touch are
    /// not apart; equal means of ours have no order; of several best published methods one suffices.
    pub(super) fn of(cells: &[(Interval, Option<f64>)], is_loss: bool) -> Self {
        let mut order = Self::default();
        for (k, (one, ours)) in cells.iter().enumerate() {
            for (other, theirs) in &cells[..k] {
                let is_above = one.low > other.high;
                if !is_above && other.low <= one.high {
                    continue;
                }
                order.apart += 1;
                if let (Some(ours), Some(theirs)) = (ours, theirs) {
                    order.measured += 1;
                    order.kept += usize::from(if is_above { ours > theirs } else { ours < theirs });
                }
            }
        }
        let sign = if is_loss { -1.0 } else { 1.0 };
        let greatest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        let best = greatest(&mut cells.iter().map(|(published, _)| sign * published.value));
        let ours = greatest(&mut cells.iter().filter_map(|(_, ours)| Some(sign * (*ours)?)));
        let (firsts, others): (Vec<_>, Vec<_>) =
            cells.iter().partition(|(published, _)| sign * published.value == best);
        if firsts.iter().all(|(_, ours)| ours.is_some()) && others.iter().any(|(_, ours)| ours.is_some()) {
            order.bests += 1;
            order.same +=
                usize::from(firsts.iter().any(|(_, mean)| mean.is_some_and(|it| sign * it == ours)));
        }
        order
    }
}

impl Order {
    /// The pairs in the published order and all measured ones; empty if there are none.
    pub(super) fn short(&self) -> String {
        if self.measured == 0 { String::new() } else { format!("{} of {}", self.kept, self.measured) }
    }
}

impl AddAssign for Order {
    fn add_assign(&mut self, other: Self) {
        self.apart += other.apart;
        self.measured += other.measured;
        self.kept += other.kept;
        self.bests += other.bests;
        self.same += other.same;
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { apart, measured, kept, bests, same } = self;
        match measured {
            _ if *apart == 0 => f.write_str("No two published intervals are apart.")?,
            0 => write!(
                f,
                "None of the {apart} pairs of methods whose published intervals are apart is measured."
            )?,
            _ => {
                let share = 100.0 * *kept as f64 / *measured as f64;
                write!(
                    f,
                    "{kept} of {measured} pairs of methods whose published intervals are apart have the published order \
                     in our means ({share:.0} %)"
                )?;
                match apart - measured {
                    0 => f.write_str(".")?,
                    more => write!(f, "; {more} more are not measured.")?,
                }
            }
        }
        match bests {
            0 => Ok(()),
            _ => write!(
                f,
                " The best method is the same in {same} of {bests} comparisons on a data set by a metric."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: f64, half: f64, ours: Option<f64>) -> (Interval, Option<f64>) {
        (Interval { value, low: value - half, high: value + half, replicates: 9 }, ours)
    }

    fn counts(cells: &[(Interval, Option<f64>)], is_loss: bool) -> [usize; 5] {
        let Order { apart, measured, kept, bests, same } = Order::of(cells, is_loss);
        [apart, measured, kept, bests, same]
    }

    #[test]
    fn pairs_apart_are_counted_by_their_order() {
        let ours = |means: [f64; 3]| {
            [
                cell(3.0, 0.25, Some(means[0])),
                cell(2.0, 0.25, Some(means[1])),
                cell(1.0, 0.25, Some(means[2])),
            ]
        };
        assert_eq!(counts(&ours([0.3, 0.2, 0.1]), false), [3, 3, 3, 1, 1]);
        // Twins that fail: the opposite order, and one pair exchanged.
        assert_eq!(counts(&ours([0.1, 0.2, 0.3]), false), [3, 3, 0, 1, 0]);
        assert_eq!(counts(&ours([0.2, 0.3, 0.1]), false), [3, 3, 2, 1, 0]);
        // Of errors the least is the best.
        assert_eq!(counts(&ours([0.3, 0.2, 0.1]), true), [3, 3, 3, 1, 1]);
        assert_eq!(counts(&ours([0.2, 0.1, 0.15]), true), [3, 3, 2, 1, 0]);
    }

    #[test]
    fn ties_are_no_order() {
        // Published intervals that touch are not apart.
        let touching = [cell(2.0, 0.5, Some(2.0)), cell(1.0, 0.5, Some(1.0))];
        assert_eq!(counts(&touching, false), [0, 0, 0, 1, 1]);
        // Equal means of ours are not in the published order, but share the first place.
        let equal = [cell(2.0, 0.25, Some(1.0)), cell(1.0, 0.25, Some(1.0))];
        assert_eq!(counts(&equal, false), [1, 1, 0, 1, 1]);
        // Of two best published methods one suffices; if all are the best, nothing is compared.
        let tied = [cell(2.0, 0.25, Some(1.0)), cell(2.0, 0.25, Some(3.0)), cell(1.0, 0.25, Some(2.0))];
        assert_eq!(counts(&tied, false), [2, 2, 1, 1, 1]);
        assert_eq!(counts(&tied[..2], false), [0, 0, 0, 0, 0]);
    }

    #[test]
    fn what_is_not_measured_is_not_compared() {
        let missing = [cell(3.0, 0.25, Some(3.0)), cell(2.0, 0.25, None), cell(1.0, 0.25, Some(1.0))];
        assert_eq!(counts(&missing, false), [3, 1, 1, 1, 1]);
        // Without the best method there is no first place to compare.
        let best = [cell(3.0, 0.25, None), cell(2.0, 0.25, Some(2.0)), cell(1.0, 0.25, Some(1.0))];
        assert_eq!(counts(&best, false), [3, 1, 1, 0, 0]);
        // NaN has no order.
        let nan = [cell(3.0, 0.25, Some(f64::NAN)), cell(1.0, 0.25, Some(1.0))];
        assert_eq!(counts(&nan, false), [1, 1, 0, 1, 0]);
        let mut sum = Order::of(&missing, false);
        sum += Order::of(&nan, false);
        assert_eq!(
            sum.to_string(),
            "1 of 2 pairs of methods whose published intervals are apart have the published order in our means (50 %); \
             2 more are not measured. The best method is the same in 1 of 2 comparisons on a data set by a metric."
        );
    }
}
