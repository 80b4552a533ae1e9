"""Posteriors whose likelihood has one term per datum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _mcsa
from .arguments import unmasked, whole

__all__ = ["Terms"]


class Terms:
    """Posterior whose data can be subsampled: a log prior, and one log likelihood per datum. Any fit takes it as its target.

    Args:
        dim: Number of unconstrained coordinates.
        num_data: Number of data.
        log_prior: A point ``(dim,)`` gives the log density of the prior and its gradient.
        log_likelihood: A point and indices ``(m,)`` of data give their ``m`` log likelihoods and gradients ``(m, dim)``.
        names: Names of the coordinates.

    >>> import mcsa
    >>> x = np.linspace(-1, 1, 1_000)
    >>> y = 2 * x + np.sin(50 * x)
    >>> def log_prior(z):
    ...     return -0.5 * z @ z, -z
    >>> def log_likelihood(z, rows):  # Student t errors with four degrees of freedom
    ...     rest = y[rows] - z[0] * x[rows]
    ...     return -2.5 * np.log1p(rest**2 / 4), (5 * rest * x[rows] / (4 + rest**2))[:, None]
    >>> model = mcsa.Terms(1, 1_000, log_prior, log_likelihood)
    >>> mcsa.fit(model, seed=1).ok
    True
    >>> paths = mcsa.ascend(model, method={"kind": "sl-dais", "points": 20, "batch": 20}, steps=1_000, seed=1)
    >>> paths.k_hat < 0.7
    True
    """

    def __init__(
        self,
        dim: int,
        num_data: int,
        log_prior: Callable[[np.ndarray], tuple[Any, Any]],
        log_likelihood: Callable[[np.ndarray, np.ndarray], tuple[Any, Any]],
        names: Sequence[str] | None = None,
    ) -> None:
        if not callable(log_prior) or not callable(log_likelihood):
            raise TypeError("log_prior and log_likelihood must be callable: each gives values and gradients at a point")
        self._rows = np.arange(whole("num_data", num_data, 1))
        # Starts lie far out, where overflow is no fault.
        calm = np.errstate(all="ignore")
        self._log_likelihood = calm(log_likelihood)

        @calm
        def of_batch(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, slope = log_prior(z[0])
            return unmasked("log_prior", value)[None], unmasked("log_prior", slope)[None]

        names = None if names is None else list(names)
        self._target = _mcsa.Terms(whole("dim", dim, 1), num_data, of_batch, self._log_likelihood, names)

    def log_likelihood(self, z: np.ndarray) -> np.ndarray:
        """Log likelihood of each datum at points ``(N, dim)``."""
        return np.array([self._log_likelihood(point, self._rows)[0] for point in z])
