//! Metrics of a step: named numbers, each with the reduction that joins it with the numbers of other steps.

/// The rule by which a metric of several steps becomes one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// The arithmetic mean: rates, effective sample sizes.
    Mean,
    /// The total: counts.
    Sum,
    /// The largest value: bounds that were seen.
    Max,
    /// `log(1/n sum_i exp(x_i))`: logarithms of means, such as that of importance weights.
    LogMean,
}

/// A metric: its name, its [`Reduction`], and the number of parts its value already stands for.
///
/// ```
/// use mcsa::Metric;
/// const CLIPPED: Metric = Metric::sum("clipped");
/// assert!(CLIPPED.is(Metric::sum("clipped")) && !CLIPPED.is(Metric::mean("clipped")));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name, such as `acceptance`.
    pub name: &'static str,
    /// How values of several steps become one.
    pub reduction: Reduction,
    parts: u32,
}

impl Metric {
    /// Accepted transitions over those tried.
    pub const ACCEPTANCE: Self = Self::mean("acceptance");
    /// The largest normalised weight of a batch of candidates. Its mean over batches is what is followed: near 1, one candidate
    /// decides in most batches.
    pub const MAX_WEIGHT: Self = Self::mean("max_weight");
    /// The effective sample size of a batch of weighted candidates.
    pub const ESS: Self = Self::mean("ess");
    /// Chains that moved.
    pub const MOVED: Self = Self::sum("moved");
    /// Evaluations that were NaN or `+inf`.
    pub const NON_FINITE: Self = Self::sum("non_finite");
    /// Evaluations of the target that were finite. Only estimators without chains need to tell it: for the others the densities at
    /// the chains say whether anything finite was ever seen.
    pub const FINITE: Self = Self::sum("finite");
    /// Chains, or steps, at which all weights were zero.
    pub const VANISHED: Self = Self::sum("vanished");
    /// Trajectories whose energy error was too large.
    pub const DIVERGENCES: Self = Self::sum("divergences");
    /// The largest `log p - log q` seen.
    pub const LOG_WEIGHT_TOP: Self = Self::max("log_weight_top");
    /// The log of the mean weight `p / q` of fresh draws of q, `-inf` if all were zero: an estimate of `log Z`.
    pub const LOG_WEIGHT_MEAN: Self = Self::log_mean("log_weight_mean");
    /// Values for which a table of metrics had no room, or whose reduction was not the one that is expected of their name.
    pub const UNTOLD: Self = Self::sum("untold_metrics");

    /// A metric whose mean over steps is meant.
    pub const fn mean(name: &'static str) -> Self {
        Self { name, reduction: Reduction::Mean, parts: 1 }
    }

    /// A metric whose total over steps is meant.
    pub const fn sum(name: &'static str) -> Self {
        Self { name, reduction: Reduction::Sum, parts: 1 }
    }

    /// A metric whose largest value over steps is meant.
    pub const fn max(name: &'static str) -> Self {
        Self { name, reduction: Reduction::Max, parts: 1 }
    }

    /// A logarithm; the log of the mean over steps is meant.
    pub const fn log_mean(name: &'static str) -> Self {
        Self { name, reduction: Reduction::LogMean, parts: 1 }
    }

    /// The same metric for a value that is already reduced from `parts` values, so that means of means weigh every part equally.
    #[must_use]
    pub const fn over(self, parts: u32) -> Self {
        Self { parts, ..self }
    }

    /// The number of values that went into the value told; 1 unless a composition says otherwise.
    pub const fn parts(self) -> u32 {
        self.parts
    }

    /// Whether name and reduction agree, whatever the number of parts.
    pub fn is(self, other: Self) -> bool {
        self.reduction == other.reduction && self.name == other.name
    }
}

/// The metrics of one step: acceptance, effective sample size, counts of faults.
///
/// ```
/// use mcsa::{Metric, Record};
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
    /// Hands every metric with its value to `sink`, always in the same order. Under one name a program has one reduction.
    fn record(&self, sink: &mut dyn FnMut(Metric, f64));
}

impl Record for () {
    fn record(&self, _: &mut dyn FnMut(Metric, f64)) {}
}
