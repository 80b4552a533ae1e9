"""Result of a fit: weighted draws, summaries, verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._mcsa import FitResult
from .arguments import numbers, whole

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

    def __repr__(self) -> str:
        width = max([len(name) for name in self.names] + [4])
        lines = [f"{'':>{width}} {'mean':>10} {'error':>9} {'sd':>10} {'5%':>10} {'50%':>10} {'95%':>10}"]
        for i, name in enumerate(self.names):
            low, middle, high = self.quantiles[i]
            lines.append(
                f"{name:>{width}} {self.mean[i]:>10.4g} {self.error[i]:>9.2g} {self.sd[i]:>10.4g} {low:>10.4g} {middle:>10.4g} {high:>10.4g}"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Labels:
    """Parameters by name: the map from draws, names of their sides and labels along these; log likelihood and data, if they are known."""

    transform: Callable[[np.ndarray], dict[str, Any]] | None = None
    dims: dict[str, list[str]] = field(default_factory=dict)
    coords: dict[str, Sequence[Any]] = field(default_factory=dict)
    log_likelihood: Callable[[np.ndarray], Any] | None = None
    observed: dict[str, Any] = field(default_factory=dict)


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
        """Importance weights of the draws, smoothed; they sum to 1."""
        return np.exp(self._fitted.log_weights)

    @property
    def mean(self) -> np.ndarray:
        """Posterior mean of every coordinate."""
        return np.asarray(self.weights @ self.draws)

    @property
    def sd(self) -> np.ndarray:
        """Posterior standard deviation of every coordinate."""
        return np.asarray(np.sqrt(self.weights @ (self.draws - self.mean) ** 2))

    @property
    def ok(self) -> bool:
        """True if all checks passed; False if none was run."""
        return self._fitted.verdict is not None and self._fitted.verdict[0]

    @property
    def verdict(self) -> str:
        """Verdict in words: yes, with the rate at which it was wrong on planted failures, or no, with reasons."""
        if self._fitted.verdict is None:
            return "no: no check was run, because the fit was made from chosen parts; mcsa.fit without a method runs them"
        return self._fitted.verdict[1]

    @property
    def objections(self) -> list[str]:
        """Objections of the checks; none if the verdict is yes, or if no check was run."""
        return [] if self._fitted.verdict is None else list(self._fitted.verdict[2])

    @property
    def k_hat(self) -> float:
        """Shape of the tail of the weights (Vehtari et al. 2024)."""
        return self._fitted.k_hat

    @property
    def sample_size(self) -> float:
        """Effective sample size of the weighted draws."""
        return self._fitted.sample_size

    @property
    def log_evidence(self) -> tuple[float, float]:
        """Log of the integral of the density, and its standard error."""
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
        """Draws by name of the parameter, on the scale of ``transform`` if one was given. They need their ``weights``."""
        if self._labels.transform is None:
            return {name: self._fitted.values[:, i] for i, name in enumerate(self._fitted.names)}
        return self._by_name("transform", self._labels.transform(self.draws), len(self.draws))

    def log_likelihood(self) -> dict[str, np.ndarray]:
        """Log likelihood of every datum at every draw; empty if the target does not provide it. Needs the ``weights``."""
        if self._labels.log_likelihood is None:
            return {}
        found = self._labels.log_likelihood(self.draws)
        return self._by_name("log_likelihood", found if isinstance(found, dict) else {"y": found}, len(self.draws))

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

    def handover(self) -> dict[str, np.ndarray]:
        """For a sampler: starting points, one per row, and mean and covariance of the weighted draws."""
        if self._fitted.handover is None:
            raise ValueError("there is nothing to hand over: no chains of another kernel were run, or the covariance of the draws is singular")
        starts, mean, covariance = self._fitted.handover
        return {"starts": starts, "mean": np.array(mean), "covariance": covariance}

    def summary(self) -> Summary:
        """Moments and quantiles of every parameter; NaN if the verdict is no and no attempt came close to the posterior."""
        if self._labels.transform is None:
            names = list(self._fitted.names)
            if self._fitted.numbers is None:
                return _summary(names, self._fitted.values, self.weights)
            table = np.array(self._fitted.numbers)
            return Summary(names, table[:, 0], table[:, 1], table[:, 2], table[:, 3:])
        names, values = self._flat(self.draws)
        if self._fitted.numbers is not None and np.isnan(self._fitted.numbers).all():
            absent = np.full(len(names), np.nan)
            return Summary(names, absent, absent, absent, np.full((len(names), len(_PROBABILITIES)), np.nan))
        return _summary(names, values, self.weights)

    def _flat(self, z: np.ndarray) -> tuple[list[str], np.ndarray]:
        """Names of all numbers of ``transform``, or else of the coordinates, and their values at points, one point per row."""
        if self._labels.transform is None:
            return list(self._fitted.names), z
        names, columns = [], []
        for name, values in self._by_name("transform", self._labels.transform(z), len(z)).items():
            for index in np.ndindex(values.shape[1:]):
                names.append(name + (f"[{', '.join(map(str, index))}]" if index else ""))
                columns.append(values[(slice(None), *index)])
        return names, np.stack(columns, axis=1)

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

    def __repr__(self) -> str:
        log, error = self.log_evidence
        evidence = "not estimated" if np.isnan(log) else f"{log:.3f} +- {error:.3f}"
        weights = "" if self.family == "chains" else f", k-hat {self.k_hat:.2f}"
        return (
            f"{self.summary()}\nlog evidence {evidence}\n"
            f"{len(self.draws)} draws of {self.family}: effective sample size {self.sample_size:.0f}{weights}\n"
            f"Reliable: {self.verdict}"
        )


def _summary(names: list[str], values: np.ndarray, weights: np.ndarray) -> Summary:
    mean = weights @ values
    squares = (values - mean) ** 2
    order = np.argsort(values, axis=0, kind="stable")
    cumulated = np.cumsum(weights[order], axis=0)
    quantiles = np.empty((values.shape[1], len(_PROBABILITIES)))
    for i in range(values.shape[1]):
        places = np.minimum(np.searchsorted(cumulated[:, i], _PROBABILITIES), len(values) - 1)
        quantiles[i] = values[order[places, i], i]
    return Summary(names, mean, np.sqrt(weights**2 @ squares), np.sqrt(weights @ squares), quantiles)
