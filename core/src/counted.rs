//! Counters of evaluations of a target, a family or a surrogate.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Wrapper of a target, a family or a surrogate that counts its evaluations, one per point.
///
/// Costs of estimators are compared in evaluations, never in seconds alone. Counting changes no computed value.
///
/// ```
/// use mcsa_core::{Counted, LogDensity};
/// struct Flat;
/// impl LogDensity for Flat {
///     fn dim(&self) -> usize { 1 }
///     fn log_density(&self, _: &[f64], _: &mut [f64]) -> f64 { 0.0 }
/// }
/// let target = Counted::new(Flat);
/// target.log_densities(mcsa_core::batch(&[0.0; 5], 1, 5), &mut [0.0; 5], &mut []);
/// assert_eq!(target.counts().log_density, 5);
/// ```
#[derive(Debug, Default)]
pub struct Counted<T> {
    inner: T,
    counters: [AtomicU64; KINDS],
}

/// Kind of an evaluation, as in [`Counts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// Log density of a target.
    LogDensity,
    /// Gradient of a target.
    Gradient,
    /// Product of a Hessian with a vector.
    HessianVector,
    /// Likelihood of one datum.
    Term,
    /// Log density of a family.
    LogProb,
    /// Draw from a family.
    Sample,
    /// Score of a family.
    Score,
    /// Gradient of a family's log density in z.
    Slope,
}

const KINDS: usize = 8;

/// Numbers of evaluations, by kind; a batch of `n` points counts `n`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Evaluations of the target's log density alone.
    pub log_density: u64,
    /// Evaluations of the target's gradient, each of which includes the log density.
    pub gradient: u64,
    /// Products of the target's Hessian with a vector.
    pub hessian_vector: u64,
    /// Likelihood terms of single data: values, gradients and products with Hessians, outside of the evaluations above.
    pub terms: u64,
    /// Evaluations of the family's log density.
    pub log_prob: u64,
    /// Draws from the family or, for reparameterised families, of its noise.
    pub sample: u64,
    /// Scores of the family, and pullbacks of gradients through its reparameterisation.
    pub score: u64,
    /// Gradients `d/dz log q` of the family's log density in z.
    pub slope: u64,
}

impl<T> Counted<T> {
    /// Wraps `inner`, with all counts zero.
    pub fn new(inner: T) -> Self {
        Self { inner, counters: Default::default() }
    }

    /// Counts evaluations at some points, for traits of other crates that a counted object implements.
    pub fn add(&self, kind: Evaluation, points: usize) {
        self.counters[kind as usize].fetch_add(points as u64, Relaxed);
    }

    fn numbers(&self) -> [u64; KINDS] {
        self.counters.each_ref().map(|counter| counter.load(Relaxed))
    }

    /// The counts since construction or the last [`reset`](Self::reset).
    pub fn counts(&self) -> Counts {
        // In the order of the kinds.
        let [log_density, gradient, hessian_vector, terms, log_prob, sample, score, slope] = self.numbers();
        Counts { log_density, gradient, hessian_vector, terms, log_prob, sample, score, slope }
    }

    /// Sets all counts to zero.
    pub fn reset(&mut self) {
        self.counters = Default::default();
    }

    /// Runs `look` and restores the counts from before it.
    ///
    /// For checks and measurements whose cost should not be attributed to a method. Evaluations by other threads during the call
    /// are not counted either.
    ///
    /// ```
    /// use mcsa_core::{Counted, LogDensity};
    /// # struct Flat;
    /// # impl LogDensity for Flat {
    /// #     fn dim(&self) -> usize { 1 }
    /// #     fn log_density(&self, _: &[f64], _: &mut [f64]) -> f64 { 0.0 }
    /// # }
    /// let target = Counted::new(Flat);
    /// target.log_density(&[0.0], &mut []);
    /// target.uncounted(|| target.log_density(&[1.0], &mut []));
    /// assert_eq!(target.counts().log_density, 1);
    /// ```
    pub fn uncounted<L>(&self, look: impl FnOnce() -> L) -> L {
        let before = self.numbers();
        let seen = look();
        self.counters.iter().zip(before).for_each(|(counter, number)| counter.store(number, Relaxed));
        seen
    }

    /// The wrapped target, family or surrogate.
    pub fn inner(&self) -> &T {
        &self.inner
    }
}
