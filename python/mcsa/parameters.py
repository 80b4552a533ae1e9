"""Declared parameters: sets that they lie in, for ``mcsa.fit(f, parameters={"mu": mcsa.real(), "sigma": mcsa.positive()})``."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._mcsa import Parameters
from .arguments import numbers
from .prior import FittedPrior

__all__ = ["Declared", "Parameter", "correlation", "interval", "ordered", "positive", "real", "simplex", "unit"]

#: Magnitude of a coordinate, of a parameter with a border, from which NaN is a matter of range, as for declared parameters in Rust.
_FAR = 100.0
#: The same of a real number.
_HUGE = 1e100


@dataclass(frozen=True)
class Parameter:
    """An array of numbers in a set."""

    set: str
    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 1.0


def real(shape: int | tuple[int, ...] = ()) -> Parameter:
    """Real numbers: one, or an array of this shape."""
    return Parameter("real", _sides(shape))


def positive(shape: int | tuple[int, ...] = ()) -> Parameter:
    """Positive numbers: one, or an array of this shape."""
    return Parameter("positive", _sides(shape))


def interval(low: float, high: float, shape: int | tuple[int, ...] = ()) -> Parameter:
    """Numbers between ``low`` and ``high``: one, or an array of this shape."""
    return Parameter("interval", _sides(shape), float(low), float(high))


def unit(shape: int | tuple[int, ...] = ()) -> Parameter:
    """Numbers between 0 and 1: one, or an array of this shape."""
    return interval(0.0, 1.0, shape)


def simplex(count: int) -> Parameter:
    """Positive numbers with sum 1."""
    return Parameter("simplex", _sides(operator.index(count)))


def ordered(count: int) -> Parameter:
    """Increasing numbers."""
    return Parameter("ordered", _sides(operator.index(count)))


def correlation(rows: int) -> Parameter:
    """A correlation matrix."""
    return Parameter("correlation", _sides(operator.index(rows)) * 2)


def _sides(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    sides = shape if isinstance(shape, tuple) else (operator.index(shape),)
    if min(sides, default=1) < 1:
        raise ValueError(f"a parameter has the shape {sides}; its sides must be at least 1")
    return sides


class Declared:
    """Target on unconstrained points, from functions of declared parameters; the library transforms these and adds the log-Jacobian.

    ```text
    log p(z) = log p(theta(z)) + log |det dtheta/dz|
    ```
    The log-Jacobian of a simplex is about its first entries, that of a correlation matrix about the entries below its diagonal. Where an
    earlier posterior is the prior, its log density takes the place of the log-Jacobian.
    """

    def __init__(self, parameters: Mapping[str, Parameter], prior: FittedPrior | None = None) -> None:
        for name, parameter in parameters.items():
            if not isinstance(name, str) or not isinstance(parameter, Parameter):
                raise TypeError(f"parameters: {name!r} is a {type(parameter).__name__}; expected mcsa.real(), mcsa.positive() or another set")
        if not parameters:
            raise ValueError("parameters is empty; expected a set for every name")
        self._parameters = dict(parameters)
        sets = [
            (name, of.set, of.shape[0] if of.set == "correlation" else math.prod(of.shape), of.low, of.high)
            for name, of in self._parameters.items()
        ]
        self._map = Parameters(sets)
        self._prior = prior
        self.dim = self._map.dim
        #: Magnitude of each coordinate from which NaN is a matter of range; a real number may be far from 0.
        self._far = np.array([_HUGE if self._parameters[name].set == "real" else _FAR for name, _ in self.coordinates()])

    def at(self, z: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Parameters by name, and the log-Jacobian, at one point or at the rows of a batch."""
        theta, log_jacobian = self._map.constrain(np.atleast_2d(z))
        if z.ndim == 1:
            theta, log_jacobian = theta[0], log_jacobian[0]
        values, start = {}, 0
        for name, parameter in self._parameters.items():
            end = start + math.prod(parameter.shape)
            values[name] = theta[..., start:end].reshape(z.shape[:-1] + parameter.shape)
            start = end
        return values, log_jacobian

    def values(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name at the rows of a batch."""
        return self.at(z)[0]

    def composed(self, f: Callable[[dict[str, np.ndarray]], Any]) -> Callable[[np.ndarray], Any]:
        """Function of a batch from that of parameters."""
        return lambda z: f(self.values(z))

    def log_density(self, f: Callable[[dict[str, np.ndarray]], Any]) -> Callable[[np.ndarray], Any]:
        """Log density of points from that of parameters."""

        def log_density(z: np.ndarray) -> Any:
            values, log_jacobian = self.at(z)
            return _sum(f(values), self._rest(z, log_jacobian), np.abs(z) > self._far)

        return log_density

    def gradient(self, f: Callable[[dict[str, np.ndarray]], Any]) -> Callable[[np.ndarray], Any]:
        """Gradient at points from slopes by name of the parameter; either alone, or behind the log densities in a pair."""

        def gradient(z: np.ndarray) -> Any:
            values, log_jacobian = self.at(z)
            found = f(values)
            if not isinstance(found, tuple):
                return self._pull_back(z, self._joined(found, values))
            log_p = _sum(found[0], self._rest(z, log_jacobian), np.abs(z) > self._far)
            slopes = self._pull_back(z, self._joined(found[1], values))
            if np.shape(log_p) == log_jacobian.shape:
                slopes[np.isneginf(log_p)] = 0.0
            return log_p, slopes

        return gradient

    def _rest(self, z: np.ndarray, log_jacobian: np.ndarray) -> np.ndarray:
        """What is added to the function of the parameters."""
        return log_jacobian if self._prior is None else self._prior.log_density(z)

    def _pull_back(self, z: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        found = self._map.pull_back(z, slopes)
        if self._prior is not None:
            found += self._prior.gradient(z) - self._map.pull_back(z, np.zeros_like(slopes))
        return found

    def _joined(self, slopes: Any, values: dict[str, np.ndarray]) -> np.ndarray:
        """Slopes of all parameters, one point per row."""
        if not isinstance(slopes, Mapping) or slopes.keys() != values.keys():
            found = ", ".join(map(str, slopes)) if isinstance(slopes, Mapping) else type(slopes).__name__
            raise TypeError(f"gradient gave {found}; expected a dict of slopes of {', '.join(values)}")
        rows = []
        for name, value in values.items():
            slope = numbers(f"gradient: {name}", slopes[name])
            if slope.shape != value.shape:
                raise ValueError(f"gradient gave {name} the shape {slope.shape}; expected {value.shape}")
            rows.append(slope.reshape(len(slope), -1))
        return np.concatenate(rows, axis=1)

    @property
    def below_diagonal(self) -> frozenset[str]:
        """Matrices of which the entries below the diagonal determine the others."""
        return frozenset(name for name, parameter in self._parameters.items() if parameter.set == "correlation")

    def coordinates(self) -> list[tuple[str, tuple[int, ...]]]:
        """Name and index of the entry that belongs to each unconstrained coordinate; of a simplex the last entry has none."""
        found = []
        for name, parameter in self._parameters.items():
            entries = [at for at in np.ndindex(parameter.shape) if parameter.set != "correlation" or at[0] > at[1]]
            found += [(name, at) for at in (entries[:-1] if parameter.set == "simplex" else entries)]
        return found


def _sum(log_p: Any, log_jacobian: np.ndarray, are_far: np.ndarray) -> Any:
    """Log density of points; outside the support where NaN is a matter of range, because a coordinate is far out."""
    found = log_p if isinstance(log_p, np.ma.MaskedArray) else np.asarray(log_p)
    # A result of another shape goes on as it is: the check of shapes follows, and a sum might hide it.
    if found.shape != log_jacobian.shape or found.dtype.kind not in "biuf":
        return log_p
    total = found + log_jacobian
    if np.isnan(total).any():
        total = np.where(np.isnan(total) & are_far.any(axis=-1), -np.inf, total)
    return total
