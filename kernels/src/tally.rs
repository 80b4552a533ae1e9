//! Reduction of the metrics of several kernel steps to the metrics of one.

use mcsa_core::{Metric, Record, Reduction};

use crate::weights::log_add;

/// Capacity of a tally: more metrics than all kernels of this crate record together.
const ROOM: usize = 24;

/// Metrics of a composition of kernels: each metric is reduced over the parts that recorded it, as its [`Reduction`] says.
///
/// ```text
/// mean: 1/n sum x_i     sum: sum x_i     maximum: max x_i     log-mean: log(1/n sum exp(x_i))
/// ```
/// A tally of tallies equals the tally of all their parts: each value is weighted by the number of parts behind it. A step
/// must not allocate, so a tally holds at most 24 metrics. The number of values beyond that capacity is recorded as
/// [`Metric::UNTOLD`].
///
/// ```
/// use mcsa_core::Metric;
/// use mcsa_kernels::{ImhInfo, Tally};
/// let mut tally = Tally::default();
/// tally.add(&ImhInfo { tried: 2, accepted: 1, non_finite: 1, ..ImhInfo::default() });
/// tally.add(&ImhInfo { tried: 2, accepted: 2, non_finite: 2, ..ImhInfo::default() });
/// assert_eq!(tally.value(Metric::ACCEPTANCE), Some(0.75));
/// assert_eq!(tally.value(Metric::NON_FINITE), Some(3.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tally {
    slots: [Slot; ROOM],
    len: usize,
    untold: u32,
}

/// A metric with its running total over the parts so far: the sum of the values, the logarithm of the sum of their
/// exponentials, or the largest value, by the metric's reduction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slot {
    metric: Metric,
    total: f64,
}

impl Slot {
    const EMPTY: Self = Self { metric: Metric::mean(""), total: 0.0 };

    fn add(&mut self, metric: Metric, value: f64) {
        let parts = f64::from(metric.parts());
        self.total = match metric.reduction {
            Reduction::Mean => self.total + value * parts,
            Reduction::Sum => self.total + value,
            Reduction::Max => self.total.max(value),
            Reduction::LogMean => log_add(self.total, value + parts.ln()),
        };
        self.metric = metric.over(self.metric.parts().saturating_add(metric.parts()));
    }

    /// An empty slot for a metric.
    fn of(metric: Metric) -> Self {
        let total = match metric.reduction {
            Reduction::Mean | Reduction::Sum => 0.0,
            Reduction::Max | Reduction::LogMean => f64::NEG_INFINITY,
        };
        Self { metric: metric.over(0), total }
    }

    fn value(&self) -> f64 {
        let parts = f64::from(self.metric.parts());
        match self.metric.reduction {
            Reduction::Mean => self.total / parts,
            Reduction::Sum | Reduction::Max => self.total,
            Reduction::LogMean => self.total - parts.ln(),
        }
    }
}

impl Default for Tally {
    /// A tally without parts.
    fn default() -> Self {
        Self { slots: [Slot::EMPTY; ROOM], len: 0, untold: 0 }
    }
}

impl Tally {
    /// Adds the metrics of one part.
    pub fn add(&mut self, record: &dyn Record) {
        record.record(&mut |metric, value| {
            let known = self.slots[..self.len].iter().position(|slot| slot.metric.is(metric));
            let k = known.unwrap_or(self.len);
            match self.slots.get_mut(k) {
                Some(slot) => {
                    if known.is_none() {
                        *slot = Slot::of(metric);
                        self.len += 1;
                    }
                    slot.add(metric, value);
                }
                // Values that an inner tally had no room for are added one by one to the count.
                None if metric.is(Metric::UNTOLD) => self.untold = self.untold.saturating_add(value as u32),
                None => self.untold = self.untold.saturating_add(1),
            }
        });
    }

    /// The reduced value of a metric, or `None` if no part recorded it.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        self.slots[..self.len].iter().find(|slot| slot.metric.is(metric)).map(Slot::value)
    }
}

impl Record for Tally {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        for slot in &self.slots[..self.len] {
            sink(slot.metric, slot.value());
        }
        if self.untold > 0 {
            sink(Metric::UNTOLD, f64::from(self.untold));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A record of metrics with given values.
    struct Told(Vec<(Metric, f64)>);
    impl Record for Told {
        fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
            self.0.iter().for_each(|(metric, value)| sink(*metric, *value));
        }
    }

    fn told(record: &dyn Record) -> Vec<(&'static str, f64)> {
        let mut row = Vec::new();
        record.record(&mut |metric, value| row.push((metric.name, value)));
        row
    }

    const NAMES: [&str; 26] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t",
        "u", "v", "w", "x", "y", "z",
    ];

    #[test]
    fn reductions_by_hand() {
        let part = |rate: f64, faults: f64, top: f64, weight: f64| {
            Told(vec![
                (Metric::ACCEPTANCE, rate),
                (Metric::NON_FINITE, faults),
                (Metric::LOG_WEIGHT_TOP, top),
                (Metric::LOG_WEIGHT_MEAN, weight.ln()),
            ])
        };
        let mut tally = Tally::default();
        for told in [part(0.5, 3.0, -2.0, 2.0), part(0.25, 4.0, 7.5, 0.0), part(0.75, 5.0, 7.0, 4.0)] {
            tally.add(&told);
        }
        let names = ["acceptance", "non_finite", "log_weight_top", "log_weight_mean"];
        let values = [0.5, 12.0, 7.5, 2.0_f64.ln()];
        for ((name, value), (expected_name, expected)) in
            told(&tally).into_iter().zip(names.into_iter().zip(values))
        {
            assert!(
                name == expected_name && (value - expected).abs() <= 1e-15,
                "{name}: {value}, {expected}"
            );
        }
        assert_eq!(tally.value(Metric::mean("non_finite")), None, "a sum is no mean");
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let many = Told(NAMES.iter().map(|name| (Metric::mean(name), 1.0)).collect());
        let mut tally = Tally::default();
        tally.add(&many);
        tally.add(&many);
        assert_eq!(tally.value(Metric::mean("x")), Some(1.0));
        assert_eq!(told(&tally).len(), ROOM + 1);
        assert_eq!(told(&tally)[ROOM], ("untold_metrics", 4.0));
        // A tally of full tallies counts each lost value once.
        let mut outer = Tally::default();
        outer.add(&tally);
        outer.add(&tally);
        assert_eq!(told(&outer)[ROOM], ("untold_metrics", 8.0));
        // The twin: a tally with room for all values records no count of lost ones.
        let mut few = Tally::default();
        few.add(&Told(NAMES[..ROOM].iter().map(|name| (Metric::sum(name), 1.0)).collect()));
        assert_eq!(told(&few).len(), ROOM);
    }

    fn parts() -> impl Strategy<Value = Vec<Vec<(usize, f64)>>> {
        let one = proptest::collection::vec((0..4_usize, -3.0..3.0_f64), 0..6);
        proptest::collection::vec(one, 1..12)
    }

    proptest! {
        /// Parts may record some of the metrics, and one of them twice; the grouping of parts does not matter.
        #[test]
        fn nested_tallies_are_flat_ones(parts in parts(), cuts in proptest::collection::vec(1..4_usize, 12)) {
            let metrics = [Metric::mean("mean"), Metric::sum("sum"), Metric::max("max"), Metric::log_mean("log")];
            let parts: Vec<Told> = parts
                .into_iter()
                .map(|part| Told(part.into_iter().map(|(k, value)| (metrics[k], value)).collect()))
                .collect();
            let mut flat = Tally::default();
            parts.iter().for_each(|part| flat.add(part));
            let (mut nested, mut rest) = (Tally::default(), &parts[..]);
            for cut in cuts {
                let (group, after) = rest.split_at(cut.min(rest.len()));
                let mut inner = Tally::default();
                group.iter().for_each(|part| inner.add(part));
                nested.add(&inner);
                rest = after;
            }
            for metric in metrics {
                match (flat.value(metric), nested.value(metric)) {
                    (None, None) => {}
                    (Some(flat), Some(nested)) => prop_assert!((flat - nested).abs() < 1e-12, "{metric:?}"),
                    found => prop_assert!(false, "{metric:?}: {found:?}"),
                }
            }
        }
    }
}
