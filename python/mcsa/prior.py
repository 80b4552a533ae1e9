"""A posterior as a prior for further data."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import _mcsa
from .arguments import numbers

__all__ = ["FittedPrior"]


class FittedPrior(NamedTuple):
    """A Gaussian, or a mixture of Gaussians, with the moments of the draws of a fit: see :meth:`mcsa.Result.as_prior`.

    It can be given to a fit as ``prior``. All points are rows of arrays, in the unconstrained coordinates.
    """

    #: Draws from a NumPy generator, and their number.
    draw: Callable[[np.random.Generator, int], np.ndarray]
    #: Normalised log density at points.
    log_density: Callable[[np.ndarray], np.ndarray]
    #: Its gradient.
    gradient: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, prior: _mcsa.Prior) -> FittedPrior:
        """From the native part."""
        return cls(
            lambda generator, count: prior.draw(int(generator.integers(2**63)), count),
            lambda z: prior.log_density(numbers("z", z)),
            lambda z: prior.gradient(numbers("z", z)),
        )
