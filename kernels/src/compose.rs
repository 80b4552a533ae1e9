//! Combinations of kernels: cycles, mixtures, repetitions, and the metrics of several steps as those of one.

use faer::{Mat, MatRef};
use mcsa_core::{
    ChainState, Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Reduction, Stream,
    at_least_one, bits, fits_in_memory, numeric, same_length,
};
use serde::{Deserialize, Serialize};

/// Kernel in detailed balance with every target p, `p(z) K(z, dy) = p(y) K(y, dz)`, at a fixed proposal.
///
/// [`DelayedAcceptance`](crate::DelayedAcceptance) needs it of its inner kernel. Several sweeps of one reversible kernel are reversible;
/// one kernel after another in general is not, so this does not compile:
///
/// ```compile_fail,E0277
/// use mcsa_core::Kernel;
/// use mcsa_kernels::{Cis, Cycle, DelayedAcceptance, Imh};
/// let (target, surrogate) = (mcsa_models::Gaussian::standard(1), mcsa_models::Gaussian::standard(1));
/// let inner = Cycle { first: Imh::default(), second: Cis::with_fresh(4) };
/// Kernel::init(&DelayedAcceptance { inner, surrogate }, &target, faer::Mat::zeros(1, 1))?;
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub trait Reversible {}

/// Cycle of two kernels, `K_1 K_2`: every step applies the first, then the second. Invariant if both are; in general not
/// reversible.
#[derive(Debug, Clone, PartialEq)]
pub struct Cycle<A, B> {
    /// The kernel that moves the chains first.
    pub first: A,
    /// The kernel that moves the chains second.
    pub second: B,
}

/// Mixture of two kernels, `w K_1 + (1 - w) K_2`: every step applies one of the two, drawn anew. Invariant, and reversible,
/// if both are.
///
/// The first lane draws the kernel for all chains, so that every step moves all chains as one batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture<A, B> {
    first: A,
    second: B,
    weight: f64,
}

impl<A, B> Mixture<A, B> {
    /// The mixture that applies `first` with probability `weight`, else `second`.
    ///
    /// # Errors
    /// If the weight is outside `[0, 1]`.
    pub fn new(weight: f64, first: A, second: B) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&weight) {
            return Err(Error::parameter("weight", weight, "between 0 and 1").within("Mixture"));
        }
        Ok(Self { first, second, weight })
    }
}

/// The state of a [`Cycle`] or [`Mixture`]: one state per kernel. The chains are those of the first state; they are copied
/// to the second before the second kernel moves them, and copied back afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Composed<A, B> {
    first: A,
    second: B,
}

impl<A: ChainState, B: ChainState> ChainState for Composed<A, B> {
    fn chains(&self) -> &Ensemble {
        self.first.chains()
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.first.chains_mut()
    }
}

impl<A: Reversible, B: Reversible> Reversible for Mixture<A, B> {}

/// [`Kernel`] of two kernels, from which of them a step uses and the text of further fields of the configuration.
macro_rules! two_kernels {
    ($name:ident, |$kernel:ident, $lanes:ident| $uses:expr, $rest:expr) => {
        impl<P: LogDensity + ?Sized, A: Kernel<P>, B: Kernel<P>> Kernel<P> for $name<A, B> {
            type State = Composed<A::State, B::State>;
            type Info = Tally;

            fn config(&self) -> String {
                let ($kernel, first, second) = (self, self.first.config(), self.second.config());
                format!("{} {{ first: {first}, second: {second}{} }}", stringify!($name), $rest)
            }

            fn verify(&self, target: &P, state: &Self::State) -> Result<(), Error> {
                // The second kernel receives the first kernel's chains before it moves them.
                self.first.verify(target, &state.first)
            }

            fn columns(&self, chains: usize) -> usize {
                self.first.columns(chains).max(self.second.columns(chains))
            }

            fn work_len(&self, target: &P, chains: usize) -> usize {
                self.first.work_len(target, chains).max(self.second.work_len(target, chains))
            }

            fn init(&self, target: &P, positions: Mat<f64>) -> Result<Self::State, Error> {
                let first = self.first.init(target, positions.clone())?;
                Ok(Composed { first, second: self.second.init(target, positions)? })
            }

            fn start(
                &self,
                target: &P,
                positions: Mat<f64>,
                lanes: &mut [Stream],
            ) -> Result<Self::State, Error> {
                let first = self.first.start(target, positions.clone(), lanes)?;
                Ok(Composed { first, second: self.second.start(target, positions, lanes)? })
            }

            fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), Error> {
                self.first
                    .check(target, chains, &state.first)
                    .and_then(|()| self.second.check(target, chains, &state.second))
                    .map_err(|error| error.within(stringify!($name)))
            }

            fn step(
                &self,
                target: &P,
                proposal: &mut dyn Proposal,
                state: &mut Self::State,
                $lanes: &mut [Stream],
                work: &mut [f64],
            ) -> Tally {
                let ($kernel, mut tally) = (self, Tally::default());
                let (uses_first, uses_second) = $uses;
                if uses_first {
                    tally.add(&self.first.step(target, proposal, &mut state.first, $lanes, work));
                }
                if uses_second {
                    state.second.chains_mut().copy_from(state.first.chains());
                    tally.add(&self.second.step(target, proposal, &mut state.second, $lanes, work));
                    state.first.chains_mut().copy_from(state.second.chains());
                }
                tally
            }
        }
    };
}

two_kernels!(Cycle, |_kernel, lanes| (true, true), "");
two_kernels!(
    Mixture,
    |kernel, lanes| {
        let first = lanes.first_mut().is_none_or(|lane| lane.accept(kernel.weight.ln()));
        (first, !first)
    },
    format!(", weight: {:?}", kernel.weight)
);

/// A kernel applied `times` times within one step, at a fixed proposal. The cloud consists of every visited point.
///
/// ```text
/// K^n(z, .)
/// ```
///
/// For [`Imh`](crate::Imh) prefer its `sweeps`: the same transitions, with all proposals in one batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat<K> {
    /// The repeated kernel.
    pub kernel: K,
    /// Number of transitions per step; at least one.
    pub times: usize,
}

/// The state of [`Repeat`]: the repeated kernel's state, and the points visited in the last step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepeatState<S> {
    inner: S,
    /// Visited points, transition by transition; within a transition one column per chain.
    #[serde(with = "bits::matrix")]
    visited: Mat<f64>,
}

impl<S: ChainState> ChainState for RepeatState<S> {
    fn chains(&self) -> &Ensemble {
        self.inner.chains()
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.inner.chains_mut()
    }

    fn points(&self) -> MatRef<'_, f64> {
        self.visited.as_ref()
    }
}

impl<K> Repeat<K> {
    /// Memory for the visited points, filled with the starting points.
    fn room(&self, positions: &Mat<f64>) -> Result<Mat<f64>, Error> {
        let (chains, dim) = (positions.ncols(), positions.nrows());
        at_least_one("times", self.times)
            .and_then(|()| fits_in_memory("chains times transitions", chains.saturating_mul(self.times), dim))
            .map_err(|error| error.within("Repeat"))?;
        Ok(Mat::from_fn(dim, chains * self.times, |i, k| positions[(i, k % chains)]))
    }
}

impl<K: Reversible> Reversible for Repeat<K> {}

impl<P: LogDensity + ?Sized, K: Kernel<P>> Kernel<P> for Repeat<K> {
    type State = RepeatState<K::State>;
    type Info = Tally;

    fn config(&self) -> String {
        format!("Repeat {{ kernel: {}, times: {} }}", self.kernel.config(), self.times)
    }

    fn verify(&self, target: &P, state: &Self::State) -> Result<(), Error> {
        self.kernel.verify(target, &state.inner)
    }

    fn columns(&self, chains: usize) -> usize {
        self.kernel.columns(chains).max(chains.saturating_mul(self.times))
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        self.kernel.work_len(target, chains)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Self::State, Error> {
        let visited = self.room(&positions)?;
        Ok(RepeatState { inner: self.kernel.init(target, positions)?, visited })
    }

    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Self::State, Error> {
        let visited = self.room(&positions)?;
        Ok(RepeatState { inner: self.kernel.start(target, positions, lanes)?, visited })
    }

    fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), Error> {
        self.kernel
            .check(target, chains, &state.inner)
            .and_then(|()| same_length("visited states", chains * self.times, state.visited.ncols()))
            .and_then(|()| same_length("a visited state", target.dim(), state.visited.nrows()))
            .map_err(|error| error.within("Repeat"))
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut Self::State,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> Tally {
        let mut tally = Tally::default();
        for k in 0..self.times {
            tally.add(&self.kernel.step(target, proposal, &mut state.inner, lanes, work));
            let positions = state.inner.chains().positions.as_ref();
            state.visited.as_mut().subcols_mut(k * lanes.len(), lanes.len()).copy_from(positions);
        }
        tally
    }
}

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
            Reduction::LogMean => numeric::log_add_exp(self.total, value + parts.ln()),
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
        record.record(&mut |metric, value| self.push(metric, value));
    }

    /// Adds a metric of one part.
    pub(crate) fn push(&mut self, metric: Metric, value: f64) {
        let known = self.slots[..self.len].iter().position(|slot| slot.metric.is(metric));
        match self.slots.get_mut(known.unwrap_or(self.len)) {
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

    fn add(tally: &mut Tally, part: &[(Metric, f64)]) {
        part.iter().for_each(|(metric, value)| tally.push(*metric, *value));
    }

    fn told(record: &dyn Record) -> Vec<(&'static str, f64)> {
        let mut row = Vec::new();
        record.record(&mut |metric, value| row.push((metric.name, value)));
        row
    }

    /// One metric per letter, with the value 1.
    fn alphabet(letters: &'static str, metric: fn(&'static str) -> Metric) -> Vec<(Metric, f64)> {
        (0..letters.len()).map(|k| (metric(&letters[k..=k]), 1.0)).collect()
    }

    #[test]
    fn reductions_by_hand() {
        let part = |rate: f64, faults: f64, top: f64, weight: f64| {
            [
                (Metric::ACCEPTANCE, rate),
                (Metric::NON_FINITE, faults),
                (Metric::LOG_WEIGHT_TOP, top),
                (Metric::LOG_WEIGHT_MEAN, weight.ln()),
            ]
        };
        let mut tally = Tally::default();
        for told in [part(0.5, 3.0, -2.0, 2.0), part(0.25, 4.0, 7.5, 0.0), part(0.75, 5.0, 7.0, 4.0)] {
            add(&mut tally, &told);
        }
        let expected = [
            ("acceptance", 0.5),
            ("non_finite", 12.0),
            ("log_weight_top", 7.5),
            ("log_weight_mean", 2.0_f64.ln()),
        ];
        for ((name, value), (expected_name, expected)) in told(&tally).into_iter().zip(expected) {
            assert!(
                name == expected_name && (value - expected).abs() <= 1e-15,
                "{name}: {value}, {expected}"
            );
        }
        assert_eq!(tally.value(Metric::mean("non_finite")), None, "a sum is no mean");
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let many = alphabet("abcdefghijklmnopqrstuvwxyz", Metric::mean);
        let mut tally = Tally::default();
        add(&mut tally, &many);
        add(&mut tally, &many);
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
        add(&mut few, &alphabet("abcdefghijklmnopqrstuvwx", Metric::sum));
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
            let named = |part: Vec<(usize, f64)>| part.into_iter().map(|(k, value)| (metrics[k], value)).collect();
            let parts: Vec<Vec<(Metric, f64)>> = parts.into_iter().map(named).collect();
            let mut flat = Tally::default();
            parts.iter().for_each(|part| add(&mut flat, part));
            let (mut nested, mut rest) = (Tally::default(), &parts[..]);
            for cut in cuts {
                let (group, after) = rest.split_at(cut.min(rest.len()));
                let mut inner = Tally::default();
                group.iter().for_each(|part| add(&mut inner, part));
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
