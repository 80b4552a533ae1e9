//! State of an ascent, driven from Python.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use mcsa::core::{Counted, Error, Estimator, Seed};
use mcsa::estimators::{Ascent, Draws, Fit, Outcome, Run, StateFile, Stop, View};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::family::{Built, FamilyName};
use super::method::{KernelName, Method, Target, Visitor};
use super::rule::{Rule, RuleState};
use crate::errors::value_error;
use crate::fitted::Fitted;
use crate::source::Source;

/// First words of a file; the number is the version of the format.
const FORMAT: &str = "mcsa ascent 1";
/// Steps between two looks at signals.
const STRETCH: u64 = 1_000;

/// Parts of an ascent by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    method: Method,
    kernel: Option<KernelName>,
    family: FamilyName,
    optimizer: Rule,
    seed: u64,
}

/// State of an ascent; it can be saved, resumed and interrupted.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct Climbing {
    source: Source,
    plan: Plan,
    built: Built,
    state: Mutex<State>,
}

/// Plain data of an ascent, which its file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    /// The plan in words, to be compared.
    plan: String,
    start: Vec<f64>,
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
impl Climbing {
    #[new]
    fn new(
        target: &Bound<'_, PyAny>,
        plan: String,
        mean: Vec<f64>,
        scale: Vec<f64>,
        path: Option<PathBuf>,
    ) -> PyResult<Self> {
        let source = Source::of(target)?;
        let dim = source.density().dim();
        if mean.len() != dim || scale.len() != dim {
            return Err(PyValueError::new_err(format!(
                "the start has {} means and {} scales; the target has {dim} coordinates",
                mean.len(),
                scale.len()
            )));
        }
        let parts: Plan =
            serde_json::from_str(&plan).map_err(|error| PyValueError::new_err(without_place(&error)))?;
        if parts.method.needs_gradient(parts.kernel.as_ref()) && !source.has_gradient() {
            return Err(PyValueError::new_err("this method needs a gradient, and none was given"));
        }
        let (built, start) = parts.family.build(&mean, &scale, Seed::new(parts.seed)).map_err(value_error)?;
        let params = start.clone();
        let begun = State { plan, start, step: 0, fit: None, params, density: 0, gradient: 0, ended: None };
        let state = match path {
            Some(path) => read(path, begun)?,
            None => begun,
        };
        Ok(Self { source, plan: parts, built, state: Mutex::new(state) })
    }

    /// Runs to a number of steps in all; `after`, if given, is called with a line of text after each stretch. False if Ctrl-C ended it.
    ///
    /// An exception of a callable is handed on, and the state is that before the stretch in which it was raised.
    #[pyo3(signature = (steps, after=None))]
    fn run(&self, py: Python<'_>, steps: u64, after: Option<Py<PyAny>>) -> PyResult<bool> {
        let mut state = self.lock()?;
        while state.step < steps && state.ended.is_none() {
            let to = steps.min((state.step / STRETCH + 1) * STRETCH);
            let (next, interrupted) = py
                .detach(|| {
                    let found = self.meet(Stretch { scene: self, state: &state, to });
                    match self.source.has_failed() {
                        true => Err(Error::invalid("a callable raised an exception")),
                        false => found,
                    }
                })
                .map_err(|error| self.source.raised().err().unwrap_or_else(|| value_error(error)))?;
            *state = next;
            if interrupted || py.check_signals().is_err() {
                return Ok(false);
            }
            if let Some(after) = &after {
                after.call1(py, (format!("step {} of {steps}", state.step),))?;
            }
        }
        Ok(true)
    }

    /// Weighted draws of q.
    fn result(&self, py: Python<'_>, count: usize) -> PyResult<Fitted> {
        let state = self.lock()?;
        let drawn = py.detach(|| {
            let lane = Seed::new(self.plan.seed).named("draws").stream(0, state.step);
            Draws::of(self.source.gradient(), self.built.family(), &state.params, lane, count)
        });
        self.source.raised()?;
        let drawn = drawn.map_err(value_error)?;
        let evaluations = (state.density + count as u64, state.gradient);
        let family = self.built.family().config();
        Ok(Fitted::of_draws(py, drawn, self.source.density())?.with_q(
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
        Some(saved) if saved.plan == begun.plan && saved.start == begun.start => Ok(saved),
        Some(_) => Err(value_error(file.refuse("it holds an ascent with other settings"))),
    }
}

impl Climbing {
    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|_| PyRuntimeError::new_err("this ascent is running in another thread"))
    }

    fn meet<V: Visitor>(&self, visitor: V) -> Result<V::Out, Error> {
        let target = Counted::new(self.source.gradient());
        self.plan.method.meet(self.plan.kernel.as_ref(), &target, &self.built, visitor)
    }
}

/// Some steps of an ascent.
struct Stretch<'s> {
    scene: &'s Climbing,
    state: &'s State,
    to: u64,
}

impl Visitor for Stretch<'_> {
    type Out = (State, bool);

    fn with<'a, F: ?Sized, E: Estimator<Target<'a>, F>>(
        self,
        target: &Target<'a>,
        family: &F,
        estimator: E,
    ) -> Result<(State, bool), Error> {
        let Self { scene, state, to } = self;
        let (optimizer, seed) = (scene.plan.optimizer.clone(), Seed::new(scene.plan.seed));
        let ascent = Ascent { target, family, estimator, optimizer, seed };
        let mut fit = match &state.fit {
            Some(text) => text_to(text)?,
            None => ascent.start(state.start.clone())?,
        };
        let mut interrupted = false;
        let mut watch = |_: &View<'_, E::State, RuleState>| {
            interrupted |= scene.source.interrupted();
            match interrupted || scene.source.has_failed() {
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
        let counts = target.counts();
        let next = State {
            step: fit.step(),
            params: ascent.recommended(&fit).1.to_vec(),
            fit: Some(text_of(&fit)?),
            density: state.density + counts.log_density,
            gradient: state.gradient + counts.gradient,
            ended,
            ..state.clone()
        };
        Ok((next, interrupted))
    }
}

fn text_of<S: Serialize>(fit: &Fit<S, RuleState>) -> Result<String, Error> {
    serde_json::to_string(fit).map_err(|error| Error::invalid(error.to_string()))
}

fn text_to<S: DeserializeOwned>(text: &str) -> Result<Fit<S, RuleState>, Error> {
    serde_json::from_str(text).map_err(|error| Error::invalid(error.to_string()))
}
