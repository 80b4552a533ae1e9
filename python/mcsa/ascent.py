"""Score ascents with method, family, kernel and optimiser chosen by name."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ._mcsa import AscentState, Model
from .arguments import numbers, whole
from .fit import Batch, Description, Line, Part, Parts, described
from .result import Result
from .terms import Terms

__all__ = ["FAMILIES", "KERNELS", "METHODS", "OPTIMIZERS", "Ascent", "ascend"]

#: Methods with their settings, as ``mcsa-bench fit --list-methods`` names them; the last two are of :class:`mcsa.Terms` alone.
METHODS: dict[str, dict[str, float]] = {
    "pmcsa": {"chains": 10},
    "jsa": {"transitions": 10},
    "msc": {"fresh": 10},
    "msc-rb": {"fresh": 10},
    "snis": {"samples": 10},
    "elbo": {"samples": 10},
    "stl": {"samples": 10},
    "rws": {"samples": 10, "step_size": 0.1, "leapfrog": 16},
    "chivi": {"samples": 10},
    "chivi-max": {"samples": 10},
    "pmcsa-cv": {"chains": 10},
    "hmc": {"step_size": 0.1, "leapfrog": 16, "transitions": 1},
    "minibatched": {"samples": 1, "batch": 100},
    "sl-dais": {"points": 100, "batch": 100, "steps": 4, "step_size": 0.01},
}
#: Kernels that can move the chains of ``pmcsa``.
KERNELS: dict[str, dict[str, float]] = {
    "imh": {},
    "cis": {"candidates": 11},
    "hmc": {"step_size": 0.1, "leapfrog": 16},
    "mala": {"step_size": 0.1},
    "nuts": {"step_size": 0.1},
    "random-walk": {"scale": 0.5},
}
#: Families with their settings.
FAMILIES: dict[str, dict[str, float]] = {
    "mean-field": {},
    "full-rank": {},
    "low-rank": {"rank": 1},
    "student-t": {"freedom": 5.0},
    "affine-flow": {"couplings": 4, "width": 16},
    "spline-flow": {"couplings": 2, "width": 16, "freedom": 5.0},
}
#: Optimisers; all but ``dog`` have a rate.
OPTIMIZERS: tuple[str, ...] = ("adam", "sgd", "momentum", "nesterov", "rms-prop", "ada-grad", "dog")


class Ascent:
    """A fit of chosen parts that can be run, interrupted, looked at, saved and continued. The arguments are those of :func:`ascend`.

    >>> import mcsa
    >>> ascent = mcsa.Ascent(mcsa.models.eight_schools(), method="pmcsa", family="mean-field")
    >>> early, late = ascent.run(100), ascent.run(2_000)
    >>> ascent.step
    2000
    """

    def __init__(
        self,
        log_density: Batch | Model | Terms,
        dim: int | None = None,
        gradient: Batch | None = None,
        *,
        method: Part = "pmcsa",
        family: Part = "mean-field",
        kernel: Part | None = None,
        optimizer: Part = "adam",
        rate: float | Mapping[str, Any] = 0.01,
        mean: float | Sequence[float] = 0.0,
        scale: float | Sequence[float] = 1.0,
        seed: int = 1,
        draws: int = 4000,
        checkpoint: str | os.PathLike[str] | None = None,
        **description: Unpack[Description],
    ) -> None:
        target, self._labels = described(Ascent, log_density, dim, gradient, description)
        sides = target.dim
        rule = _part("optimizer", optimizer, {name: {} for name in OPTIMIZERS})
        if rule["kind"] != "dog":
            rule.setdefault("rate", rate)
        way, shape = _part("method", method, METHODS), _part("family", family, FAMILIES)
        paths = None
        if way["kind"] in ("minibatched", "sl-dais"):
            if kernel is not None:
                raise ValueError(f"{way['kind']} has no kernel")
            if not isinstance(log_density, Terms):
                raise ValueError(f"{way['kind']} needs a model with terms, mcsa.Terms")
        if way["kind"] == "sl-dais":
            way, paths = _paths(way, shape)
        plan = {
            "method": way,
            "paths": paths,
            "kernel": None if kernel is None else _part("kernel", kernel, KERNELS),
            "family": shape,
            "optimizer": rule,
            "seed": whole("seed", seed),
        }
        start = _vector("mean", mean, sides), _vector("scale", scale, sides)
        self._draws = whole("draws", draws, 1)
        self._checkpoint = None if checkpoint is None else os.fspath(checkpoint)
        self._state = AscentState(target, json.dumps(plan, default=float), *start, self._checkpoint)

    @property
    def step(self) -> int:
        """Number of steps made."""
        return self._state.step

    def run(self, steps: int = 10_000, *, progress: bool = False) -> Result:
        """Runs to ``steps`` steps in all and returns the result.

        Ctrl-C ends it early, with a warning and the result so far; ``run`` again goes on with the same bits. After an exception of a
        callable, ``run`` goes on from at most 1000 steps before it, and so does the checkpoint.
        """
        steps = whole("steps", steps, 1)
        line = Line() if progress else None

        def shown(text: str) -> None:
            if line is not None:
                line(f"{text.partition(' of ')[0]} of {steps}")

        try:
            is_done = True
            while is_done and self.step < steps and self._state.ended is None:
                # A checkpoint is due every 10,000 steps.
                try:
                    is_done = self._state.run(min(steps, self.step + 10_000), line and shown)
                finally:
                    # After an exception, too.
                    if self._checkpoint is not None and self.step > 0:
                        self.save(self._checkpoint)
        finally:
            if line is not None:
                line.close()
        if not is_done:
            warnings.warn(f"interrupted at step {self.step}; run() goes on", RuntimeWarning, stacklevel=2)
        elif self._state.ended is not None:
            warnings.warn(f"ended at step {self.step}: {self._state.ended}", RuntimeWarning, stacklevel=2)
        return self.result()

    def result(self) -> Result:
        """Weighted draws at the parameters reached, without a verdict."""
        return Result(self._state.result(self._draws), self._labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the state. ``Ascent(..., checkpoint=path)`` with the same target and settings continues from it, with the same bits."""
        self._state.save(os.fspath(path))

    def __repr__(self) -> str:
        return repr(self._state)


def ascend(
    log_density: Batch | Model | Terms,
    dim: int | None = None,
    gradient: Batch | None = None,
    *,
    steps: int = 10_000,
    progress: bool = False,
    **parts: Unpack[Parts],
) -> Result:
    """Fits a family to a posterior by chosen parts, by the names of ``mcsa-bench fit``. The result has no verdict: look at ``k_hat``.

    Args:
        log_density: As in :func:`mcsa.fit`.
        dim: As in :func:`mcsa.fit`.
        gradient: As in :func:`mcsa.fit`; the methods ``elbo``, ``stl``, ``rws``, ``hmc`` and kernels that use gradients need it.
        steps: Number of steps.
        progress: Whether a line shows the progress.
        method: A name of ``mcsa.ascent.METHODS``, or a dict with the name as ``kind`` and settings. ``minibatched`` ascends the evidence
            lower bound on ``batch`` data a step, and ``sl-dais`` does so along paths of some ``steps`` that a subset of ``points`` data
            guides; the family is their start.
        family: A name of ``mcsa.ascent.FAMILIES``, or such a dict: ``{"kind": "low-rank", "rank": 2}``.
        kernel: A name of ``mcsa.ascent.KERNELS``, or such a dict, with the method ``pmcsa``: the kernel that moves its chains.
        optimizer: A name of ``mcsa.ascent.OPTIMIZERS``, or such a dict.
        rate: Learning rate, or a schedule: ``{"kind": "power", "gamma": 0.1, "exponent": 0.6}``.
        mean: Means at the start.
        scale: Standard deviations at the start.
        seed: Seed of all random numbers.
        draws: Number of weighted draws in the result.
        checkpoint: File in which the state is kept. A call finds it there and continues with the same bits.

    >>> import mcsa
    >>> result = ascend(mcsa.models.banana(width=1.0, bend=0.1), method="jsa", family="full-rank", steps=3_000)
    >>> result.k_hat < 0.7
    True
    """
    return Ascent(log_density, dim, gradient, **parts).run(steps, progress=progress)


def _part(what: str, given: Part, known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Name and settings of a part; settings that are not given have their default."""
    settings = {"kind": given} if isinstance(given, str) else dict(given)
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(f"no {what} {kind!r}; there are {', '.join(known)}")
    return {**known[kind], **settings}


def _paths(way: dict[str, Any], family: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Method and paths of SL-DAIS; the link of a mean field becomes that of the paths."""
    if family["kind"] not in ("mean-field", "full-rank"):
        raise ValueError("sl-dais has the families mean-field and full-rank")
    if family["kind"] == "mean-field":
        family["link"] = "exp"
    paths = {name: value for name, value in way.items() if name not in ("kind", "batch")}
    return {"kind": "minibatched", "samples": 1, "batch": way["batch"]}, paths


def _vector(name: str, value: float | Sequence[float], dim: int) -> list[float]:
    found = numbers(name, value)
    if found.shape not in ((), (dim,)):
        raise ValueError(f"{name} has shape {found.shape}, expected a number or ({dim},)")
    return [float(number) for number in np.broadcast_to(found, (dim,))]
