//! Targets of fits: models of the library, or callables.

use mcsa::core::{Error, Gradient};
use mcsa::posterior::Target;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::callback::Density;
use crate::model::Model;
use crate::terms::Terms;

/// Target of a fit: a model of the library, or callables.
pub(crate) enum Source {
    Density(Py<Density>),
    Terms(Py<Terms>),
    Model(Py<Model>),
}

impl Source {
    /// The target that a Python object holds.
    pub(crate) fn of(target: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(density) = target.cast::<Density>() {
            Ok(Self::Density(density.clone().unbind()))
        } else if let Ok(terms) = target.cast::<Terms>() {
            Ok(Self::Terms(terms.clone().unbind()))
        } else if let Ok(model) = target.cast::<Model>() {
            Ok(Self::Model(model.clone().unbind()))
        } else {
            Err(PyTypeError::new_err("the target must be a callable or a model of mcsa.models"))
        }
    }

    /// The callables; `None` for a model of the library.
    fn callables(&self) -> Option<&Density> {
        match self {
            Self::Density(density) => Some(density.get()),
            Self::Terms(terms) => Some(terms.get().callables()),
            Self::Model(_) => None,
        }
    }

    /// The target; its gradient is an error if there is none.
    pub(crate) fn target(&self) -> &dyn Gradient {
        match self {
            Self::Density(density) => density.get(),
            Self::Terms(terms) => terms.get(),
            Self::Model(model) => &*model.get().target,
        }
    }

    /// The target, if its likelihood has one term per datum in Python.
    pub(crate) fn terms(&self) -> Option<&Terms> {
        match self {
            Self::Terms(terms) => Some(terms.get()),
            _ => None,
        }
    }

    /// True if there is a gradient.
    pub(crate) fn has_gradient(&self) -> bool {
        self.callables().is_none_or(Density::has_gradient)
    }

    /// True if a callable raised an exception that was not handed on yet.
    pub(crate) fn has_failed(&self) -> bool {
        self.callables().is_some_and(Density::has_failed)
    }

    /// True if Ctrl-C came during a call of a callable since the last call of this.
    pub(crate) fn interrupted(&self) -> bool {
        self.callables().is_some_and(Density::interrupted)
    }

    /// The exception of a callable, if there was one.
    pub(crate) fn raised(&self) -> PyResult<()> {
        self.callables().and_then(Density::failure).map_or(Ok(()), Err)
    }

    /// Runs with the target of a fit in one call.
    pub(crate) fn with_target<R>(&self, f: impl FnOnce(&Target<'_>) -> R) -> R {
        let target = self.target();
        let check = || match self.has_failed() {
            true => Err(Error::invalid("a callable raised an exception")),
            false => Ok(()),
        };
        let target = match self.has_gradient() {
            true => Target::with_gradient(&target),
            false => Target::density_only(&target),
        };
        let target = if self.callables().is_some() { target.in_batches() } else { target };
        f(&target.checked(&check))
    }
}
