//! Score ascents with parts chosen by name, driven from Python.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use mcsa::annealed::Minibatched;
use mcsa::annealed::dais::{Annealed, Shape, Slope};
use mcsa::annealed::surrogate::SubsetSurrogate;
use mcsa::core::{Counted, Counts, Error, Estimator, Gradient, Parametric, Seed};
use mcsa::estimators::{Ascent, AscentState as Fit, Draws, FlowElbo, Outcome, Run, StateFile, Stop, View};
use mcsa::families::GaussianFamily;
use mcsa_catalogue::{
    AnyEstimator, BuiltFamily, FamilyConfig, KernelConfig, Method, OptimizerConfig, OptimizerState, Views,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::fit_result::FitResult;
use crate::source::Source;
use crate::terms::Terms;
use crate::{is_interrupted, value_error};

/// First words of a file; the number is the version of the format.
const FORMAT: &str = "mcsa ascent 2";
/// Steps between two looks at signals.
const STRETCH: u64 = 1_000;

/// Parts of an ascent by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    method: Method,
    /// SL-DAIS, with the method as the estimator of the bound.
    paths: Option<Paths>,
    kernel: Option<KernelConfig>,
    family: FamilyConfig,
    optimizer: OptimizerConfig,
    seed: u64,
}

/// Annealed paths: the number of data that guide them, their number of steps, and the first step size.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Paths {
    points: usize,
    steps: usize,
    step_size: f64,
}

/// State of an ascent; it can be saved, resumed and interrupted.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct AscentState {
    source: Source,
    plan: Plan,
    built: BuiltFamily,
    /// The family, if it is Gaussian.
    gaussian: Option<Box<dyn GaussianFamily>>,
    /// Mean of the start, and a point beside it.
    places: [Vec<f64>; 2],
    state: Mutex<State>,
}

/// Plain data of an ascent, which its file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    /// The plan in words, to be compared.
    plan: String,
    start: Vec<f64>,
    /// Log densities at the mean of the start and a standard deviation from it, which distinguish the target from others; empty
    /// before the first run.
    #[serde(with = "mcsa::core::bits::vector")]
    heights: Vec<f64>,
    step: u64,
    /// The fit as JSON; none before the first step.
    fit: Option<String>,
    params: Vec<f64>,
    density: u64,
    gradient: u64,
    /// The reason that a run ended early.
    ended: Option<String>,
}

#[pymethods]
impl AscentState {
    #[new]
    fn new(
        target: &Bound<'_, PyAny>,
        plan: String,
        mean: Vec<f64>,
        scale: Vec<f64>,
        path: Option<PathBuf>,
    ) -> PyResult<Self> {
        let source = Source::of(target)?;
        let dim = source.target().dim();
        if mean.len() != dim || scale.len() != dim {
            return Err(PyValueError::new_err(format!(
                "the start has {} means and {} scales; the target has {dim} coordinates",
                mean.len(),
                scale.len()
            )));
        }
        let parts: Plan =
            serde_json::from_str(&plan).map_err(|error| PyValueError::new_err(without_place(&error)))?;
        let of_kernel = parts.kernel.as_ref().is_some_and(KernelConfig::needs_gradient);
        if (parts.method.needs_gradient() || of_kernel) && !source.has_gradient() {
            return Err(PyValueError::new_err("this method needs a gradient, and none was given"));
        }
        let built = parts.family.build(dim).map_err(value_error)?;
        let mut stream = Seed::new(parts.seed).named("start").stream(0, 0);
        let mut start = built.around(&mean, &scale, &mut stream).map_err(value_error)?;
        if let Some(paths) = &parts.paths {
            let along = parts.along(paths, &source).and_then(|family| {
                let psi = family.surrogate.initial();
                family.at(&start, paths.step_size, &psi)
            });
            start = along.map_err(value_error)?;
        }
        let params = start.clone();
        let beside: Vec<f64> = mean.iter().zip(&scale).map(|(mean, scale)| mean + scale).collect();
        let places = [mean, beside];
        let heights = match &path {
            Some(path) if path.exists() => heights(&source, &places)?,
            _ => Vec::new(),
        };
        let begun =
            State { plan, start, heights, step: 0, fit: None, params, density: 0, gradient: 0, ended: None };
        let state = match path {
            Some(path) => read(path, begun)?,
            None => begun,
        };
        let gaussian = parts.family.gaussian(dim);
        Ok(Self { source, plan: parts, built, gaussian, places, state: Mutex::new(state) })
    }

    /// Runs to a number of steps in all; `after`, if given, is called with a line of text after each stretch. False if Ctrl-C ended it.
    ///
    /// An exception of a callable is handed on, and the state is that before the stretch in which it was raised.
    #[pyo3(signature = (steps, after=None))]
    fn run(&self, py: Python<'_>, steps: u64, after: Option<Py<PyAny>>) -> PyResult<bool> {
        let mut state = self.lock()?;
        if state.heights.is_empty() {
            state.heights = py.detach(|| heights(&self.source, &self.places))?;
        }
        while state.step < steps && state.ended.is_none() {
            let to = steps.min((state.step / STRETCH + 1) * STRETCH);
            let (next, interrupted) = py
                .detach(|| {
                    let found = self.stretch(&state, to);
                    match self.source.has_failed() {
                        true => Err(Error::invalid("a callable raised an exception")),
                        false => found,
                    }
                })
                .map_err(|error| self.source.raised().err().unwrap_or_else(|| value_error(error)))?;
            *state = next;
            if interrupted || is_interrupted(py)? {
                return Ok(false);
            }
            if let Some(after) = &after {
                after.call1(py, (format!("step {} of {steps}", state.step),))?;
            }
        }
        Ok(true)
    }

    /// Weighted draws of q.
    fn result(&self, py: Python<'_>, count: usize) -> PyResult<FitResult> {
        let state = self.lock()?;
        let drawn = py.detach(|| {
            let lane = Seed::new(self.plan.seed).named("draws").stream(0, state.step);
            match &self.plan.paths {
                None => Draws::of(self.source.target(), &*self.built.family, &state.params, lane, count),
                Some(paths) => {
                    let family = self.plan.along(paths, &self.source)?;
                    Draws::pushed(self.source.target(), &family, &state.params, lane, count)
                }
            }
        });
        self.source.raised()?;
        let drawn = drawn.map_err(value_error)?;
        let evaluations = (state.density + count as u64, state.gradient);
        let kind =
            serde_json::to_value(&self.plan.family).ok().and_then(|it| Some(it["kind"].as_str()?.to_owned()));
        let family = kind.unwrap_or_default();
        let family = if self.plan.paths.is_some() { format!("annealed paths from {family}") } else { family };
        Ok(FitResult::of_draws(py, drawn, self.source.target())?.with_q(
            family,
            state.params.clone(),
            evaluations,
        ))
    }

    /// Saves the state to a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        StateFile::new(path, FORMAT).write(&*self.lock()?).map_err(value_error)
    }

    /// Number of steps made.
    #[getter]
    fn step(&self) -> PyResult<u64> {
        Ok(self.lock()?.step)
    }

    /// The reason that a run ended before its last step, or None.
    #[getter]
    fn ended(&self) -> PyResult<Option<String>> {
        Ok(self.lock()?.ended.clone())
    }

    fn __repr__(&self) -> String {
        match self.lock() {
            Ok(state) => format!("<mcsa ascent, step {}>", state.step),
            Err(_) => "<mcsa ascent, running>".to_owned(),
        }
    }
}

/// Message of an error in a plan, without its place in the text.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// The state in a file, or the one that has begun if there is no file.
fn read(path: PathBuf, begun: State) -> PyResult<State> {
    let file = StateFile::new(path, FORMAT);
    match file.read::<State>().map_err(value_error)? {
        None => Ok(begun),
        Some(saved) if saved.plan != begun.plan || saved.start != begun.start => {
            Err(value_error(file.refuse("it holds an ascent with other settings")))
        }
        Some(saved) => {
            // Sums may differ in the last bits on another machine.
            let is_near =
                |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-6 * (1.0 + a.abs());
            match saved.heights.iter().zip(&begun.heights).all(is_near) {
                true => Ok(saved),
                false => Err(value_error(file.refuse("it belongs to another target or to other data"))),
            }
        }
    }
}

/// Log densities at these points.
fn heights(source: &Source, places: &[Vec<f64>; 2]) -> PyResult<Vec<f64>> {
    let mut work = vec![0.0; source.target().work_len(1)];
    let found = places.each_ref().map(|z| source.target().log_density(z, &mut work));
    source.raised()?;
    Ok(found.to_vec())
}

impl AscentState {
    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|_| PyRuntimeError::new_err("this ascent is running in another thread"))
    }

    fn estimator<'a>(&'a self) -> Result<AnyEstimator<'a>, Error> {
        let Self { plan, built, gaussian, .. } = self;
        let closed = gaussian.as_deref().map(|family| family as _);
        let views = Views { closed, pushforward: Some(&*built.pushforward) };
        match (&plan.kernel, &plan.method) {
            (None, method) => method.build(views, None),
            (Some(kernel), Method::Pmcsa { chains }) => kernel.build(*chains),
            (Some(_), _) => {
                Err(Error::invalid("a kernel is chosen for the method pmcsa alone; others have their own"))
            }
        }
    }

    /// Runs to step `to`. Returns the new state, and true if Ctrl-C ended the run.
    fn stretch(&self, state: &State, to: u64) -> Result<(State, bool), Error> {
        let Method::Minibatched { samples, batch } = self.plan.method else {
            let counted = Counted::new(self.source.target());
            let (target, family): (&dyn Gradient, _) = (&counted, &*self.built.family);
            return self.advance(state, to, (target, family, self.estimator()?), &|| counted.counts());
        };
        let terms =
            self.source.terms().ok_or_else(|| Error::invalid("minibatches need a model with terms"))?;
        let (counted, estimator) = (Counted::new(terms), Minibatched::new(batch, FlowElbo::new(samples)));
        let Some(paths) = &self.plan.paths else {
            let family = &*self.built.pushforward;
            return self.advance(state, to, (&counted, family, estimator), &|| counted.counts());
        };
        let family = self.plan.along(paths, &self.source)?;
        self.advance(state, to, (&counted, &family, estimator), &|| counted.counts())
    }

    /// Runs target, family and estimator to step `to`.
    fn advance<P, F, E>(
        &self,
        state: &State,
        to: u64,
        (target, family, estimator): (&P, &F, E),
        counts: &dyn Fn() -> Counts,
    ) -> Result<(State, bool), Error>
    where
        P: ?Sized,
        F: Parametric + ?Sized,
        E: Estimator<P, F, State: Serialize + DeserializeOwned>,
    {
        let (optimizer, seed) = (self.plan.optimizer.clone(), Seed::new(self.plan.seed));
        let ascent = Ascent { target, family, estimator, optimizer, seed };
        let mut fit: Fit<E::State, OptimizerState> = match &state.fit {
            Some(text) => serde_json::from_str(text).map_err(|error| Error::invalid(error.to_string()))?,
            None => ascent.start(state.start.clone())?,
        };
        let mut interrupted = false;
        let mut watch = |_: &View<'_, E::State, OptimizerState>| {
            interrupted |= self.source.interrupted();
            match interrupted || self.source.has_failed() {
                true => ControlFlow::Break(Stop::because("interrupted")),
                false => ControlFlow::Continue(()),
            }
        };
        let outcome = ascent.run(&mut fit, Run::to(to).observe(&mut watch))?;
        let ended = match &outcome {
            Outcome::BudgetSpent { .. } => None,
            _ if interrupted => None,
            other => Some(other.to_string()),
        };
        let counts = counts();
        let next = State {
            step: fit.step(),
            params: ascent.recommended(&fit).1.to_vec(),
            fit: Some(serde_json::to_string(&fit).map_err(|error| Error::invalid(error.to_string()))?),
            density: state.density + counts.log_density,
            gradient: state.gradient + counts.gradient,
            ended,
            ..state.clone()
        };
        Ok((next, interrupted))
    }
}

impl Plan {
    /// Annealed paths along a random subset of the data.
    fn along<'t>(
        &self,
        paths: &Paths,
        source: &'t Source,
    ) -> Result<Annealed<SubsetSurrogate<&'t Terms>>, Error> {
        let terms =
            source.terms().ok_or_else(|| Error::invalid("sl-dais needs a model with terms, mcsa.Terms"))?;
        let mut stream = Seed::new(self.seed).named("surrogate").stream(0, 0);
        let surrogate = SubsetSurrogate::random(terms, paths.points, &mut stream)?;
        let shape = match self.family {
            FamilyConfig::FullRank => Shape::Lower,
            _ => Shape::Diagonal,
        };
        Ok(Annealed { slope: Slope::Scaled, ..Annealed::new(surrogate, shape, paths.steps) })
    }
}
