"""Result of a fit: weighted draws, summaries, verdict."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from textwrap import wrap
from typing import Any

import numpy as np

from . import plots, tables
from ._mcsa import FitResult
from .arguments import numbers, whole
from .comparison import Loo
from .prior import FittedPrior
from .verdict import Verdict

__all__ = ["Result", "Summary"]

_PROBABILITIES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Summary:
    """Posterior of every parameter: moments with Monte Carlo errors, and quantiles, of the weighted draws."""

    names: list[str]
    mean: np.ndarray
    error: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> dict[str, float]:
        """Numbers of one parameter by name."""
        i = self.names.index(name)
        low, middle, high = self.quantiles[i]
        return {"mean": self.mean[i], "error": self.error[i], "sd": self.sd[i], "5%": low, "50%": middle, "95%": high}

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        import pandas

        return pandas.DataFrame([self[name] for name in self.names], index=self.names)

    def _rows(self) -> list[list[str]]:
        """Headings, and a row of words for every parameter."""
        rows = [["", "mean", "error", "sd", "5%", "50%", "95%"]]
        for name, mean, error, sd, quantiles in zip(self.names, self.mean, self.error, self.sd, self.quantiles, strict=True):
            words = [f"{mean:.4g}", f"{error:.2g}", f"{sd:.4g}", *(f"{quantile:.4g}" for quantile in quantiles)]
            rows.append([name, *("-" if word == "nan" else word for word in words)])
        return rows

    def _text(self, rows: Sequence[Sequence[str]]) -> str:
        return tables.text(rows, [max(4, *(len(row[0]) for row in rows)), 10, 9, 10, 10, 10, 10])

    def __repr__(self) -> str:
        return self._text(self._rows())

    def _repr_html_(self) -> str:
        return tables.html(self._rows())


@dataclass(frozen=True)
class Labels:
    """Parameters by name: the map from draws, names of their sides and labels along these; log likelihood and data, if they are known."""

    transform: Callable[[np.ndarray], dict[str, Any]] | None = None
    dims: dict[str, list[str]] = field(default_factory=dict)
    coords: dict[str, Sequence[Any]] = field(default_factory=dict)
    log_likelihood: Callable[[np.ndarray], Any] | None = None
    observed: dict[str, Any] = field(default_factory=dict)
    #: Matrices of which the entries below the diagonal determine the others, and are those of a table.
    below_diagonal: frozenset[str] = frozenset()
    #: Random quantities at points, from a seed.
    generated: Callable[[np.ndarray, int], dict[str, Any]] | None = None

    def entry(self, name: str, index: tuple[int, ...]) -> str:
        """Name of an entry of a parameter: with the labels of its sides, or else with its index."""
        sides = self.dims.get(name, [])
        labels = [self.coords.get(side, ()) for side in sides] if len(sides) == len(index) else [()] * len(index)
        words = [str(label[i]) if i < len(label) else str(i) for label, i in zip(labels, index, strict=True)]
        return name + (f"[{','.join(words)}]" if words else "")

    def of(self, name: str) -> str:
        """Name of an entry ``theta[2]``, with its label."""
        found = re.fullmatch(r"(.*)\[(\d+(?:,\d+)*)\]", name)
        return self.entry(found[1], tuple(map(int, found[2].split(",")))) if found and found[1] in self.dims else name


class Result:
    """Result of a fit.

    Averages over the posterior are averages over ``draws`` with ``weights``; ``resampled`` gives points with equal weights.
    """

    def __init__(self, fitted: FitResult, labels: Labels) -> None:
        self._fitted = fitted
        self._labels = labels

    @property
    def draws(self) -> np.ndarray:
        """Draws of q, one per row, on the unconstrained scale. They need their ``weights``."""
        return self._fitted.draws

    @property
    def log_p(self) -> np.ndarray:
        """Log density of each draw, as the target returned it."""
        return self._fitted.log_p

    @property
    def log_q(self) -> np.ndarray:
        """Log density of q at each draw."""
        return self._fitted.log_q

    @property
    def log_weights(self) -> np.ndarray:
        """Logarithms of ``weights``."""
        return self._fitted.log_weights

    @property
    def weights(self) -> np.ndarray:
        """Importance weights of the draws, smoothed; they sum to 1, or are all 0 where the density vanishes at every draw."""
        return np.exp(self._fitted.log_weights)

    @property
    def mean(self) -> np.ndarray:
        """Posterior mean of every unconstrained coordinate, as in ``draws``; those of parameters are in :meth:`summary`."""
        return np.asarray(self.weights @ self.draws) if self._has_weight else np.full(self.draws.shape[1], np.nan)

    @property
    def sd(self) -> np.ndarray:
        """Posterior standard deviation of every unconstrained coordinate."""
        return np.asarray(np.sqrt(self.weights @ (self.draws - self.mean) ** 2))

    @property
    def _has_weight(self) -> bool:
        """False if every draw has the weight 0."""
        return bool(np.isfinite(self.log_weights).any())

    @property
    def ok(self) -> bool:
        """The answer of the verdict."""
        return self.verdict.ok

    @property
    def verdict(self) -> Verdict:
        """Verdict, which prints as its words: ``ok`` is the answer, and ``objections`` are the reasons of a no."""
        return Verdict.read(self._fitted.verdict)

    @property
    def k_hat(self) -> float:
        """Shape of the tail of the weights (Vehtari et al. 2024); NaN for an answer by chains, whose weights are equal."""
        return np.nan if self._fitted.sampled else self._fitted.k_hat

    @property
    def sample_size(self) -> float:
        """Effective sample size of the weighted draws; of an answer by chains, the least of a parameter."""
        return self._fitted.sample_size

    @property
    def mixing(self) -> dict[str, float] | None:
        """Of an answer by chains: their number, effective sample size, R-hat, and divergent steps. None of an answer from q."""
        names = ("chains", "sample_size", "r_hat", "divergences")
        return dict(zip(names, self._fitted.sampled, strict=True)) if self._fitted.sampled else None

    @property
    def log_evidence(self) -> tuple[float, float]:
        """Log of the integral of the density, and its standard error; NaN where it is not estimated, as where no attempt came close to the posterior."""
        return self._fitted.log_evidence[:2]

    @property
    def log_evidence_bounds(self) -> tuple[float, float]:
        """Lower bound, the mean log weight over q, and upper bound, the mean log weight over chains that leave p invariant."""
        return self._fitted.log_evidence[2:]

    @property
    def evaluations(self) -> dict[str, int]:
        """Numbers of evaluations of the log density alone, and of the gradient."""
        density, gradient = self._fitted.evaluations
        return {"density": density, "gradient": gradient}

    @property
    def family(self) -> str:
        """The family of q in words."""
        return self._fitted.family

    def parameters(self) -> dict[str, np.ndarray]:
        """Draws by name of the parameter, as declared or as ``transform`` gives them. They need their ``weights``."""
        if self._labels.transform is None:
            return {name: self._fitted.values[:, i].copy() for i, name in enumerate(self._fitted.names)}
        return self._by_name_at(self.draws)

    def log_likelihood(self) -> dict[str, np.ndarray]:
        """Log likelihood of every datum at every draw; empty if the target does not provide it. Needs the ``weights``."""
        if self._labels.log_likelihood is None:
            return {}
        found = self._labels.log_likelihood(self.draws.copy())
        return self._by_name("log_likelihood", found if isinstance(found, dict) else {"y": found}, len(self.draws))

    def loo(self) -> Loo:
        """Leave-one-out cross-validation: the log predictive density of each datum, given all others. Needs the log likelihood of each datum.

        The data have to be independent given the parameters. Where ``k_hat`` of a datum is above ``limit``, its density rests on few draws.
        """
        return self._loo([])

    def _loo(self, order: Sequence[str]) -> Loo:
        """LOO with the data in this order, if these are their names."""
        found = self.log_likelihood()
        if not found:
            raise ValueError("LOO needs the log likelihood of each datum: give `log_likelihood` to the fit")
        names = [self._labels.entry(name, index) for name, values in found.items() for index in np.ndindex(values.shape[1:])]
        flat = np.concatenate([values.reshape(len(values), -1) for values in found.values()], axis=1)
        if sorted(names) == sorted(order):
            places = {name: place for place, name in enumerate(names)}
            names, flat = list(order), flat[:, [places[name] for name in order]]
        return Loo.read(self._fitted.loo(flat), names)

    def _by_name(self, what: str, found: Any, count: int) -> dict[str, np.ndarray]:
        """Arrays by name, whose first side is the number of points."""
        if not isinstance(found, dict):
            raise TypeError(f"{what} gave {type(found).__name__}; expected a dict of arrays by name")
        named = {name: numbers(f"{what}: {name}", values) for name, values in found.items()}
        for name, values in named.items():
            if values.ndim == 0 or len(values) != count:
                raise ValueError(f"{what} gave {name} the shape {values.shape}; its first side must be {count}")
        return named

    def resampled(self, count: int | None = None, *, seed: int = 1) -> np.ndarray:
        """Points with equal weights, one per row, by systematic resampling of the draws."""
        count = len(self.draws) if count is None else whole("count", count)
        return self.draws[self._fitted.copies(count, whole("seed", seed))]

    def predict(self, simulate: Callable[[Any, np.random.Generator], Any], *, count: int | None = None, seed: int = 1) -> Any:
        """Simulated data at points of equal weight: the posterior predictive distribution.

        Args:
            simulate: Function of a batch and of a NumPy generator. The batch is that of the parameters by name, as declared or as
                ``transform`` gives them, each an array whose first side is the number of points.
            count: Number of points; by default that of the draws.
            seed: Seed of the points and of the generator.

        >>> import mcsa
        >>> import numpy as np
        >>> fitted = mcsa.fit(lambda p: 7 * np.log(p["rate"]) - 3 * p["rate"], parameters={"rate": mcsa.positive()}, seed=1)
        >>> counts = fitted.predict(lambda p, rng: rng.poisson(p["rate"]))  # gamma(8, 3) times Poisson
        >>> counts.shape, bool(abs(counts.mean() - 8 / 3) < 0.15)
        ((4000,), True)
        """
        seed, count = whole("seed", seed), len(self.draws) if count is None else whole("count", count)
        chosen = self._fitted.copies(count, seed)
        return simulate({name: values[chosen] for name, values in self.parameters().items()}, np.random.default_rng(seed))

    def generated(self, *, seed: int = 1) -> dict[str, np.ndarray]:
        """Generated quantities by name, at the points of ``resampled`` with this seed; empty if the target has none."""
        if self._labels.generated is None:
            return {}
        points = self.resampled(seed=seed)
        return self._by_name("generated", self._labels.generated(points, whole("seed", seed)), len(points))

    def handover(self) -> dict[str, np.ndarray]:
        """For a sampler: starting points, one per row, and mean and covariance of the weighted draws."""
        if self._fitted.handover is None:
            raise ValueError("there is nothing to hand over: no chains of another kernel were run, or the covariance of the draws is singular")
        starts, mean, covariance = self._fitted.handover
        return {"starts": starts, "mean": np.array(mean), "covariance": covariance}

    def as_prior(self) -> FittedPrior:
        """The posterior as a prior for further data: a Gaussian, or a mixture of Gaussians, with the moments of the weighted draws.

        It is an approximation, in the coordinates of ``draws``. For a Gaussian posterior it is exact up to Monte Carlo error; of another it
        loses the tails. If q is a mixture, each component has the moments of its share of the draws.

        >>> import mcsa
        >>> first = mcsa.fit(lambda z: -0.5 * (z[:, 0] ** 2 + (1.0 - z[:, 0]) ** 2), 1, seed=1)  # z ~ N(0, 1), y = 1
        >>> prior = first.as_prior()
        >>> def log_density(z):  # one more datum, y = 2
        ...     return prior.log_density(z) - 0.5 * (2.0 - z[:, 0]) ** 2
        >>> second = mcsa.fit(log_density, 1, prior=prior, start_from=first, seed=1)
        >>> bool(abs(second.mean[0] - 1.0) < 0.05), second.ok
        (True, True)
        """
        if not self.ok:
            raise ValueError("the verdict is no: its draws are no prior")
        return FittedPrior.of(self._fitted.prior())

    def summary(self) -> Summary:
        """Moments and quantiles of every parameter.

        A mean or standard deviation that rests on a few draws far out is NaN. All are, if the verdict is no and no attempt came close.
        """
        if self._labels.transform is None and self._fitted.numbers is not None:
            table = np.array(self._fitted.numbers)
            return Summary([self._labels.of(name) for name in self._fitted.names], table[:, 0], table[:, 1], table[:, 2], table[:, 3:])
        names, values = self._flat(self.parameters())
        if self._fitted.numbers is not None and np.isnan(self._fitted.numbers).all():
            return _absent(names)
        found = _summary(names, values, self.weights, self.sample_size)
        mean, sd = np.array(self._fitted.shown(values)).T
        found.mean[~mean], found.error[~mean], found.sd[~sd] = np.nan, np.nan, np.nan
        return found

    def _by_name_at(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name at points, one point per row: those of ``transform``, or else the coordinates."""
        if self._labels.transform is None:
            return {name: z[:, i] for i, name in enumerate(self._fitted.names)}
        # A function may work in place.
        return self._by_name("transform", self._labels.transform(z.copy()), len(z))

    def _flat(self, parameters: dict[str, np.ndarray]) -> tuple[list[str], np.ndarray]:
        """Names of all numbers of parameters, and their values, one point per row."""
        names, columns = [], []
        for name, values in parameters.items():
            is_part = name in self._labels.below_diagonal and values.ndim == 3
            for index in np.ndindex(values.shape[1:]):
                if not is_part or index[0] > index[1]:
                    names.append(self._labels.entry(name, index) if index else self._labels.of(name))
                    columns.append(values[(slice(None), *index)])
        if not columns:
            raise ValueError("transform gave no parameters")
        return names, np.stack(columns, axis=1)

    def to_pandas(self, *, resample: bool = True) -> Any:
        """A table of pandas with a column for every number, under its name in the summary.

        The rows are as many resampled points as there are draws, or, with ``resample=False``, the draws themselves, which need the
        ``weights``.
        """
        import pandas

        names, values = self._flat(self.parameters())
        return pandas.DataFrame(values[self._fitted.copies(len(values), 1)] if resample else values, columns=names)

    def plot(self, names: Sequence[str] | None = None) -> np.ndarray:
        """Draws the margin of every parameter, with its mean, and returns the axes. Needs matplotlib.

        Args:
            names: Parameters, or entries of them as in the summary; by default the first 12 entries.
        """
        return plots.margins(self, names)

    def plot_pair(self, names: Sequence[str] | None = None) -> np.ndarray:
        """Draws points of equal weight for each pair of parameters, and returns the axes. Needs matplotlib.

        Args:
            names: Parameters, or entries of them as in the summary; by default the first 4 entries.
        """
        return plots.pairs(self, names)

    def plot_checks(self) -> np.ndarray:
        """Draws the weights by rank, log p against log q, and objections, and returns the axes. Needs matplotlib.

        Weights that rest on few draws fall steeply from the left. Where log p exceeds log q far from most draws, q has too little mass.
        """
        return plots.checks(self)

    def to_arviz(self, *, resample: bool = True) -> Any:
        """The result for ArviZ: an ``InferenceData`` of ArviZ 0.x, a ``DataTree`` of 1.x.

        The posterior holds as many resampled points as there are draws, or, with ``resample=False``, the draws of q themselves, which
        need the weights in ``sample_stats``; these are what ``loo_approximate_posterior`` wants.
        """
        from .arviz import to_arviz

        return to_arviz(self, resample=resample)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the result to a file of NumPy (``.npz``), which :func:`mcsa.load` and ``numpy.load`` read.

        A file is replaced as a whole, so that an error leaves the former one; of a link the file that it names. Into a device or a pipe the
        bytes are written.
        """
        from .files import save

        save(self, path)

    def _lines(self, summary: Summary) -> list[str]:
        """Evidence and draws in words, below a summary."""
        log, error = self.log_evidence
        bounds = ", bounds {:.3f} and {:.3f}".format(*self.log_evidence_bounds) if np.isfinite(self.log_evidence_bounds).all() else ""
        evidence = "not estimated" if np.isnan(log) else f"{log:.3f} +- {error:.3f}{bounds}"
        found = f"of {self.family}: effective sample size {self.sample_size:.0f}, k-hat {self.k_hat:.2f}"
        if self._fitted.sampled:
            chains, size, r_hat, count = self._fitted.sampled
            divergences = f"{count} divergence{'' if count == 1 else 's'}"
            found = f"of {chains} chains: effective sample size {size:.0f} or more, R-hat {r_hat:.3f} or less, {divergences}"
        draws = f"{len(self.draws)} draws {found}; {sum(self._fitted.evaluations)} evaluations"
        is_hidden = np.isnan(summary.sd) & np.isfinite(summary.quantiles).all(axis=1)
        hidden = ["-: it rests on a few draws far out; use the quantiles"] if is_hidden.any() else []
        return [*hidden, f"log evidence {evidence}", draws]

    def __repr__(self) -> str:
        words = [wrap(line, 120, subsequent_indent="    ") for line in f"Reliable: {self.verdict}".split("\n")]
        summary = self.summary()
        table = summary._text(tables.shortened(summary._rows()))
        return "\n".join([table, *self._lines(summary), *chain.from_iterable(words)])

    def _repr_html_(self) -> str:
        summary = self.summary()
        lines = [*self._lines(summary), *f"Reliable: {self.verdict}".split("\n")]
        return tables.html(tables.shortened(summary._rows())) + "<br>".join(map(escape, lines))


def _absent(names: list[str]) -> Summary:
    """A summary without numbers."""
    mean, error, sd = np.full((3, len(names)), np.nan)
    return Summary(names, mean, error, sd, np.full((len(names), len(_PROBABILITIES)), np.nan))


def _summary(names: list[str], values: np.ndarray, weights: np.ndarray, sample_size: float) -> Summary:
    # A draw outside the support has no weight, and perhaps no values.
    values, weights = values[weights > 0], weights[weights > 0]
    if not len(weights):
        return _absent(names)
    # A number that does not vary, as data among the variables, has no rounding error for a standard deviation.
    mean = np.where(values.min(axis=0) == values.max(axis=0), values[0], weights @ values)
    squares = (values - mean) ** 2
    order = np.argsort(values, axis=0, kind="stable")
    cumulated = np.cumsum(weights[order], axis=0)
    quantiles = np.empty((values.shape[1], len(_PROBABILITIES)))
    for i in range(values.shape[1]):
        places = np.minimum(np.searchsorted(cumulated[:, i], _PROBABILITIES), len(values) - 1)
        quantiles[i] = values[order[places, i], i]
    quantiles[np.isnan(values).any(axis=0)] = np.nan
    # Draws of chains depend on each other, which their sample size has and their weights have not.
    dependence = 1.0 / (sample_size * (weights @ weights))
    return Summary(names, mean, np.sqrt(dependence * (weights**2 @ squares)), np.sqrt(weights @ squares), quantiles)
