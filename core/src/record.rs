//! Metrics of a step: named numbers, each with the reduction that combines its values over several steps.

/// Rule that combines the values of a metric over several steps into one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// The arithmetic mean: rates, effective sample sizes.
    Mean,
    /// The total: counts.
    Sum,
    /// The largest value: suprema.
    Max,
    /// `log(1/n sum_i exp(x_i))`: logarithms of means, such as that of importance weights.
    LogMean,
}

/// Metric: a name, a [`Reduction`], and the number of values that have already been combined into one.
///
/// ```
/// use mcsa_core::Metric;
/// const CLIPPED: Metric = Metric::sum("clipped");
/// assert!(CLIPPED.is(Metric::sum("clipped")) && !CLIPPED.is(Metric::mean("clipped")));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name, such as `acceptance`.
    pub name: &'static str,
    /// The rule that combines values of several steps.
    pub reduction: Reduction,
    parts: u32,
}

impl Metric {
    /// Acceptance rate: the fraction of proposed transitions that are accepted.
    pub const ACCEPTANCE: Self = Self::mean("acceptance");
    /// The largest normalised weight of a batch of candidates, averaged over batches. With a mean near 1, a single candidate has nearly all the
    /// weight in most batches.
    pub const MAX_WEIGHT: Self = Self::mean("max_weight");
    /// The effective sample size of a batch of weighted candidates.
    pub const ESS: Self = Self::mean("ess");
    /// Chains that moved.
    pub const MOVED: Self = Self::sum("moved");
    /// Evaluations that were NaN or `+inf`.
    pub const NON_FINITE: Self = Self::sum("non_finite");
    /// Evaluations of the target that were finite. Only estimators without chains need to report it; with chains, the log densities
    /// at the chains show whether any evaluation was finite.
    pub const FINITE: Self = Self::sum("finite");
    /// Chains, or steps, at which all weights were zero.
    pub const VANISHED: Self = Self::sum("vanished");
    /// Trajectories whose energy error was too large.
    pub const DIVERGENCES: Self = Self::sum("divergences");
    /// The largest log importance weight `log p - log q`.
    pub const LOG_WEIGHT_TOP: Self = Self::max("log_weight_top");
    /// The log of the mean importance weight `p / q` over new draws from q: an estimate of `log Z`; `-inf` if all weights are zero.
    pub const LOG_WEIGHT_MEAN: Self = Self::log_mean("log_weight_mean");
    /// Values that a table of metrics could not record: the table was full, or the reduction differed from that of the metric's
    /// name.
    pub const UNTOLD: Self = Self::sum("untold_metrics");
    /// 1 for a step whose annealed path stands still because all its step sizes are zero, else 0; see
    /// [`StepSizes`](crate::StepSizes).
    pub const STILL: Self = Self::sum("still");

    /// A metric that is averaged over steps.
    pub const fn mean(name: &'static str) -> Self {
        Self { name, reduction: Reduction::Mean, parts: 1 }
    }

    /// A metric that is summed over steps.
    pub const fn sum(name: &'static str) -> Self {
        Self { name, reduction: Reduction::Sum, parts: 1 }
    }

    /// A metric whose largest value over steps is kept.
    pub const fn max(name: &'static str) -> Self {
        Self { name, reduction: Reduction::Max, parts: 1 }
    }

    /// A metric that is a logarithm: over steps, the log of the mean of its exponentials.
    pub const fn log_mean(name: &'static str) -> Self {
        Self { name, reduction: Reduction::LogMean, parts: 1 }
    }

    /// This metric for a value that already combines `parts` values, so that a mean of means weighs every part equally.
    #[must_use]
    pub const fn over(self, parts: u32) -> Self {
        Self { parts, ..self }
    }

    /// The number of values combined into one; 1 unless set by [`over`](Self::over).
    pub const fn parts(self) -> u32 {
        self.parts
    }

    /// True if names and reductions are equal; the numbers of parts may differ.
    pub fn is(self, other: Self) -> bool {
        self.reduction == other.reduction && self.name == other.name
    }
}

/// Types that report the metrics of one step: acceptance, effective sample size, counts of faults.
///
/// ```
/// use mcsa_core::{Metric, Record};
/// struct Info { accepted: f64, clipped: u64 }
/// impl Record for Info {
///     fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
///         sink(Metric::ACCEPTANCE, self.accepted);
///         sink(Metric::sum("clipped"), self.clipped as f64);
///     }
/// }
/// let mut row = Vec::new();
/// Info { accepted: 0.5, clipped: 3 }.record(&mut |metric, value| row.push((metric.name, value)));
/// assert_eq!(row, [("acceptance", 0.5), ("clipped", 3.0)]);
/// ```
pub trait Record {
    /// Calls `sink` with each metric and its value, in a fixed order. All metrics of one name must have one reduction in a program.
    fn record(&self, sink: &mut dyn FnMut(Metric, f64));
}

impl Record for () {
    fn record(&self, _: &mut dyn FnMut(Metric, f64)) {}
}
