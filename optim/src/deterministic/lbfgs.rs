//! L-BFGS: limited-memory quasi-Newton maximisation.

use argmin::core::{IterState, Problem, Solver, State};
use argmin::solver::quasinewton::LBFGS;
use mcsa_core::{Error, Gradient};
use serde::{Deserialize, Serialize};

use super::bisection::Bisection;
use super::memo::{Memo, Objective};
use crate::domain::positive;

/// Limited-memory BFGS (Liu & Nocedal 1989) for maximisation, by argmin with a line search of this crate.
///
/// A run ends as [`Converged`](Outcome::Converged) when the Euclidean norm of the gradient is at most the tolerance. Points at
/// which the function is `-inf` or NaN, or has a gradient that is not finite, are avoided; a start at such a point is an error. A
/// run ends as [`Stalled`](Outcome::Stalled) when the line search finds no step; the peak is then the last point reached.
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
    /// The norm of the gradient is at most the tolerance.
    Converged,
    /// The iterations are used up.
    IterationLimit,
    /// The line search finds no step that increases the value: rounding, a kink, or a wrong gradient.
    Stalled,
    /// There is no maximum: the value is `+inf` at some point, or the run went farther from the origin than `1e10 (1 + |start|)`.
    Unbounded,
}

/// Result of a maximisation: the point, its value, and the reason for the end of the run.
#[must_use = "a climb may have ended without a maximum"]
#[derive(Debug, Clone, PartialEq)]
pub struct Peak {
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

impl Peak {
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
            Outcome::Unbounded => "there is no maximum",
        };
        let reason =
            format!("not converged after {iterations} iterations: {end}; gradient norm {gradient_norm:e}");
        Err(Error::invalid(reason).within("Lbfgs"))
    }
}

/// Largest distance from the origin in a run, as a multiple of `1 + |start|`.
const FARTHEST: f64 = 1e10;

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
    pub fn mode<P: Gradient + ?Sized>(&self, target: &P, start: &[f64]) -> Result<Peak, Error> {
        mcsa_core::same_length("start", target.dim(), start.len()).map_err(|error| error.within("Lbfgs"))?;
        let mut work = vec![0.0; target.work_len(1)];
        self.maximise(|z, gradient| target.gradient_into(z, gradient, &mut work), start)
    }

    /// Maximises a function that returns its value and writes its gradient into a slice, which holds zeros at each call.
    ///
    /// # Errors
    /// If the start, or the value or gradient there, is not finite.
    pub fn maximise(
        &self,
        mut objective: impl FnMut(&[f64], &mut [f64]) -> f64,
        start: &[f64],
    ) -> Result<Peak, Error> {
        self.climb(&mut objective, start, &mut |_, _| {})
    }

    /// Maximisation with an observer: `watch` is called with each iterate and its gradient, beginning with the start.
    pub(crate) fn climb(
        &self,
        objective: Objective<'_>,
        start: &[f64],
        watch: &mut dyn FnMut(&[f64], &[f64]),
    ) -> Result<Peak, Error> {
        mcsa_core::all_finite("start", start).map_err(|error| error.within("Lbfgs"))?;
        let memo = Memo::new(objective);
        let (cost, gradient) = memo.at(start);
        if !cost.is_finite() {
            let reason = "the value or its gradient is not finite at the start; start elsewhere";
            return Err(Error::invalid(reason).within("Lbfgs"));
        }
        let farthest = FARTHEST * (1.0 + norm(start));
        let mut here = Place { point: start.to_vec(), cost, gradient };
        let mut run = Run::new(&memo, self.0.memory, &here)?;
        let mut iterations = 0;
        let outcome = loop {
            watch(&here.point, &here.gradient.iter().map(|g| -g).collect::<Vec<f64>>());
            if norm(&here.gradient) <= self.0.tolerance {
                break Outcome::Converged;
            }
            if memo.has_pole() || norm(&here.point) > farthest {
                break Outcome::Unbounded;
            }
            if iterations == self.0.iterations {
                break Outcome::IterationLimit;
            }
            let Some(next) = run.step()? else {
                let has_fled = memo.has_pole() || norm(&memo.last()) > farthest;
                break if has_fled { Outcome::Unbounded } else { Outcome::Stalled };
            };
            here = next;
            iterations += 1;
        };
        let (gradient_norm, evaluations) = (norm(&here.gradient), memo.evaluations());
        Ok(Peak { point: here.point, value: -here.cost, gradient_norm, iterations, evaluations, outcome })
    }
}

/// Iterate of a run, with the signs of a minimisation: cost is minus the value.
struct Place {
    point: Vec<f64>,
    cost: f64,
    gradient: Vec<f64>,
}

type Iterate = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

/// Run of argmin's L-BFGS, one step at a time.
struct Run<'a> {
    problem: Problem<&'a Memo<'a>>,
    solver: LBFGS<Bisection, Vec<f64>, Vec<f64>, f64>,
    iterate: Iterate,
}

impl<'a> Run<'a> {
    fn new(memo: &'a Memo<'a>, memory: usize, here: &Place) -> Result<Self, Error> {
        let mut problem = Problem::new(memo);
        let mut solver = LBFGS::new(Bisection::default(), memory);
        let iterate =
            Iterate::new().param(here.point.clone()).cost(here.cost).gradient(here.gradient.clone());
        let (iterate, _) = solver.init(&mut problem, iterate).map_err(refused)?;
        Ok(Self { problem, solver, iterate })
    }

    /// The iterate after one more step; `None` if the line search failed, which ends the run.
    fn step(&mut self) -> Result<Option<Place>, Error> {
        let iterate = std::mem::replace(&mut self.iterate, Iterate::new());
        let (mut iterate, _) = self.solver.next_iter(&mut self.problem, iterate).map_err(refused)?;
        if iterate.terminated() {
            return Ok(None);
        }
        iterate.increment_iter();
        let next = iterate.param.clone().zip(iterate.grad.clone());
        let cost = iterate.cost;
        self.iterate = iterate;
        Ok(next.map(|(point, gradient)| Place { point, cost, gradient }))
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
