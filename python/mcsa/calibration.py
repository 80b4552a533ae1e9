"""Simulation-based calibration of the whole call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack, cast

import numpy as np

from ._mcsa import FitError, calibration_judge, calibration_looks
from .arguments import numbers, whole
from .fit import Fit, Options
from .parameters import Declared, Parameter
from .plots import pyplot
from .prior import FittedPrior

__all__ = ["Calibration", "calibrate"]

#: Number of draws with equal weights among which a true value is ranked; fewer if their effective sample size is.
_DRAWS = 99


@dataclass(frozen=True)
class Calibration:
    """Ranks of the true values of data sets with a yes, and what they show."""

    #: Names of the quantities: the parameters, and ``log density``.
    names: list[str]
    #: A row for each data set with a yes, a column for each quantity: numbers between 0 and 1, uniform if the answers are right.
    ranks: np.ndarray
    #: Reasons of the noes.
    noes: list[str]
    #: ``"calibrated"``, ``"wrong"``, or ``"open"`` if there are too few data sets.
    conclusion: str
    #: Probability with which the errors that are not to be missed would have been seen.
    power: float
    #: Smallest and largest numbers of ranks up to 1/20, .., 19/20.
    band: tuple[np.ndarray, np.ndarray]
    _text: str = field(repr=False)

    @property
    def ok(self) -> bool:
        """True if the ranks are uniform, and the errors that are not to be missed would have been seen."""
        return self.conclusion == "calibrated"

    def plot(self, axes: Any = None) -> Any:
        """Draws the distribution function of the ranks of each quantity, less that of uniform ranks, over its band. Needs matplotlib."""
        if axes is None:
            axes = pyplot().subplots()[1]
        count = len(self.ranks)
        places = np.arange(1, len(self.band[0]) + 1) / (len(self.band[0]) + 1)
        low, high = (ends / max(count, 1) - places for ends in self.band)
        axes.fill_between(places, low, high, color="0.85", label="band")
        for name, column in zip(self.names, np.sort(self.ranks, axis=0).T, strict=True):
            axes.step(column, np.arange(1, count + 1) / count - column, where="post", label=name)
        axes.set(xlabel="rank", ylabel="distribution function less rank", title=self.conclusion)
        axes.legend()
        return axes

    def __repr__(self) -> str:
        return self._text


def calibrate(
    simulate: Callable[[np.random.Generator], tuple[Any, Any]],
    log_density: Callable[[Any, Any], Any],
    gradient: Callable[[Any, Any], Any] | None = None,
    *,
    data_sets: int = 1000,
    level: float = 0.01,
    bias: float = 0.3,
    factor: float = 1.3,
    **options: Unpack[Options],
) -> Calibration:
    """Fits data sets that are drawn from a model, until the ranks of their true parameters show that the call is right on it, or wrong.

    Ranks of each parameter and of the log density, given the verdict yes, are judged after 50, 100, 200, .. data sets. They describe the
    data sets that get a yes; the share of noes stands beside them.

    Args:
        simulate: ``simulate(rng)`` draws parameters from the prior and data, and returns both. The former are a point on the unconstrained
            scale, or, with declared ``parameters``, a dict of these.
        log_density: ``log_density(z, data)``, as for :func:`fit`, with the data as second argument.
        gradient: ``gradient(z, data)``, as for :func:`fit`.
        data_sets: Largest number of data sets.
        level: Probability of finding a right call wrong.
        bias: Error of a mean, in standard deviations, that is not to be missed.
        factor: Factor of a standard deviation that is not to be missed, either way.
        options: Those of :func:`fit`, among them ``seed``, ``names`` and ``transform``.

    >>> import mcsa
    >>> def simulate(rng):  # a mean with a standard normal prior, and a datum with noise of scale 1
    ...     z = rng.normal(size=1)
    ...     return z, z + rng.normal()
    >>> def log_density(z, y):
    ...     return -0.5 * (z[:, 0] ** 2 + (y - z[:, 0]) ** 2)
    >>> found = mcsa.calibrate(simulate, log_density, data_sets=50, bias=1.5, factor=5.0, draws=1000, starts=5)
    >>> found.ok
    True
    """
    seed, limits = whole("seed", options.pop("seed", 1)), (level, bias, factor)
    if options.get("checkpoint") is not None:
        raise ValueError("checkpoint: the fits of a calibration share no file")
    data_sets = whole("data_sets", data_sets, 1)
    fits: list[tuple[list[float], str | None]] = []
    names: list[str] = []
    found: tuple[str, str, float, list[int], list[int]] | None = None
    for look in calibration_looks(data_sets, limits):
        while len(fits) < look:
            rng = np.random.default_rng([seed, len(fits)])
            try:
                here, ranks, no = _data_set(rng, simulate, log_density, gradient, options)
            except Exception as error:
                error.add_note(f"in data set {len(fits)} of a calibration")
                raise
            names = names or here
            fits.append((ranks, no))
        found = calibration_judge(names, fits, data_sets, limits)
        if found[0] != "open":
            break
    assert found is not None, "the last look is at all data sets"
    conclusion, text, power, low, high = found
    right = [ranks for ranks, no in fits if no is None]
    noes = [no for _, no in fits if no is not None]
    table = np.array(right, dtype=float).reshape(len(right), len(names))
    return Calibration(names, table, noes, conclusion, power, (np.array(low), np.array(high)), text)


def _data_set(
    rng: np.random.Generator,
    simulate: Callable[[np.random.Generator], tuple[Any, Any]],
    log_density: Callable[[Any, Any], Any],
    gradient: Callable[[Any, Any], Any] | None,
    options: Options,
) -> tuple[list[str], list[float], str | None]:
    """Names, ranks of the true values, and the reason of a no."""
    drawn, data = simulate(rng)
    parameters = options.get("parameters")
    truth = _truth(drawn, parameters)
    is_batch = options.get("vectorized", True)
    # A function may work in place.
    height = float(np.asarray(log_density(_copied(truth if is_batch else _first(truth)), data)).reshape(()))
    if not np.isfinite(height):
        raise ValueError(f"the log density at the parameters it was drawn from is {height}: simulator and density disagree")
    slope = None if gradient is None else _given(gradient, data)
    dim = truth.shape[1] if isinstance(truth, np.ndarray) else None
    fit = Fit(_given(log_density, data), dim, slope, seed=int(rng.integers(2**63)), **cast(Any, options))
    try:
        result = fit.run()
    except FitError as error:
        return [], [], str(error)
    if fit.stage != "done":
        raise KeyboardInterrupt
    # Ranks among draws with equal weights: (number below + U (number equal + 1)) / (L + 1) with U uniform.
    copies = result._fitted.copies(max(1, min(_DRAWS, int(result.sample_size))), int(rng.integers(2**63)))
    z, heights = result.draws[copies], result.log_p[copies]
    if parameters is not None:
        # What the function itself gives: the density less the log-Jacobian, or less the prior that takes its place.
        prior = options.get("prior")
        heights = heights - (prior.log_density(z) if isinstance(prior, FittedPrior) else Declared(parameters).at(z)[1])
    transform = options.get("transform")
    if isinstance(truth, np.ndarray):
        named = result._by_name_at(truth)
    else:
        named = truth if transform is None else result._by_name("transform", transform(_copied(truth)), 1)
    names, draws = result._flat(result._by_name_at(z))
    true = np.append(result._flat(named)[1][0], height)
    values = np.column_stack([draws, heights])
    below, equal = (values < true).sum(axis=0), (values == true).sum(axis=0)
    ranks = (below + rng.uniform(size=true.size) * (equal + 1)) / (len(copies) + 1)
    return [*names, "log density"], ranks.tolist(), None if result.ok else str(result.verdict)


def _truth(drawn: Any, parameters: Mapping[str, Parameter] | None) -> np.ndarray | dict[str, np.ndarray]:
    """Parameters that were drawn, as a batch of one point."""
    if parameters is None:
        point = numbers("parameters of simulate", drawn)
        if point.ndim != 1:
            raise ValueError(f"simulate gave parameters of shape {point.shape}; expected one point (dim,)")
        return point[np.newaxis]
    if not isinstance(drawn, Mapping) or drawn.keys() != parameters.keys():
        raise ValueError(f"simulate gave other parameters than {', '.join(parameters)}")
    found = {name: numbers(f"parameters of simulate: {name}", drawn[name])[np.newaxis] for name in parameters}
    for name, parameter in parameters.items():
        if found[name].shape[1:] != parameter.shape:
            raise ValueError(f"simulate gave {name} the shape {found[name].shape[1:]}; expected {parameter.shape}")
    return found


def _copied(point: Any) -> Any:
    return {name: np.copy(values) for name, values in point.items()} if isinstance(point, Mapping) else np.copy(point)


def _first(batch: np.ndarray | dict[str, np.ndarray]) -> Any:
    return batch[0] if isinstance(batch, np.ndarray) else {name: values[0] for name, values in batch.items()}


def _given(function: Callable[[Any, Any], Any], data: Any) -> Callable[[Any], Any]:
    return lambda z: function(z, data)
