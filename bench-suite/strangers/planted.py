"""Copies of strangers with a planted second mode: p(z) + r p(z - s), where s moves one coordinate that is a parameter as it is.

With share m = r / (1 + r) of the second mode the moved parameter has mean ``mean + m |s|`` and variance ``sd^2 + m (1 - m) |s|^2``; those
that do not depend on the coordinate have the moments of p, and those that depend on it otherwise are left out.

Two other faults are not planted. A wrong column of data gives another posterior, whose truth would need its own long run. A wrong
constraint changes what is reported, not the density: the fit cannot see it, and its answer about the density is right.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from stranger import Known, Stranger, columns

SHARE = 0.3
# Distance of the modes, in standard deviations of the moved parameter.
DISTANCE = 12.0


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
        names = [name for name in reference if reference[name].sd > 0 and np.allclose(change[name], 1.0, atol=1e-9)]
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
