//! L-BFGS: limited-memory quasi-Newton maximisation, with its line search and the metric of its coordinates.

use std::cell::RefCell;
use std::rc::Rc;

use argmin::core::{
    ArgminError, CostFunction, IterState, KV, LineSearch, Problem, Solver, State, TerminationReason,
};
use argmin::solver::quasinewton::LBFGS;
use faer::{Mat, Side};
use mcsa_core::{Error, Gradient, all_finite, at_least_one, fits_in_memory, positive, same_length};
use serde::{Deserialize, Serialize};

/// Limited-memory BFGS (Liu & Nocedal 1989) for maximisation, by argmin with a line search of this crate.
///
/// A run ends as [`Converged`](Outcome::Converged) when the Euclidean norm of the gradient is at most the tolerance. Points at
/// which the function is `-inf` or NaN, or has a gradient that is not finite, are avoided; a start at such a point is an error. A
/// run ends as [`Stalled`](Outcome::Stalled) when the line search finds no step; the peak is then the last point reached.
///
/// Coordinates in very different units, such as weights of inputs that are not standardised, make a plain run slow. From zero, a
/// hierarchical regression of the raw `pima` data takes more than 1,000 steps. A log density has a natural unit of length, the
/// standard deviation of the Gaussian with its curvature. So [`mode`](Self::mode) scales the coordinates by the curvature after
/// ten steps, and anew every twenty steps. The same regression then takes 32 steps and 66 gradients. Each scaling costs a
/// gradient per coordinate.
///
/// From the first scaling on, the tolerance is one of the length of the Newton step in standard deviations. This length is
/// `(g^T A^-1 g)^(1/2)` with gradient g and curvature A. Targets of more than 200 dimensions are not scaled.
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// The curvature is nearly zero in some direction, and the value does not fall there as that curvature says. The function has
    /// a ridge, or a maximum at infinity, such as that of a prior scale that tends to zero.
    Flat,
    /// There is no maximum: the value is `+inf` at some point, or the run went farther from the origin than `1e10 (1 + |start|)`.
    Unbounded,
    /// The caller's condition holds at the last point: see [`Lbfgs::maximise_until`].
    Ended,
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
            Outcome::Ended => "the caller ended it",
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

/// Observer of a run: called with each iterate, its gradient, and the metric if it begins there.
pub(super) type Watch<'a> = &'a mut dyn FnMut(&[f64], &[f64], Option<&Metric>);

impl Lbfgs {
    /// L-BFGS with a tolerance of the gradient norm, a limit of the iterations, and a number `memory` of stored steps; by default
    /// `1e-6`, 1000 and 10.
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
        same_length("start", target.dim(), start.len()).map_err(|error| error.within("Lbfgs"))?;
        let mut work = vec![0.0; target.work_len(1)];
        self.mode_of(|z, gradient| target.gradient_into(z, gradient, &mut work), start)
    }

    /// As [`mode`](Self::mode), of a function that returns the log density and writes its gradient into a slice, which holds zeros at
    /// each call.
    ///
    /// # Errors
    /// If the start, or the value or gradient there, is not finite.
    pub fn mode_of(
        &self,
        mut log_density: impl FnMut(&[f64], &mut [f64]) -> f64,
        start: &[f64],
    ) -> Result<Maximum, Error> {
        self.climb(&mut log_density, start, &mut |_, _, _| {})
    }

    /// Maximises a function that returns its value and writes its gradient into a slice, which holds zeros at each call. Coordinates
    /// are not scaled.
    ///
    /// # Errors
    /// If the start, or the value or gradient there, is not finite.
    pub fn maximise(
        &self,
        objective: impl FnMut(&[f64], &mut [f64]) -> f64,
        start: &[f64],
    ) -> Result<Maximum, Error> {
        self.maximise_until(objective, start, |_, _| false)
    }

    /// As [`maximise`](Self::maximise), up to the first iterate whose point and value fulfil `ends`.
    ///
    /// # Errors
    /// As [`maximise`](Self::maximise).
    pub fn maximise_until(
        &self,
        mut objective: impl FnMut(&[f64], &mut [f64]) -> f64,
        start: &[f64],
        ends: impl Fn(&[f64], f64) -> bool,
    ) -> Result<Maximum, Error> {
        let mut run = Run { ends: &ends, ..Run::new(&mut objective, start)? };
        let outcome = run.stretch(self, self.0.iterations, &mut |_, _, _| {})?;
        Ok(run.peak(outcome))
    }

    /// Maximisation of a log density with an observer, in coordinates scaled by its curvature.
    pub(super) fn climb(
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

/// State that argmin keeps for an iteration, of a run or of a line search.
type Iterate = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

/// Run of argmin's L-BFGS, in stretches with coordinates of their own.
struct Run<'a> {
    cache: CachedObjective<'a>,
    metric: Option<Rc<Metric>>,
    here: Place,
    farthest: f64,
    iterations: u64,
    /// Number of iterations at the last scaling.
    scaled: u64,
    /// Condition of a point and its value with which the run ends.
    ends: &'a dyn Fn(&[f64], f64) -> bool,
}

impl<'a> Run<'a> {
    fn new(objective: Objective<'a>, start: &[f64]) -> Result<Self, Error> {
        all_finite("start", start).map_err(|error| error.within("Lbfgs"))?;
        let cache = CachedObjective::new(objective, start);
        let here = cache.0.borrow().place.clone();
        if !here.cost.is_finite() {
            let reason = "the value or its gradient is not finite at the start; start elsewhere";
            return Err(Error::invalid(reason).within("Lbfgs"));
        }
        let farthest = FARTHEST * (1.0 + norm(start));
        Ok(Self { cache, metric: None, here, farthest, iterations: 0, scaled: 0, ends: &|_, _| false })
    }

    /// At most `most` steps from here, or until the run ends.
    fn stretch(&mut self, lbfgs: &Lbfgs, most: u64, watch: Watch<'_>) -> Result<Outcome, Error> {
        let Settings { tolerance, iterations, memory } = lbfgs.0;
        let last = iterations.min(self.iterations.saturating_add(most));
        let (point, gradient) = self.cache.begin(&self.here, self.metric.clone());
        let mut problem = Problem::new(&self.cache);
        let mut solver = LBFGS::new(Bisection::default(), memory);
        let iterate = Iterate::new().param(point).cost(self.here.cost).gradient(gradient);
        let (mut iterate, _) = solver.init(&mut problem, iterate).map_err(refused)?;
        let mut scaled = self.metric.as_deref();
        loop {
            let uphill: Vec<f64> = self.here.gradient.iter().map(|g| -g).collect();
            watch(&self.here.point, &uphill, scaled.take());
            if (self.ends)(&self.here.point, -self.here.cost) {
                return Ok(Outcome::Ended);
            }
            if norm(&self.cache.0.borrow().pulled(&self.here.gradient)) <= tolerance {
                return Ok(Outcome::Converged);
            }
            if self.cache.0.borrow().has_pole || norm(&self.here.point) > self.farthest {
                return Ok(Outcome::Unbounded);
            }
            if self.iterations == last {
                return Ok(Outcome::IterationLimit);
            }
            let (mut next, _) = solver.next_iter(&mut problem, iterate).map_err(refused)?;
            let reached = self.cache.0.borrow().place.clone();
            if next.terminated() {
                let has_fled = self.cache.0.borrow().has_pole || norm(&reached.point) > self.farthest;
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
            Outcome::Flat | Outcome::Unbounded | Outcome::Ended => false,
        }
    }

    /// Scales the coordinates by the curvature here; false if it is not finite.
    fn scale(&mut self) -> bool {
        let gradient_at = |z: &[f64]| {
            let place = self.cache.0.borrow_mut().evaluate(z.to_vec());
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
            evaluations: self.cache.0.borrow().evaluations,
            outcome,
        }
    }

    /// True if the value does not follow its curvature along an axis on which there is next to none.
    fn is_flat(&self, metric: &Metric) -> bool {
        let axes = (0..self.here.point.len()).map(|k| metric.factor.col_as_slice(k).to_vec());
        is_flat(&self.here.point, axes, |z| {
            self.cache.0.borrow_mut().evaluate(z.to_vec()).cost - self.here.cost
        })
    }
}

/// Fall of the value `t` standard deviations away from a mode, as a multiple of `t^2`; a Gaussian falls by `t^2 / 2`.
const FALLS: std::ops::RangeInclusive<f64> = 0.01..=50.0;

/// Length of an axis in a coordinate `z`, as a multiple of `1 + |z|`, from which it is long.
const LONG: f64 = 10.0;

/// True if the value does not fall like that of a Gaussian along one of the `axes`, each of one standard deviation.
///
/// Only axes that exceed `LONG` times `1 + |z|` in a coordinate `z` of the mode are examined, at that distance on both sides.
/// `fall` is the fall of the value from the mode to a point.
pub(super) fn is_flat(
    mode: &[f64],
    mut axes: impl Iterator<Item = Vec<f64>>,
    fall: impl Fn(&[f64]) -> f64,
) -> bool {
    axes.any(|axis| {
        let within = axis.iter().zip(mode).map(|(c, z)| LONG * (1.0 + z.abs()) / c.abs());
        let within = within.fold(f64::INFINITY, f64::min);
        within < 1.0
            && [within, -within].iter().any(|t| {
                let aside: Vec<f64> = mode.iter().zip(&axis).map(|(z, c)| z + t * c).collect();
                !FALLS.contains(&(fall(&aside) / (t * t)))
            })
    })
}

fn refused(error: argmin::core::Error) -> Error {
    Error::invalid(format!("argmin: {error}")).within("Lbfgs")
}

pub(super) fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Numbers that each pair of the memory reserves at once; the vectors themselves are made one by one.
const PAIR: usize = 16;

impl TryFrom<Settings> for Lbfgs {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        let within = |error: Error| error.within("Lbfgs");
        positive("tolerance", settings.tolerance).map_err(within)?;
        if settings.iterations == 0 {
            return Err(within(Error::parameter("iterations", 0.0, "at least 1")));
        }
        at_least_one("memory", settings.memory)
            .and_then(|()| fits_in_memory("memory", settings.memory, PAIR))
            .map_err(within)?;
        Ok(Self(settings))
    }
}

/// Function to be maximised: writes its gradient and returns its value.
type Objective<'a> = &'a mut dyn FnMut(&[f64], &mut [f64]) -> f64;

/// Minus the objective, with a cache of the last point: argmin asks for cost and gradient in separate calls, and twice at the
/// points of a line search. Argmin's points are in the coordinates of a metric, if there is one.
struct CachedObjective<'a>(RefCell<Last<'a>>);

struct Last<'a> {
    objective: Objective<'a>,
    metric: Option<Rc<Metric>>,
    /// Argmin's point, and the gradient there.
    point: Vec<f64>,
    slopes: Vec<f64>,
    place: Place,
    evaluations: u64,
    has_pole: bool,
}

/// Point in the coordinates of the objective, with the signs of a minimisation: cost is minus the value.
#[derive(Clone)]
struct Place {
    point: Vec<f64>,
    cost: f64,
    gradient: Vec<f64>,
}

impl Last<'_> {
    /// If the value or its gradient is not finite, the cost is infinite and the gradient zero.
    fn evaluate(&mut self, point: Vec<f64>) -> Place {
        let mut gradient = vec![0.0; point.len()];
        let value = (self.objective)(&point, &mut gradient);
        self.evaluations += 1;
        self.has_pole |= value == f64::INFINITY;
        gradient.iter_mut().for_each(|g| *g = -*g);
        let mut cost = -value;
        if !(value.is_finite() && gradient.iter().all(|g| g.is_finite())) {
            cost = f64::INFINITY;
            gradient.fill(0.0);
        }
        Place { point, cost, gradient }
    }

    fn pulled(&self, gradient: &[f64]) -> Vec<f64> {
        self.metric.as_ref().map_or_else(|| gradient.to_vec(), |metric| metric.pulled(gradient))
    }
}

impl<'a> CachedObjective<'a> {
    /// The objective, evaluated at a start.
    fn new(objective: Objective<'a>, start: &[f64]) -> Self {
        let place = Place { point: Vec::new(), cost: f64::INFINITY, gradient: Vec::new() };
        let (point, slopes) = (start.to_vec(), Vec::new());
        let mut last =
            Last { objective, metric: None, point, slopes, place, evaluations: 0, has_pole: false };
        last.place = last.evaluate(start.to_vec());
        last.slopes.clone_from(&last.place.gradient);
        Self(RefCell::new(last))
    }

    /// Cost and gradient at a point of argmin's.
    fn at(&self, point: &[f64]) -> (f64, Vec<f64>) {
        let last = &mut *self.0.borrow_mut();
        if last.point != point {
            last.point = point.to_vec();
            let place = last.metric.as_ref().map_or_else(|| point.to_vec(), |metric| metric.place(point));
            last.place = last.evaluate(place);
            last.slopes = last.pulled(&last.place.gradient);
        }
        (last.place.cost, last.slopes.clone())
    }

    /// Argmin's point and gradient at a place, at which coordinates of a new metric begin; without one the coordinates stay.
    fn begin(&self, here: &Place, metric: Option<Rc<Metric>>) -> (Vec<f64>, Vec<f64>) {
        let last = &mut *self.0.borrow_mut();
        last.point = if metric.is_some() { vec![0.0; here.point.len()] } else { here.point.clone() };
        (last.metric, last.place) = (metric, here.clone());
        last.slopes = last.pulled(&here.gradient);
        (last.point.clone(), last.slopes.clone())
    }
}

impl CostFunction for &CachedObjective<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        Ok(self.at(point).0)
    }
}

impl argmin::core::Gradient for &CachedObjective<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        Ok(self.at(point).1)
    }
}

/// Coordinates in units of the curvature `A` of a cost at a point: `z = centre + C y` with `C C^T = |A|^-1`.
///
/// ```text
/// A ~ differences of gradients,   S A S = U diag(l) U^T,  S = diag |A_kk|^(-1/2),   C = S U diag(max(|l|, least))^(-1/2)
/// ```
/// The absolute values of the eigenvalues make the metric positive definite where the curvature is not (saddle-free Newton,
/// Dauphin et al. 2014). The norm of the gradient in these coordinates is the length of the Newton step in standard deviations.
pub(super) struct Metric {
    centre: Vec<f64>,
    factor: Mat<f64>,
    /// True unless an eigenvalue is negative beyond the error of differences.
    is_definite: bool,
}

/// Width of the differences of gradients, relative to `|z|` or 1.
const WIDTH: f64 = 1e-6;

/// Least scaled eigenvalue, and the one down to which a negative one is rounding: scaled entries have errors of some `1e-6`.
const LEAST: f64 = 1e-8;
const ROUNDING: f64 = 1e-6;

impl Metric {
    /// The metric at `centre`, where the cost has the gradient `gradient`, from one more gradient per coordinate; `None` if one of
    /// them is `None`.
    fn at(
        centre: &[f64],
        gradient: &[f64],
        mut gradient_at: impl FnMut(&[f64]) -> Option<Vec<f64>>,
    ) -> Option<Self> {
        let dim = centre.len();
        let mut moved = centre.to_vec();
        let mut curvature = Mat::zeros(dim, dim);
        for k in 0..dim {
            moved[k] = centre[k] + WIDTH * centre[k].abs().max(1.0);
            let (width, ahead) = (moved[k] - centre[k], gradient_at(&moved)?);
            moved[k] = centre[k];
            for i in 0..dim {
                curvature[(i, k)] = (ahead[i] - gradient[i]) / width;
            }
        }
        let unit = |k: usize| match curvature[(k, k)].abs() {
            0.0 => 1.0,
            length => length.sqrt().recip(),
        };
        let units: Vec<f64> = (0..dim).map(unit).collect();
        let scaled = Mat::from_fn(dim, dim, |i, j| {
            0.5 * units[i] * (curvature[(i, j)] + curvature[(j, i)]) * units[j]
        });
        let eigen = scaled.self_adjoint_eigen(Side::Lower).ok()?;
        let (axes, values) = (eigen.U(), eigen.S());
        let is_definite = (0..dim).all(|k| values[k] > -ROUNDING);
        let factor =
            Mat::from_fn(dim, dim, |i, k| units[i] * axes[(i, k)] / values[k].abs().max(LEAST).sqrt());
        (0..dim).all(|k| factor.col_as_slice(k).iter().all(|c| c.is_finite())).then(|| Self {
            centre: centre.to_vec(),
            factor,
            is_definite,
        })
    }

    /// The point `centre + C y`.
    fn place(&self, y: &[f64]) -> Vec<f64> {
        let mut z = self.centre.clone();
        for (k, y) in y.iter().enumerate() {
            z.iter_mut().zip(self.factor.col_as_slice(k)).for_each(|(z, c)| *z += c * y);
        }
        z
    }

    /// The gradient `C^T g` in the coordinates of the metric.
    fn pulled(&self, gradient: &[f64]) -> Vec<f64> {
        let column = |k: usize| self.factor.col_as_slice(k).iter().zip(gradient).map(|(c, g)| c * g).sum();
        (0..gradient.len()).map(column).collect()
    }

    /// `|A|^-1`, the covariance of the Gaussian with this curvature.
    pub(super) fn covariance(&self) -> Mat<f64> {
        &self.factor * self.factor.transpose()
    }
}

/// Line search for the weak Wolfe conditions by doubling and bisection (Lewis & Overton 2013, Alg. 2.6).
///
/// ```text
/// cost(x + t d) <= cost(x) + c1 t slope        slope(x + t d) >= c2 slope,        slope = gradient . d
/// ```
/// A step that violates the first condition, or has an infinite cost, is too long; one that violates the second is too short. Line
/// searches that interpolate costs instead compute NaN from an infinite cost. Near the optimum, where costs differ by rounding
/// alone, a cost that is equal up to rounding is accepted if the slope has not grown (Hager & Zhang 2005).
#[derive(Debug, Clone, Default)]
struct Bisection {
    start: Vec<f64>,
    direction: Vec<f64>,
    cost: f64,
    slope: f64,
    step: f64,
    low: f64,
    high: f64,
    trials: u32,
}

/// Constants of the sufficient decrease and the curvature condition (Nocedal & Wright 2006, ch. 3).
const C1: f64 = 1e-4;
const C2: f64 = 0.9;

/// Largest number of trial steps: enough to double or halve a step through every scale that matters.
const MOST_TRIALS: u32 = 100;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl LineSearch<Vec<f64>, f64> for Bisection {
    fn search_direction(&mut self, direction: Vec<f64>) {
        self.direction = direction;
    }

    fn initial_step_length(&mut self, _: f64) -> Result<(), argmin::core::Error> {
        Ok(()) // not called by L-BFGS
    }
}

impl<O> Solver<O, Iterate> for Bisection
where
    O: CostFunction<Param = Vec<f64>, Output = f64>
        + argmin::core::Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
{
    fn name(&self) -> &str {
        "bisection for the weak Wolfe conditions"
    }

    fn init(
        &mut self,
        problem: &mut Problem<O>,
        mut iterate: Iterate,
    ) -> Result<(Iterate, Option<KV>), argmin::core::Error> {
        let no_start = || ArgminError::NotInitialized { text: "a line search needs a start".into() };
        self.start = iterate.take_param().ok_or_else(no_start)?;
        self.cost = problem.cost(&self.start)?;
        let gradient = problem.gradient(&self.start)?;
        self.slope = dot(&gradient, &self.direction);
        if !(self.slope < 0.0 && self.slope.is_finite() && self.cost.is_finite()) {
            let text = format!("the slope along the direction is {}", self.slope);
            return Err(ArgminError::ConditionViolated { text }.into());
        }
        // Along the plain gradient, without curvature from earlier steps, the first trial step has a length of at most 1.
        let is_plain = gradient.iter().zip(&self.direction).all(|(g, d)| -g == *d);
        self.step = if is_plain { (-self.slope).sqrt().recip().min(1.0) } else { 1.0 };
        (self.low, self.high, self.trials) = (0.0, f64::INFINITY, 0);
        Ok((iterate, None))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        iterate: Iterate,
    ) -> Result<(Iterate, Option<KV>), argmin::core::Error> {
        let param: Vec<f64> =
            self.start.iter().zip(&self.direction).map(|(x, d)| x + self.step * d).collect();
        let cost = problem.cost(&param)?;
        let gradient = problem.gradient(&param)?;
        let slope = dot(&gradient, &self.direction);
        let rounding = 8.0 * f64::EPSILON * self.cost.abs();
        let falls = cost <= self.cost + C1 * self.step * self.slope;
        let stays = cost <= self.cost + rounding && slope <= (2.0 * C1 - 1.0) * self.slope;
        if !(cost.is_finite() && (falls || stays)) {
            self.high = self.step;
        } else if slope < C2 * self.slope {
            self.low = self.step;
        } else {
            let iterate = iterate.param(param).cost(cost).gradient(gradient);
            return Ok((iterate.terminate_with(TerminationReason::SolverConverged), None));
        }
        self.step = if self.high.is_finite() { 0.5 * (self.low + self.high) } else { 2.0 * self.step };
        self.trials += 1;
        if self.trials == MOST_TRIALS || self.step == self.low || self.step == self.high {
            let text = format!("no step among {} fulfils the Wolfe conditions", self.trials);
            return Err(ArgminError::ConditionViolated { text }.into());
        }
        Ok((iterate, None))
    }
}
