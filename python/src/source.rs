//! Targets of fits: models of the library, or callables.

use mcsa::core::{Error, Gradient, LogDensity};
use mcsa::posterior::Target;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::callback::Density;
use crate::model::Model;

/// Target of a fit: a model of the library, or callables.
pub(crate) enum Source {
    Density(Py<Density>),
    Model(Py<Model>),
}

impl Source {
    /// The target that a Python object holds.
    pub(crate) fn of(target: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(density) = target.cast::<Density>() {
            Ok(Self::Density(density.clone().unbind()))
        } else if let Ok(model) = target.cast::<Model>() {
            Ok(Self::Model(model.clone().unbind()))
        } else {
            Err(PyTypeError::new_err("the target must be a callable or a model of mcsa.models"))
        }
    }

    /// The log density; its gradient is an error if there is none.
    pub(crate) fn gradient(&self) -> &dyn Gradient {
        match self {
            Self::Density(density) => density.get(),
            Self::Model(model) => &*model.get().target,
        }
    }

    /// The log density.
    pub(crate) fn density(&self) -> &dyn LogDensity {
        match self {
            Self::Density(density) => density.get(),
            Self::Model(model) => &*model.get().target,
        }
    }

    /// True if there is a gradient.
    pub(crate) fn has_gradient(&self) -> bool {
        match self {
            Self::Density(density) => density.get().has_gradient(),
            Self::Model(_) => true,
        }
    }

    /// True if a callable raised an exception that was not handed on yet.
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            Self::Density(density) => density.get().has_failed(),
            Self::Model(_) => false,
        }
    }

    /// True if Ctrl-C came during a call of a callable since the last call of this.
    pub(crate) fn interrupted(&self) -> bool {
        match self {
            Self::Density(density) => density.get().interrupted(),
            Self::Model(_) => false,
        }
    }

    /// The exception of a callable, if there was one.
    pub(crate) fn raised(&self) -> PyResult<()> {
        match self {
            Self::Density(density) => density.get().failure().map_or(Ok(()), Err),
            Self::Model(_) => Ok(()),
        }
    }

    /// Runs with the target of a fit in one call.
    pub(crate) fn with_target<R>(&self, f: impl FnOnce(&Target<'_>) -> R) -> R {
        match self {
            Self::Density(density) => {
                let density = density.get();
                let check = || match density.has_failed() {
                    true => Err(Error::invalid("a callable raised an exception")),
                    false => Ok(()),
                };
                let target = match density.has_gradient() {
                    true => Target::with_gradient(density),
                    false => Target::density_only(density),
                };
                f(&target.checked(&check))
            }
            Self::Model(model) => {
                let model = &*model.get().target;
                f(&Target::with_gradient(&model))
            }
        }
    }
}
