"""Fit of a posterior in one call, or piece by piece."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, TypedDict, Unpack, cast

import numpy as np

from ._mcsa import Density, FitState, Model
from .arguments import known, unmasked, whole
from .models import observed_data
from .result import Labels, Result

__all__ = ["Fit", "fit", "resume"]

Batch = Callable[[np.ndarray], Any]


class Description(TypedDict, total=False):
    """What is known of a target beside its density. :func:`fit` documents each."""

    vectorized: bool
    names: Sequence[str] | None
    transform: Callable[[np.ndarray], dict[str, Any]] | None
    dims: dict[str, list[str]] | None
    coords: dict[str, Sequence[Any]] | None
    log_likelihood: Callable[[np.ndarray], Any] | None
    observed: dict[str, Any] | None


#: Name of a method, family, kernel or optimiser, or a dict with the name as ``kind`` and settings.
Part = str | Mapping[str, Any]


class Parts(Description, total=False):
    """Options of :func:`mcsa.ascend`, which documents them."""

    method: Part
    family: Part
    kernel: Part | None
    optimizer: Part
    rate: float | Mapping[str, Any]
    mean: float | Sequence[float]
    scale: float | Sequence[float]
    seed: int
    draws: int
    checkpoint: str | os.PathLike[str] | None


class Options(Parts, total=False):
    """Options of :func:`fit`, which documents them."""

    starts: int
    evaluations: int
    seconds: float | None
    share: float
    steps: int


class Fit:
    """A fit that can be run, interrupted, saved and continued. The arguments are those of :func:`fit`.

    >>> import mcsa
    >>> state = mcsa.Fit(lambda z: -0.5 * (z**2).sum(axis=1), dim=2, seed=1)
    >>> state.stage
    'start'
    >>> state.run().ok
    True
    """

    def __init__(
        self,
        log_density: Batch | Model,
        dim: int | None = None,
        gradient: Batch | None = None,
        *,
        seed: int = 1,
        draws: int = 4000,
        starts: int = 100,
        evaluations: int = 1_000_000,
        seconds: float | None = None,
        share: float = 0.7,
        checkpoint: str | os.PathLike[str] | None = None,
        **description: Unpack[Description],
    ) -> None:
        target, self._labels = described(Fit, log_density, dim, gradient, description)
        self._fitting = FitState(
            target,
            seed=whole("seed", seed),
            draws=whole("draws", draws, 1),
            starts=whole("starts", starts, 1),
            evaluations=whole("evaluations", evaluations, 1),
            seconds=seconds,
            share=share,
            checkpoint=None if checkpoint is None else os.fspath(checkpoint),
        )

    @property
    def stage(self) -> str:
        """The next stage: ``"start"``, ``"climb"``, ``"verdict"`` or ``"done"``."""
        return self._fitting.stage

    def run(self, *, progress: bool = False) -> Result:
        """Does all that is left and returns the result.

        Ctrl-C ends it after the current piece of work. Then the result has the draws of the q reached, unchecked, and its verdict is no;
        ``run`` again goes on. A second Ctrl-C raises ``KeyboardInterrupt``, as the first does before any q was reached.
        """
        line = Line() if progress else None
        try:
            is_done = self._fitting.run(line)
        finally:
            if line is not None:
                line.close()
        result = self._fitting.result()
        if result is None:
            raise KeyboardInterrupt("interrupted before the first round of a climb")
        if not is_done:
            warnings.warn("the fit was interrupted; run() goes on with it", RuntimeWarning, stacklevel=2)
        return Result(result, self._labels)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        log_density: Batch | Model,
        dim: int | None = None,
        gradient: Batch | None = None,
        **description: Unpack[Description],
    ) -> Fit:
        """The fit that :meth:`save` wrote, with the options in the file. Another target is an error."""
        self = cls.__new__(cls)
        target, self._labels = described(cls.load, log_density, dim, gradient, description)
        self._fitting = FitState.load(target, os.fspath(path))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the state. :meth:`load`, or ``Fit(..., checkpoint=path)`` with the same target and options, continues from it with the same bits."""
        self._fitting.save(os.fspath(path))

    def __repr__(self) -> str:
        return repr(self._fitting)


def fit(
    log_density: Batch | Model,
    dim: int | None = None,
    gradient: Batch | None = None,
    *,
    progress: bool = False,
    **options: Unpack[Options],
) -> Result:
    """Fits a posterior from starts to weighted draws and a verdict. With a ``method`` it is :func:`mcsa.ascend`, a fit of chosen parts.

    Args:
        log_density: Log density up to a constant on ``R^dim``: an array of shape ``(N, dim)``, one point per row, gives ``N`` numbers.
            NumPy, numba and ``jax.jit(jax.vmap(f))`` serve. Or a model of :mod:`mcsa.models`.
        dim: Number of unconstrained parameters. Not given for a model.
        gradient: The same batch gives an array ``(N, dim)``, or a pair of the ``N`` log densities and this array.
        progress: Whether a line shows the progress.
        vectorized: False if ``log_density`` and ``gradient`` take one point ``(dim,)``; slower.
        names: Names of the coordinates.
        transform: Maps draws ``(N, dim)`` to parameters by name, each an array whose first side is ``N``; for reports.
        dims: Names of the sides of parameters, for ArviZ.
        coords: Labels along these sides, for ArviZ.
        log_likelihood: Log likelihood of each datum at points ``(N, dim)``: an array whose first side is ``N``, or a dict of these by
            name. Models of the library bring their own.
        observed: The data by the same names, for ArviZ.
        seed: Seed of all random numbers; the same seed gives the same bits as in Rust if the log density does.
        draws: Number of weighted draws.
        starts: Number of ascents from spread points. A mode that one ascent in twenty reaches is missed by 100 of them in 0.6 %.
        evaluations: Largest number of evaluations, draws and verdict included; at least 1.
        seconds: Largest time, draws and verdict included.
        share: Effective share of the draws at which climbing ends.
        checkpoint: File in which the state is kept. A call finds it there and continues with the same bits.

    Returns:
        The result. Look at ``result.verdict`` first.

    >>> import numpy as np
    >>> def log_density(z):  # six heads in eight tosses, log odds with a standard normal prior
    ...     return 6 * z[:, 0] - 8 * np.logaddexp(0, z[:, 0]) - 0.5 * z[:, 0] ** 2
    >>> result = fit(log_density, 1, names=["log_odds"], seed=1)
    >>> bool(abs(result.mean[0] - 0.72) < 0.05), result.ok
    (True, True)
    """
    if "method" in options:
        from .ascent import ascend

        return ascend(log_density, dim, gradient, progress=progress, **cast(Any, options))
    return Fit(log_density, dim, gradient, **cast(Any, options)).run(progress=progress)


def resume(
    path: str | os.PathLike[str],
    log_density: Batch | Model,
    dim: int | None = None,
    gradient: Batch | None = None,
    *,
    progress: bool = False,
    **description: Unpack[Description],
) -> Result:
    """Continues the fit in a file to its end, with the options in the file, and with the bits of a fit that was never interrupted.

    >>> import mcsa, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "schools.fit")
    >>> mcsa.Fit(mcsa.models.eight_schools(), seed=3).save(path)
    >>> mcsa.resume(path, mcsa.models.eight_schools()).ok
    True
    """
    return Fit.load(path, log_density, dim, gradient, **description).run(progress=progress)


def described(
    maker: Callable[..., Any], log_density: Batch | Model, dim: int | None, gradient: Batch | None, given: Description
) -> tuple[Density | Model, Labels]:
    """Target of a fit, and its labels. A model of the library brings its log likelihood and data. ``maker`` has the other options."""
    own = [name for name, parameter in signature(maker).parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    known(given, ["progress", *own, *Description.__annotations__])
    names, transform, log_likelihood = given.get("names"), given.get("transform"), given.get("log_likelihood")
    for name, function in (("transform", transform), ("log_likelihood", log_likelihood)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be callable: an array (N, d) gives arrays whose first side is N")
    observed = {name: unmasked(f"observed: {name}", values) for name, values in (given.get("observed") or {}).items()}
    target: Density | Model
    if isinstance(log_density, Model):
        if dim is not None or gradient is not None or names is not None:
            raise TypeError("a model brings its own dimension, gradient and names")
        if log_likelihood is None and log_density.num_data is not None:
            log_likelihood = log_density.log_likelihood
        if given.get("observed") is None:
            observed = observed_data(log_density)
        target = log_density
    else:
        if dim is None:
            raise TypeError("dim, the number of parameters, is missing")
        if not given.get("vectorized", True) and callable(log_density):
            log_density = _each(log_density)
            gradient = None if gradient is None else _each(gradient)
        target = Density(log_density, whole("dim", dim, 1), gradient, None if names is None else list(names))
    return target, Labels(transform, given.get("dims") or {}, given.get("coords") or {}, log_likelihood, observed)


def _each(function: Batch) -> Batch:
    """The function of a batch from that of one point."""

    def batch(z: np.ndarray) -> Any:
        found = [function(point) for point in z]
        if isinstance(found[0], tuple):
            return tuple(np.asarray(part, dtype=float) for part in zip(*found, strict=True))
        return np.asarray(found, dtype=float)

    return batch


class Line:
    """Line of progress: tqdm's where it is installed, else lines on standard error when the stage changes."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm

            self._bar = tqdm(bar_format="{desc}", leave=True)
        except ImportError:
            self._bar = None
        self._stage = ""

    def __call__(self, text: str) -> None:
        if self._bar is not None:
            self._bar.set_description_str(text)
        elif (stage := text.split(":")[0]) != self._stage:
            self._stage = stage
            print(text, file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
