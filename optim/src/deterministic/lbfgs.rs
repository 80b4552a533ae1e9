//! The climb.

use argmin::core::{IterState, Problem, Solver, State};
use argmin::solver::quasinewton::LBFGS;
use mcsa::{Error, Gradient};
use serde::{Deserialize, Serialize};

use super::bisection::Bisection;
use super::memo::{Memo, Objective};
use crate::domain::positive;

/// Limited-memory BFGS (Liu & Nocedal 1989), ascending, by argmin with a line search of our own.
///
/// It ends [`Converged`](Outcome::Converged) when the Euclidean norm of the gradient is at most the tolerance. Where the target is
/// `-inf`, NaN, or has a gradient that is not finite, it does not go; a start there is an error.
/// It has [`Stalled`](Outcome::Stalled) when its line search finds no step; the peak is then the last point reached.
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
/// # Ok::<(), mcsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings", into = "Settings")]
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

/// Why a climb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The gradient is within the tolerance.
    Converged,
    /// The iterations are used up.
    IterationLimit,
    /// No step goes up: rounding, a kink, or a wrong gradient.
    Stalled,
    /// The value is `+inf` somewhere, or still rises `1e10` times farther off than the start: no maximum.
    Unbounded,
}

/// The highest point of a climb, and how it was reached.
#[must_use = "a climb may have ended without a maximum"]
#[derive(Debug, Clone, PartialEq)]
pub struct Peak {
    /// Where.
    pub point: Vec<f64>,
    /// How high.
    pub value: f64,
    /// The Euclidean norm of the gradient there.
    pub gradient_norm: f64,
    /// Steps taken.
    pub iterations: u64,
    /// Evaluations of value and gradient together.
    pub evaluations: u64,
    /// Why the climb ended.
    pub outcome: Outcome,
}

impl Peak {
    /// The peak, if the climb has converged.
    ///
    /// # Errors
    /// If it has not; the message says how it ended.
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

/// How many times farther than its start a climb may go.
const FARTHEST: f64 = 1e10;

impl Lbfgs {
    /// With another tolerance and other limits; `memory` counts the remembered steps, 10 by default.
    ///
    /// # Errors
    /// If the tolerance is not positive and finite, or there is nothing to iterate or remember.
    pub fn with(tolerance: f64, iterations: u64, memory: usize) -> Result<Self, Error> {
        Self::try_from(Settings { tolerance, iterations, memory })
    }

    /// Climbs to a mode of the target.
    ///
    /// # Errors
    /// If the start has another dimension than the target, or lies where the density or its gradient is not finite.
    pub fn mode<P: Gradient + ?Sized>(&self, target: &P, start: &[f64]) -> Result<Peak, Error> {
        mcsa::same_length("start", target.dim(), start.len()).map_err(|error| error.within("Lbfgs"))?;
        let mut work = vec![0.0; target.work_len(1)];
        self.maximise(|z, gradient| target.gradient_into(z, gradient, &mut work), start)
    }

    /// Climbs any function that writes its gradient, which it is handed as zeros, and returns its value.
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

    /// The climb itself; `watch` sees each iterate and its gradient, the start first.
    pub(crate) fn climb(
        &self,
        objective: Objective<'_>,
        start: &[f64],
        watch: &mut dyn FnMut(&[f64], &[f64]),
    ) -> Result<Peak, Error> {
        mcsa::all_finite("start", start).map_err(|error| error.within("Lbfgs"))?;
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

/// Where a climb stands, in the signs of a descent.
struct Place {
    point: Vec<f64>,
    cost: f64,
    gradient: Vec<f64>,
}

type Iterate = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

/// argmin's solver, step by step.
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

    /// Where one iteration leads; `None` if its line search failed, and then the run is over.
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

impl From<Lbfgs> for Settings {
    fn from(lbfgs: Lbfgs) -> Self {
        lbfgs.0
    }
}
