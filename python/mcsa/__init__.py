"""Posterior fits by Markov chain score ascent.

>>> import mcsa
>>> result = mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), dim=2, seed=1)
>>> result.ok
True
>>> bool(abs(result.mean).max() < 0.1)
True

``fit`` takes a log density on batches of points, or a model of ``mcsa.models``, to weighted draws, the evidence, and a verdict whose
error rates were measured.
"""

from ._mcsa import __version__
from . import models
from .ascent import Ascent, ascend
from .bridges import from_jax, from_pymc
from .calibration import Calibration, calibrate
from .comparison import Comparison, Loo, compare
from .files import load
from .fit import Fit, fit, resume
from .parameters import correlation, interval, ordered, positive, real, simplex, unit
from .result import Result, Summary
from .stan import from_stan
from .terms import Terms
from .verdict import Objection, Verdict

__all__ = [
    "Ascent",
    "Calibration",
    "Comparison",
    "Fit",
    "Loo",
    "Objection",
    "Result",
    "Summary",
    "Terms",
    "Verdict",
    "__version__",
    "ascend",
    "calibrate",
    "compare",
    "correlation",
    "fit",
    "from_jax",
    "from_pymc",
    "from_stan",
    "interval",
    "load",
    "models",
    "ordered",
    "positive",
    "real",
    "resume",
    "simplex",
    "unit",
]
