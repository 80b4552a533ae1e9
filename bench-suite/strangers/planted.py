"""Copies of strangers with a planted fault, along one coordinate that is a parameter as it is.

A second mode: p(z) + r p(z - s), where s moves the coordinate.

With share m = r / (1 + r) of the second mode the moved parameter has mean ``mean + m |s|`` and variance ``sd^2 + m (1 - m) |s|^2``; those
that do not depend on the coordinate have the moments of p, and those that depend on it otherwise are left out.

A wrong constraint: p(z) where the coordinate is above a bound within its mass, and 0 below. Its truth is the part of the published draws
that is above the bound.

A wrong column of data is not planted: it gives another posterior, whose truth would need its own long run, and of which a fit can be right.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from stranger import Known, Stranger, columns, known

SHARE = 0.3
# Distance of the modes, in standard deviations of the moved parameter.
DISTANCE = 12.0
# Mass below the wrong bound.
BELOW = 0.3


def with_second_mode(stranger: Stranger) -> Stranger:
    """The stranger with a second mode; an error if no coordinate is a parameter with a reference."""

    @cache
    def moved() -> tuple[dict[str, Any], dict[str, Known]]:
        arguments, reference = stranger.arguments(), stranger.reference()
        coordinate, name, kept = _movable(arguments, reference)
        distance = DISTANCE * reference[name].sd
        truth = {key: reference[key] for key in kept} | {name: _of_two(reference[name], distance)}
        return _mixed(arguments, coordinate, distance), truth

    return Stranger(f"{stranger.name}+mode", f"{stranger.source}, planted", lambda: moved()[0], lambda: moved()[1])


def with_bound(stranger: Stranger) -> Stranger:
    """The stranger with a wrong constraint; an error if no coordinate is a parameter with published draws."""

    @cache
    def bounded() -> tuple[dict[str, Any], dict[str, Known]]:
        arguments, draws = stranger.arguments(), stranger.draws()
        coordinate, name, _ = _movable(arguments, stranger.reference() if draws else {})
        bound = float(np.quantile(draws[name], BELOW))
        is_above = draws[name] > bound
        fewest = is_above.sum(axis=1).min()
        above = {key: np.array([chain[of][:fewest] for chain, of in zip(x, is_above)]) for key, x in draws.items()}
        return _cut(arguments, coordinate, bound), {key: known(chains) for key, chains in above.items()}

    return Stranger(f"{stranger.name}+bound", f"{stranger.source}, planted", lambda: bounded()[0], lambda: bounded()[1])


FAULTS = {"mode": with_second_mode, "bound": with_bound}


def _cut(arguments: dict[str, Any], coordinate: int, bound: float) -> dict[str, Any]:
    """The arguments with no density where the coordinate is at most the bound."""

    def log_density(z: np.ndarray) -> np.ndarray:
        return np.where(z[:, coordinate] > bound, arguments["log_density"](z), -np.inf)

    def gradient(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = arguments["gradient"](z)
        is_above = z[:, coordinate] > bound
        return np.where(is_above, values, -np.inf), np.where(is_above[:, None], slopes, 0.0)

    return arguments | {"log_density": log_density, "gradient": gradient if arguments.get("gradient") else None}


def _movable(arguments: dict[str, Any], reference: dict[str, Known]) -> tuple[int, str, list[str]]:
    """First coordinate that is a parameter with a reference, its name, and the parameters that do not depend on it."""
    from methods import reported

    z = np.random.default_rng(1).normal(size=(8, arguments["dim"]))
    before = columns(reported(arguments, z))
    for coordinate in range(arguments["dim"]):
        step = np.zeros(arguments["dim"])
        step[coordinate] = 1.0
        after = columns(reported(arguments, z + step))
        change = {name: after[name] - before[name] for name in reference}
        names = [name for name in reference if reference[name].sd > 0 and np.allclose(before[name], z[:, coordinate], atol=1e-9)]
        if names:
            return coordinate, names[0], [name for name in reference if not change[name].any()]
    raise ValueError("no coordinate is a parameter with a reference")


def _of_two(one: Known, distance: float) -> Known:
    sd = float(np.sqrt(one.sd**2 + SHARE * (1 - SHARE) * distance**2))
    errors = [error * one.sd / sd for error in (one.mean_error, one.sd_error)]
    return Known(one.mean + SHARE * distance, sd, (np.nan,) * 3, *errors)


def _mixed(arguments: dict[str, Any], coordinate: int, distance: float) -> dict[str, Any]:
    """The arguments with the density of both modes."""
    logs = np.log([1 - SHARE, SHARE])[:, None]
    step = np.zeros(arguments["dim"])
    step[coordinate] = distance

    def both(z: np.ndarray) -> np.ndarray:
        return np.concatenate([z, z - step])

    def log_density(z: np.ndarray) -> np.ndarray:
        return np.logaddexp(*(np.reshape(arguments["log_density"](both(z)), (2, -1)) + logs))

    def gradient(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = arguments["gradient"](both(z))
        terms = np.reshape(values, (2, -1)) + logs
        total = np.logaddexp(*terms)
        with np.errstate(invalid="ignore"):
            shares = np.exp(terms - total)[:, :, None]
        # A mode without density at a point has no part in the slope, whatever its own is.
        parts = np.where(shares > 0, shares * np.reshape(slopes, (2, *z.shape)), 0.0)
        return total, parts.sum(axis=0)

    given = {"log_density": log_density, "gradient": gradient if arguments.get("gradient") else None}
    return arguments | given
