"""Fit of a posterior in one call, or piece by piece."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, TypedDict, Unpack

import numpy as np

from . import _mcsa
from ._mcsa import Density, FitState, Model
from .arguments import known, mapping, real, unmasked, whole
from .models import observed_data
from .parameters import Declared, Parameter
from .prior import FittedPrior
from .result import Labels, Result
from .terms import Terms

__all__ = ["Fit", "fit", "resume"]

#: Function of a batch: of an array, or, with declared parameters, of a dict of arrays.
Batch = Callable[[Any], Any]
#: Draws of a prior from a generator and their number, and its log density.
Prior = tuple[Callable[[np.random.Generator, int], np.ndarray], Batch] | FittedPrior


class Description(TypedDict, total=False):
    """What is known of a target beside its density. :func:`fit` documents each."""

    parameters: Mapping[str, Parameter] | None
    vectorized: bool
    names: Sequence[str] | None
    transform: Callable[[Any], dict[str, Any]] | None
    dims: dict[str, list[str]] | None
    coords: dict[str, Sequence[Any]] | None
    log_likelihood: Batch | None
    observed: dict[str, Any] | None
    generated: Callable[[np.ndarray, int], dict[str, Any]] | None
    prior: Prior | None


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


class Options(Description, total=False):
    """Options of :func:`fit`, which documents them."""

    seed: int
    draws: int
    starts: int
    evaluations: int | None
    seconds: float | None
    share: float
    checkpoint: str | os.PathLike[str] | None


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
        log_density: Batch | Model | Terms,
        dim: int | None = None,
        gradient: Batch | None = None,
        *,
        seed: int = 1,
        draws: int = 4000,
        starts: int = 100,
        evaluations: int | None = None,
        seconds: float | None = None,
        share: float = 0.7,
        checkpoint: str | os.PathLike[str] | None = None,
        start_from: Result | None = None,
        **description: Unpack[Description],
    ) -> None:
        target, self._labels = described(Fit, log_density, dim, gradient, description)
        self._is_model = isinstance(target, Model)
        self._fitting = FitState(
            target,
            seed=whole("seed", seed),
            draws=whole("draws", draws, 1),
            starts=whole("starts", starts, 1),
            evaluations=None if evaluations is None else whole("evaluations", evaluations, 1),
            seconds=None if seconds is None else real("seconds", seconds),
            share=real("share", share),
            checkpoint=None if checkpoint is None else os.fspath(checkpoint),
            start_from=None if start_from is None else _of_result("start_from", start_from)._fitted,
        )

    @property
    def stage(self) -> str:
        """The next stage: ``"start"``, ``"climb"``, ``"verdict"`` or ``"done"``."""
        return self._fitting.stage

    def run(self, *, progress: bool = False, _again: str = "run() goes on with it") -> Result:
        """Does all that is left and returns the result.

        Ctrl-C ends it after the current piece of work. Then the result has the draws of the q reached, unchecked, and its verdict is no;
        ``run`` again goes on. A second Ctrl-C raises ``KeyboardInterrupt``, as the first does before any q was reached.
        """
        if self._is_model:
            _check_process()
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
            warnings.warn(f"the fit was interrupted; {_again}", RuntimeWarning, stacklevel=2)
        return Result(result, self._labels)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        log_density: Batch | Model | Terms,
        dim: int | None = None,
        gradient: Batch | None = None,
        **description: Unpack[Description],
    ) -> Fit:
        """The fit that :meth:`save` wrote, with the options in the file. Another target is an error."""
        self = cls.__new__(cls)
        target, self._labels = described(cls.load, log_density, dim, gradient, description)
        self._is_model = isinstance(target, Model)
        self._fitting = FitState.load(target, os.fspath(path))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the state. :meth:`load`, or ``Fit(..., checkpoint=path)`` with the same target and options, continues from it with the same bits."""
        self._fitting.save(os.fspath(path))

    def __repr__(self) -> str:
        return repr(self._fitting)


#: The process that fits models of the library.
_process: int | None = None


def _check_process() -> None:
    """The threads that fit models of the library do not survive a fork, and a fit would wait for them."""
    global _process
    if _process not in (None, os.getpid()):
        raise RuntimeError(
            "this process was forked from one that has fitted a model of the library, and lacks its threads: "
            "use the start method 'spawn' of multiprocessing, or threads"
        )
    _process = os.getpid()


def fit(
    log_density: Batch | Model | Terms,
    dim: int | None = None,
    gradient: Batch | None = None,
    *,
    parameters: Mapping[str, Parameter] | None = None,
    vectorized: bool = True,
    names: Sequence[str] | None = None,
    transform: Callable[[Any], dict[str, Any]] | None = None,
    dims: dict[str, list[str]] | None = None,
    coords: dict[str, Sequence[Any]] | None = None,
    log_likelihood: Batch | None = None,
    observed: dict[str, Any] | None = None,
    generated: Callable[[np.ndarray, int], dict[str, Any]] | None = None,
    prior: Prior | None = None,
    seed: int = 1,
    draws: int = 4000,
    starts: int = 100,
    evaluations: int | None = None,
    seconds: float | None = None,
    share: float = 0.7,
    checkpoint: str | os.PathLike[str] | None = None,
    start_from: Result | None = None,
    progress: bool = False,
) -> Result:
    """Fits a posterior from starts to weighted draws and a verdict.

    The target is a function of ``dim`` unconstrained coordinates, or of declared ``parameters``, a model of :mod:`mcsa.models`, or
    :class:`mcsa.Terms`.

    Args:
        log_density: Log density up to a constant: an array of shape ``(N, dim)``, one point per row, gives ``N`` numbers. With
            ``parameters`` a dict of arrays, whose first side is ``N``, takes the place of the array, here and below. NumPy, numba and
            ``jax.jit(jax.vmap(f))`` serve. Starts lie far out, so NumPy's warnings are off during its calls.
        dim: Number of unconstrained coordinates. Not given with ``parameters`` or for a model.
        gradient: The same batch gives an array ``(N, dim)``, or a pair of the ``N`` log densities and this array. With ``parameters``
            it has the slopes as a dict of the same shapes as the values.
        parameters: The set of each parameter by name: ``{"mu": mcsa.real(), "sigma": mcsa.positive(), "w": mcsa.simplex(4)}``. The fit
            transforms them and adds the log-Jacobian, so ``log_density`` is the density of the parameters themselves.
        vectorized: False if ``log_density`` and ``gradient`` take one point; slower.
        names: Names of the coordinates.
        transform: Maps draws ``(N, dim)`` to parameters by name, each an array whose first side is ``N``; for reports. With
            ``parameters`` these are what is reported without it.
        dims: Names of the sides of parameters, for tables and ArviZ.
        coords: Labels along these sides.
        log_likelihood: Log likelihood of each datum at points ``(N, dim)``: an array whose first side is ``N``, or a dict of these by
            name. Models of the library bring their own.
        observed: The data by the same names, for ArviZ.
        generated: Random quantities at points ``(N, dim)`` from a seed, arrays by name whose first side is ``N``: simulated data, for
            ``result.generated()`` and ArviZ. Stan programs bring their generated quantities.
        seed: Seed of all random numbers; the same seed gives the same bits as in Rust if the log density does.
        draws: Number of weighted draws.
        starts: Number of ascents from spread points. A mode that one ascent in twenty reaches is missed by 100 of them in 0.6 %.
        prior: Draws and log density of the prior, if it is known apart from the likelihood: a function of a NumPy generator and a
            number n that gives points ``(n, dim)``, and one of a batch of points. ``log_density`` stays that of the posterior.
            Ascents then begin at draws of the prior too. With ``parameters`` it must be ``result.as_prior()`` of a fit with the same ones;
            ``log_density`` and ``gradient`` are then of the log likelihood, to which the prior is added.
        evaluations: Largest number of evaluations, draws and verdict included; at least 1, and 100 draws are made in any case. By
            default a million, or ten million without a gradient.
        seconds: Largest time, draws and verdict included.
        share: Effective share of the draws at which climbing ends.
        checkpoint: File in which the state is kept. A call finds it there and continues with the same bits.
        start_from: Result of an earlier fit with the same coordinates: of the same model with more data, or of a similar one. The fit
            begins at its q if 1,000 draws of it are good for this target, which saves the climb. All checks of the verdict are run.
        progress: Whether a line shows the progress.

    Returns:
        The result. Look at ``result.verdict`` first.

    >>> import mcsa
    >>> import numpy as np
    >>> def log_density(p):  # six heads in eight tosses, with a uniform prior
    ...     return 6 * np.log(p["heads"]) + 2 * np.log1p(-p["heads"])
    >>> result = fit(log_density, parameters={"heads": mcsa.unit()}, seed=1)
    >>> bool(abs(result.summary()["heads"]["mean"] - 7 / 10) < 0.01), result.ok
    (True, True)
    """
    state = Fit(
        log_density,
        dim,
        gradient,
        seed=seed,
        draws=draws,
        starts=starts,
        evaluations=evaluations,
        seconds=seconds,
        share=share,
        checkpoint=checkpoint,
        start_from=start_from,
        parameters=parameters,
        vectorized=vectorized,
        names=names,
        transform=transform,
        dims=dims,
        coords=coords,
        log_likelihood=log_likelihood,
        observed=observed,
        generated=generated,
        prior=prior,
    )
    return state.run(progress=progress, _again="with checkpoint=FILE the same call goes on")


def resume(
    path: str | os.PathLike[str],
    log_density: Batch | Model | Terms,
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
    maker: Callable[..., Any], log_density: Batch | Model | Terms, dim: int | None, gradient: Batch | None, given: Description
) -> tuple[Density | _mcsa.Terms | Model, Labels]:
    """Target of a fit, and its labels. A model of the library brings its log likelihood and data. ``maker`` has the other options."""
    own = [name for name, parameter in signature(maker).parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    known(given, [*own, *Description.__annotations__])
    names, transform, log_likelihood = given.get("names"), given.get("transform"), given.get("log_likelihood")
    generated = given.get("generated")
    dims, coords = mapping("dims", given.get("dims")), mapping("coords", given.get("coords"))
    if names is not None:
        names = [""] if isinstance(names, str) else list(names)
        if not all(isinstance(name, str) and name for name in names):
            raise TypeError("names must be a list of words, one for each coordinate")
    for name, function in (("transform", transform), ("log_likelihood", log_likelihood), ("generated", generated)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be callable: an array (N, d) gives arrays whose first side is N")
    observed = {name: unmasked(f"observed: {name}", values) for name, values in mapping("observed", given.get("observed")).items()}
    parameters = None if given.get("parameters") is None else mapping("parameters", given.get("parameters"))
    if isinstance(log_density, Model | Terms):
        if any(part is not None for part in (dim, gradient, names, parameters, given.get("prior"))):
            raise TypeError("a model brings its own dimension, gradient and names, and takes no parameters and no prior")
    if isinstance(log_density, Terms):
        log_likelihood = log_likelihood or log_density.log_likelihood
        return log_density._target, Labels(transform, dims, coords, log_likelihood, observed, generated=generated)
    if isinstance(log_density, Model):
        if log_likelihood is None and log_density.num_data is not None:
            log_likelihood = log_density.log_likelihood
        if given.get("observed") is None:
            observed = observed_data(log_density)
        return log_density, Labels(transform, dims, coords, log_likelihood, observed, generated=generated)
    for function in (log_density, *([] if gradient is None else [gradient])):
        if not callable(function):
            raise TypeError(
                "log_density and gradient must be callable: an array (N, d) gives N numbers, and an array (N, d). "
                "For a model of PyMC, JAX or Stan: fit(**mcsa.from_pymc(model)), from_jax or from_stan"
            )
    if not given.get("vectorized", True):
        log_density, gradient = _each(log_density), None if gradient is None else _each(gradient)
    below_diagonal: frozenset[str] = frozenset()
    prior = given.get("prior")
    if parameters is not None:
        if dim is not None or names is not None:
            raise TypeError("parameters bring their own dimension and names")
        if not isinstance(prior, FittedPrior | None):
            raise TypeError("prior is of unconstrained coordinates; with parameters it must be result.as_prior() of an earlier fit")
        declared = Declared(parameters, prior)
        if transform is None and generated is None and (log_likelihood is None or observed):
            known(dims, [*parameters, *observed], "dims: there is no parameter", "parameters and data")
        dim, below_diagonal = declared.dim, declared.below_diagonal
        log_density = declared.log_density(log_density)
        gradient = None if gradient is None else declared.gradient(gradient)
        log_likelihood = None if log_likelihood is None else declared.composed(log_likelihood)
        transform = declared.values if transform is None else declared.composed(transform)
    elif dim is None:
        raise TypeError("dim, the number of unconstrained coordinates, is missing; or give parameters, the set of each by name")
    # Starts lie far out, where overflow is no fault.
    calm = np.errstate(all="ignore")
    labels = Labels(transform and calm(transform), dims, coords, log_likelihood and calm(log_likelihood), observed, below_diagonal, generated)
    if parameters is not None:
        names = [labels.entry(*coordinate) for coordinate in declared.coordinates()]
    target = Density(
        calm(log_density),
        whole("dim", dim, 1),
        gradient and calm(gradient),
        None if names is None else list(names),
        None if prior is None else (prior[0], calm(prior[1])),
    )
    return target, labels


def _of_result(name: str, given: Any) -> Result:
    if not isinstance(given, Result):
        raise TypeError(f"{name} is a {type(given).__name__}, expected the result of a fit")
    return given


def _each(function: Batch) -> Batch:
    """The function of a batch from that of one point."""

    def batch(z: Any) -> Any:
        if isinstance(z, Mapping):
            count = len(next(iter(z.values())))
            return _stacked([function({name: values[i] for name, values in z.items()}) for i in range(count)])
        return _stacked([function(point) for point in z])

    def noted(z: Any) -> Any:
        try:
            return batch(z)
        except Exception as error:
            error.add_note(_FAR if isinstance(error, OverflowError | ZeroDivisionError) or str(error) == "math domain error" else _ONE)
            raise

    return noted


_ONE = "With vectorized=False log_density and gradient take one point at a time; without it they take a batch, one point per row."
_FAR = "Starts lie far out: functions of NumPy give inf or nan there, where those of the module math raise. -inf means outside the support."


def _stacked(found: Sequence[Any]) -> Any:
    """Results of single points as that of a batch: arrays, pairs and dicts of them."""
    if isinstance(found[0], tuple):
        return tuple(_stacked(part) for part in zip(*found, strict=True))
    if isinstance(found[0], Mapping):
        return {name: _stacked([one[name] for one in found]) for name in found[0]}
    if any(np.ma.is_masked(one) for one in found):
        raise ValueError("a point gave a masked array; expected a number for every entry")
    array = np.asarray(found)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"points gave numbers of dtype {array.dtype}; expected real numbers")
    return array.astype(float, copy=False)


class Line:
    """Line of progress: tqdm's where it is installed and a terminal or a notebook shows it, else a line of a log now and then."""

    #: Seconds between two lines of one stage.
    PAUSE = 10.0

    def __init__(self) -> None:
        self._bar: Any = None
        # A line that is written over itself fills a log. The streams of a notebook are no terminals.
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            try:
                from tqdm.auto import tqdm

                self._bar = tqdm(bar_format="{desc}", leave=True)
            except ImportError:
                pass
        self._stage, self._time, self._left = "", 0.0, ""

    def __call__(self, text: str) -> None:
        stage, now = text.split(":")[0].split(" ")[0], time.monotonic()
        if self._bar is not None:
            self._bar.set_description_str(text)
        elif stage != self._stage or now - self._time >= self.PAUSE:
            self._stage, self._time, self._left = stage, now, ""
            print(text, file=sys.stderr)
        else:
            self._left = text

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._left:
            print(self._left, file=sys.stderr)
