//! L-BFGS: limited-memory quasi-Newton maximisation.

use std::rc::Rc;

use argmin::core::{IterState, Problem, Solver, State};
use argmin::solver::quasinewton::LBFGS;
use mcsa_core::{Error, Gradient};
use serde::{Deserialize, Serialize};

use super::bisection::Bisection;
use super::cached_objective::{CachedObjective, Objective, Place};
use super::metric::Metric;
use crate::rules::positive;

/// Limited-memory BFGS (Liu & Nocedal 1989) for maximisation, by argmin with a line search of this crate.
///
/// A run ends as [`Converged`](Outcome::Converged) when the Euclidean norm of the gradient is at most the tolerance. Points at
/// which the function is `-inf` or NaN, or has a gradient that is not finite, are avoided; a start at such a point is an error. A
/// run ends as [`Stalled`](Outcome::Stalled) when the line search finds no step; the peak is then the last point reached.
///
/// Coordinates in very different units, such as weights of inputs that are not standardised, make a plain run slow: from zero, raw
/// pima takes more than 1,000 steps. A log density has a unit of its own, the standard deviation of its curvature. So
/// [`mode`](Self::mode) goes on, after ten steps, in coordinates scaled by the curvature there, and scales them anew every twenty
/// steps; raw pima then takes 32 steps and 66 gradients. Each scaling costs a gradient per coordinate. The tolerance is from there on
/// one of the Newton step, `(g^T A^-1 g)^(1/2)` with gradient g and curvature A, in standard deviations. Targets of more than 200
/// dimensions are not scaled.
///
/// ```
/// use mcsa_optim::deterministic::Lbfgs;
/// let rosenbrock = |x: &[f64], gradient: &mut [f64]| {
///     let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
///     gradient.copy_from_slice(&[2.0 * a + 400.0 * x[0] * b, -200.0 * b]);
///     -a * a - 100.0 * b * b
/// };
/// let peak = Lbfgs::default().maximise(rosenbrock, &[-1.2, 1.0])?.converged()?;
/// assert!((peak.point[0] - 1.0).abs() < 1e-6 && peak.gradient_norm <= 1e-6);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Lbfgs(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    tolerance: f64,
    iterations: u64,
    memory: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { tolerance: 1e-6, iterations: 1000, memory: 10 }
    }
}

/// Reason for the end of a maximisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The norm of the gradient, or the length of the Newton step, is at most the tolerance.
    Converged,
    /// The iterations are used up.
    IterationLimit,
    /// The line search finds no step that increases the value: rounding, a kink, or a wrong gradient; or the gradient vanishes where
    /// the curvature is not that of a maximum.
    Stalled,
    /// There is next to no curvature in some direction, and the value does not follow it: a ridge, or a maximum at infinity, such as
    /// that of a prior scale that tends to zero.
    Flat,
    /// There is no maximum: the value is `+inf` at some point, or the run went farther from the origin than `1e10 (1 + |start|)`.
    Unbounded,
}

/// Result of a maximisation: the point, its value, and the reason for the end of the run.
#[must_use = "a climb may have ended without a maximum"]
#[derive(Debug, Clone, PartialEq)]
pub struct Maximum {
    /// The maximiser, or the last point reached.
    pub point: Vec<f64>,
    /// The value at the point.
    pub value: f64,
    /// The Euclidean norm of the gradient at the point.
    pub gradient_norm: f64,
    /// The number of L-BFGS steps.
    pub iterations: u64,
    /// The number of evaluations of value and gradient together.
    pub evaluations: u64,
    /// The reason for the end of the run.
    pub outcome: Outcome,
}

impl Maximum {
    /// This peak, if its outcome is [`Converged`](Outcome::Converged).
    ///
    /// # Errors
    /// If it is not; the message gives the reason for the end of the run.
    pub fn converged(self) -> Result<Self, Error> {
        let Self { gradient_norm, iterations, .. } = self;
        let end = match self.outcome {
            Outcome::Converged => return Ok(self),
            Outcome::IterationLimit => "its iterations are used up",
            Outcome::Stalled => "no step goes up",
            Outcome::Flat => "the value is flat along a direction",
            Outcome::Unbounded => "there is no maximum",
        };
        let reason =
            format!("not converged after {iterations} iterations: {end}; gradient norm {gradient_norm:e}");
        Err(Error::invalid(reason).within("Lbfgs"))
    }
}

/// Largest distance from the origin in a run, as a multiple of `1 + |start|`.
const FARTHEST: f64 = 1e10;

/// Steps before coordinates are scaled, and between scalings: of those tried (0 to 40, 3 to 40) the ones with which the posteriors of
/// the tests take the fewest gradients and none runs into the pole of a hierarchical model that has a mode.
const BEFORE: u64 = 10;
const BETWEEN: u64 = 20;

/// Largest dimension in which coordinates are scaled: a scaling costs a gradient per coordinate and `d^3` operations.
const MOST_SCALED: usize = 200;

/// Fall of the value `t` standard deviations away from a mode, as a multiple of `t^2`; a Gaussian falls by `t^2 / 2`.
pub(crate) const FALLS: std::ops::RangeInclusive<f64> = 0.01..=50.0;

/// Observer of a run: called with each iterate, its gradient, and the metric if it begins there.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(&[f64], &[f64], Option<&Metric>);

impl Lbfgs {
    /// L-BFGS with a tolerance of the gradient norm, a limit of the iterations, and a number `memory` of stored steps (10 by
    /// default).
    ///
    /// # Errors
    /// If the tolerance is not positive and finite, or `iterations` or `memory` is 0.
    pub fn with(tolerance: f64, iterations: u64, memory: usize) -> Result<Self, Error> {
        Self::try_from(Settings { tolerance, iterations, memory })
    }

    /// Maximises the log density of the target, from `start` to a mode.
    ///
    /// # Errors
    /// If the start has another dimension than the target, or lies where the density or its gradient is not finite.
    pub fn mode<P: Gradient + ?Sized>(&self, target: &P, start: &[f64]) -> Result<Maximum, Error> {
        mcsa_core::same_length("start", target.dim(), start.len()).map_err(|error| error.within("Lbfgs"))?;
        let mut work = vec![0.0; target.work_len(1)];
        let mut objective = |z: &[f64], gradient: &mut [f64]| target.gradient_into(z, gradient, &mut work);
        self.climb(&mut objective, start, &mut |_, _, _| {})
    }

    /// Maximises a function that returns its value and writes its gradient into a slice, which holds zeros at each call. Coordinates
    /// are not scaled.
    ///
    /// # Errors
    /// If the start, or the value or gradient there, is not finite.
    pub fn maximise(
        &self,
        mut objective: impl FnMut(&[f64], &mut [f64]) -> f64,
        start: &[f64],
    ) -> Result<Maximum, Error> {
        let mut run = Run::new(&mut objective, start)?;
        let outcome = run.stretch(self, self.0.iterations, &mut |_, _, _| {})?;
        Ok(run.peak(outcome))
    }

    /// Maximisation of a log density with an observer, in coordinates scaled by its curvature.
    pub(crate) fn climb(
        &self,
        objective: Objective<'_>,
        start: &[f64],
        watch: Watch<'_>,
    ) -> Result<Maximum, Error> {
        let mut run = Run::new(objective, start)?;
        let most = if start.len() > MOST_SCALED { self.0.iterations } else { BEFORE };
        let mut outcome = run.stretch(self, most, watch)?;
        while run.goes_on(outcome) && run.iterations < self.0.iterations && start.len() <= MOST_SCALED {
            if !run.scale() {
                break;
            }
            outcome = run.stretch(self, BETWEEN, watch)?;
        }
        Ok(run.peak(outcome))
    }
}

type Iterate = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

/// Run of argmin's L-BFGS, in stretches with coordinates of their own.
struct Run<'a> {
    memo: CachedObjective<'a>,
    metric: Option<Rc<Metric>>,
    here: Place,
    farthest: f64,
    iterations: u64,
    /// Number of iterations at the last scaling.
    scaled: u64,
}

impl<'a> Run<'a> {
    fn new(objective: Objective<'a>, start: &[f64]) -> Result<Self, Error> {
        mcsa_core::all_finite("start", start).map_err(|error| error.within("Lbfgs"))?;
        let memo = CachedObjective::new(objective, start);
        let here = memo.last();
        if !here.cost.is_finite() {
            let reason = "the value or its gradient is not finite at the start; start elsewhere";
            return Err(Error::invalid(reason).within("Lbfgs"));
        }
        let farthest = FARTHEST * (1.0 + norm(start));
        Ok(Self { memo, metric: None, here, farthest, iterations: 0, scaled: 0 })
    }

    /// At most `most` steps from here, or until the run ends.
    fn stretch(&mut self, lbfgs: &Lbfgs, most: u64, watch: Watch<'_>) -> Result<Outcome, Error> {
        let Settings { tolerance, iterations, memory } = lbfgs.0;
        let last = iterations.min(self.iterations.saturating_add(most));
        let (point, gradient) = self.memo.begin(&self.here, self.metric.clone());
        let mut problem = Problem::new(&self.memo);
        let mut solver = LBFGS::new(Bisection::default(), memory);
        let iterate = Iterate::new().param(point).cost(self.here.cost).gradient(gradient);
        let (mut iterate, _) = solver.init(&mut problem, iterate).map_err(refused)?;
        let mut scaled = self.metric.as_deref();
        loop {
            let uphill: Vec<f64> = self.here.gradient.iter().map(|g| -g).collect();
            watch(&self.here.point, &uphill, scaled.take());
            if norm(&self.memo.pulled(&self.here)) <= tolerance {
                return Ok(Outcome::Converged);
            }
            if self.memo.has_pole() || norm(&self.here.point) > self.farthest {
                return Ok(Outcome::Unbounded);
            }
            if self.iterations == last {
                return Ok(Outcome::IterationLimit);
            }
            let (mut next, _) = solver.next_iter(&mut problem, iterate).map_err(refused)?;
            let reached = self.memo.last();
            if next.terminated() {
                let has_fled = self.memo.has_pole() || norm(&reached.point) > self.farthest;
                return Ok(if has_fled { Outcome::Unbounded } else { Outcome::Stalled });
            }
            next.increment_iter();
            (iterate, self.here) = (next, reached);
            self.iterations += 1;
        }
    }

    /// True if a stretch that ended with this outcome shall be followed by another one.
    fn goes_on(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::IterationLimit => true,
            // The gradient vanishes, or no step goes up, in coordinates that do not fit here.
            Outcome::Stalled => self.metric.is_none(),
            Outcome::Converged => {
                self.metric.as_ref().is_some_and(|metric| !metric.is_definite)
                    && self.iterations > self.scaled
            }
            Outcome::Flat | Outcome::Unbounded => false,
        }
    }

    /// Scales the coordinates by the curvature here; false if it is not finite.
    fn scale(&mut self) -> bool {
        let gradient_at = |z: &[f64]| {
            let place = self.memo.aside(z);
            place.cost.is_finite().then_some(place.gradient)
        };
        let metric = Metric::at(&self.here.point, &self.here.gradient, gradient_at);
        self.scaled = self.iterations;
        self.metric = metric.map(Rc::new).or(self.metric.take());
        self.metric.is_some()
    }

    /// The point reached. A maximum in scaled coordinates must have the curvature of one.
    fn peak(self, outcome: Outcome) -> Maximum {
        let Place { point, cost, gradient } = &self.here;
        let outcome = match (outcome, &self.metric) {
            (Outcome::Converged | Outcome::Stalled, Some(metric)) if self.is_flat(metric) => Outcome::Flat,
            (Outcome::Converged, Some(metric)) if !metric.is_definite => Outcome::Stalled,
            _ => outcome,
        };
        Maximum {
            point: point.clone(),
            value: -cost,
            gradient_norm: norm(gradient),
            iterations: self.iterations,
            evaluations: self.memo.evaluations(),
            outcome,
        }
    }

    /// True if the value does not follow its curvature along an axis on which there is next to none.
    fn is_flat(&self, metric: &Metric) -> bool {
        let Place { point, cost, .. } = &self.here;
        metric.long_axes(point).any(|(axis, length)| {
            [length, -length].iter().any(|length| {
                let aside: Vec<f64> = point.iter().zip(axis).map(|(z, c)| z + length * c).collect();
                let fall = (self.memo.aside(&aside).cost - cost) / (length * length);
                !FALLS.contains(&fall)
            })
        })
    }
}

fn refused(error: argmin::core::Error) -> Error {
    Error::invalid(format!("argmin: {error}")).within("Lbfgs")
}

pub(crate) fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

impl Default for Lbfgs {
    /// Tolerance `1e-6`, 1000 iterations, 10 remembered steps.
    fn default() -> Self {
        Self(Settings::default())
    }
}

impl TryFrom<Settings> for Lbfgs {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        let within = |error: Error| error.within("Lbfgs");
        positive("tolerance", settings.tolerance).map_err(within)?;
        if settings.iterations == 0 {
            return Err(within(Error::parameter("iterations", 0.0, "at least 1")));
        }
        if settings.memory == 0 {
            return Err(within(Error::parameter("memory", 0.0, "at least 1")));
        }
        Ok(Self(settings))
    }
}
