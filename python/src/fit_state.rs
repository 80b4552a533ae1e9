//! State of a fit, driven from Python.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use mcsa::core::Error;
use mcsa::posterior::{FitState as State, Options, Stage};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::fit_result::FitResult;
use crate::source::Source;
use crate::{fit_error, is_interrupted, value_error};

/// State of a fit between its stages; it can be saved, resumed and interrupted.
#[pyclass(frozen, module = "mcsa._mcsa")]
pub(crate) struct FitState {
    source: Source,
    /// `None` after an exception of a callable: the state is not that of any uninterrupted fit.
    state: Mutex<Option<State>>,
}

#[pymethods]
impl FitState {
    #[new]
    #[pyo3(signature = (target, *, seed, draws, starts, evaluations, seconds, share, checkpoint, start_from=None))]
    #[expect(clippy::too_many_arguments, reason = "named arguments of Python")]
    fn new(
        target: &Bound<'_, PyAny>,
        seed: u64,
        draws: usize,
        starts: usize,
        evaluations: Option<u64>,
        seconds: Option<f64>,
        share: f64,
        checkpoint: Option<PathBuf>,
        start_from: Option<PyRef<'_, FitResult>>,
    ) -> PyResult<Self> {
        let source = Source::of(target)?;
        let earlier = start_from.map_or(Ok(None), |result| result.approximation())?;
        let options = Options {
            seed,
            draws,
            starts,
            evaluations,
            seconds,
            share,
            earlier,
            progress: false,
            checkpoint,
        };
        let fitting = Self { source, state: Mutex::new(None) };
        let begun = target.py().detach(|| {
            fitting.source.with_target(|target| match &options.checkpoint {
                Some(path) => State::resume_or(path, target, &options),
                None => State::new(&options),
            })
        });
        fitting.source.raised()?;
        *fitting.lock()? = Some(begun.map_err(value_error)?);
        Ok(fitting)
    }

    /// Does all that is left. `after`, if given, is called with a line of text after each piece of work. False if Ctrl-C ended it: the
    /// state is that after the last piece and can be continued.
    #[pyo3(signature = (after=None))]
    fn run(&self, py: Python<'_>, after: Option<Py<PyAny>>) -> PyResult<bool> {
        let mut guard = self.lock()?;
        let mut state = guard.take().ok_or_else(ended)?;
        let mut end = Ok(true);
        let ran = py.detach(|| {
            self.source.with_target(|target| {
                state.run(target, &mut |state| {
                    end = self.seen(state, after.as_ref());
                    match end {
                        Ok(true) => ControlFlow::Continue(()),
                        _ => ControlFlow::Break(()),
                    }
                })
            })
        });
        self.source.raised()?;
        ran.map_err(fit_error)?;
        *guard = Some(state);
        end
    }

    /// The result; before the end of the fit one without checks, whose verdict is no, or `None` if there is no q yet.
    fn result(&self, py: Python<'_>) -> PyResult<Option<FitResult>> {
        let guard = self.lock()?;
        let state = guard.as_ref().ok_or_else(ended)?;
        let fitted = py.detach(|| {
            self.source.with_target(|target| match state.stage {
                Stage::Done => state.finish(target).map(Some),
                _ => state.partial_result(target),
            })
        });
        self.source.raised()?;
        match fitted.map_err(fit_error)? {
            Some(fitted) => FitResult::of_fit(py, fitted, self.source.target()).map(Some),
            None => Ok(None),
        }
    }

    /// The state in a file, for the same target; its options are those in the file.
    #[staticmethod]
    fn load(target: &Bound<'_, PyAny>, path: PathBuf) -> PyResult<Self> {
        let source = Source::of(target)?;
        let loaded = target.py().detach(|| {
            let Some(state) = State::read(&path)? else {
                return Err(Error::invalid(format!("there is no file {}", path.display())));
            };
            let options = Options { checkpoint: None, ..state.options.clone() };
            source.with_target(|target| State::resume_or(&path, target, &options))
        });
        source.raised()?;
        Ok(Self { source, state: Mutex::new(Some(loaded.map_err(value_error)?)) })
    }

    /// Saves the state to a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.lock()?.as_ref().ok_or_else(ended)?.save(path).map_err(value_error)
    }

    /// The next stage: "start", "climb", "verdict", or "done".
    #[getter]
    fn stage(&self) -> PyResult<&'static str> {
        Ok(match self.lock()?.as_ref().ok_or_else(ended)?.stage {
            Stage::Start => "start",
            Stage::Climb => "climb",
            Stage::Chains => "chains",
            Stage::Verdict => "verdict",
            Stage::Done => "done",
        })
    }

    fn __repr__(&self) -> String {
        match self.lock() {
            Ok(guard) => guard.as_ref().map_or_else(
                || "<mcsa fit, ended by an exception>".to_owned(),
                |state| format!("<mcsa fit, {state}>"),
            ),
            Err(_) => "<mcsa fit, running>".to_owned(),
        }
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err(
        "this fit was ended by an exception; begin a new one, or continue from its checkpoint file",
    )
}

impl FitState {
    /// The state. Waiting for it would lock up Python, because a running fit needs the interpreter.
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<State>>> {
        self.state.try_lock().map_err(|_| PyRuntimeError::new_err("this fit is running in another thread"))
    }

    /// Calls `after`, whose exception is the error; false at a signal.
    fn seen(&self, state: &State, after: Option<&Py<PyAny>>) -> PyResult<bool> {
        let interrupted = self.source.interrupted();
        Python::attach(|py| {
            if interrupted || is_interrupted(py)? {
                return Ok(false);
            }
            after.map_or(Ok(true), |after| after.call1(py, (state.to_string(),)).map(|_| true))
        })
    }
}
