"""Comparison of models: by leave-one-out cross-validation (LOO), and by evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _mcsa, tables

if TYPE_CHECKING:
    from .result import Result

__all__ = ["Comparison", "Loo", "compare"]


@dataclass(frozen=True, repr=False)
class Loo:
    """Predictive accuracy of a model: the log predictive density of each datum, given all others.

    >>> import mcsa
    >>> loo = mcsa.fit(mcsa.models.eight_schools(), seed=1).loo()
    >>> len(loo.pointwise), loo.unreliable
    (8, 0)
    """

    #: Sum of ``pointwise``.
    elpd: float
    #: Its standard error, from the spread over the data.
    error: float
    #: Effective number of parameters: by how much the draws predict the data better with each datum than without it.
    p_loo: float
    #: Name of each datum.
    names: list[str]
    #: Log predictive density of each datum, given the others.
    pointwise: np.ndarray
    #: k-hat of the importance ratios for each datum; NaN if they do not determine it.
    k_hat: np.ndarray
    #: Largest reliable k-hat for this number of draws: 0.7 from 2,200 draws on.
    limit: float
    #: Number of data whose k-hat is above the limit, or unknown.
    unreliable: int
    _found: _mcsa.Loo = field(compare=False)

    @classmethod
    def read(cls, found: _mcsa.Loo, names: list[str]) -> Loo:
        """From the native part."""
        parts = (found.elpd, found.error, found.p_loo, names, found.pointwise, found.k_hat, found.limit, found.unreliable)
        return cls(*parts, found)

    def to_pandas(self) -> Any:
        """A table of pandas with a row for every datum."""
        import pandas

        return pandas.DataFrame({"elpd": self.pointwise, "k_hat": self.k_hat}, index=self.names)

    def _rows(self) -> list[list[str]]:
        """Headings, and the sums."""
        head = ["", "elpd", "error", "p_loo", f"k > {self.limit:.2g}"]
        return [head, ["LOO", f"{self.elpd:.2f}", f"{self.error:.2f}", f"{self.p_loo:.2f}", f"{self.unreliable} of {len(self.names)}"]]

    def __repr__(self) -> str:
        return tables.text(self._rows(), [4, 10, 9, 9, 10])

    def _repr_html_(self) -> str:
        return tables.html(self._rows())


@dataclass(frozen=True, repr=False)
class Comparison:
    """Models by evidence and, where the log likelihood of each datum is known for all of them, by LOO. The most probable model is first.

    Differences are those from the best model, with their standard errors. By LOO these come from the spread over the data, in pairs.
    """

    #: Names of the models.
    names: list[str]
    #: Log evidence of each.
    log_evidence: np.ndarray
    #: Its standard error.
    error: np.ndarray
    #: Log evidence less that of the most probable model.
    difference: np.ndarray
    #: Its standard error.
    difference_error: np.ndarray
    #: Posterior probability of each, if all had the same before.
    probability: np.ndarray
    #: Its standard error.
    probability_error: np.ndarray
    #: Expected log predictive density of each; None without LOO.
    elpd: np.ndarray | None
    #: Its standard error.
    elpd_error: np.ndarray | None
    #: The density less that of the model with the largest.
    elpd_difference: np.ndarray | None
    #: Its standard error.
    elpd_difference_error: np.ndarray | None
    #: Number of data whose k-hat is above the limit.
    unreliable: np.ndarray | None

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> dict[str, float]:
        """Numbers of one model by name."""
        i = self.names.index(name)
        columns = ["log_evidence", "error", "difference", "difference_error", "probability", "probability_error"]
        if self.elpd is not None:
            columns += ["elpd", "elpd_error", "elpd_difference", "elpd_difference_error", "unreliable"]
        return {column: getattr(self, column)[i].item() for column in columns}

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        import pandas

        return pandas.DataFrame([self[name] for name in self.names], index=self.names)

    def _rows(self) -> list[list[str]]:
        """Headings, and a row of words for every model."""
        head = ["", "log evidence", "less best", "error", "probability"]
        rows = [head + (["elpd", "elpd less best", "its error", "bad k"] if self.elpd is not None else [])]
        for name in self.names:
            found = self[name]
            words = [f"{found['log_evidence']:.2f}", f"{found['difference']:.2f}", f"{found['difference_error']:.2g}"]
            words.append(f"{found['probability']:.3g}")
            if self.elpd is not None:
                words += [f"{found['elpd']:.2f}", f"{found['elpd_difference']:.2f}", f"{found['elpd_difference_error']:.2g}"]
                words.append(f"{found['unreliable']}")
            rows.append([name, *words])
        return rows

    def __repr__(self) -> str:
        widths = [max([len(name) for name in self.names] + [4]), 12, 10, 8, 11]
        return tables.text(self._rows(), widths + ([10, 14, 9, 6] if self.elpd is not None else []))

    def _repr_html_(self) -> str:
        return tables.html(self._rows())


def compare(results: Sequence[Result] | Mapping[str, Result]) -> Comparison:
    """Compares models by the evidence of their fits, and by LOO where all of them have the log likelihood of each datum.

    The evidences of two models are comparable if each ``log_density`` is a normalised prior times a likelihood of the same data, with all its
    constants. LOO needs the same data and the constants of their likelihood, but no normalised prior. Data are paired by
    their names, or by their order where models have other names.

    Args:
        results: Results of :func:`mcsa.fit` by name, or a list of them, whose names are then ``"result 0"``, ``"result 1"`` and so on.

    Raises:
        ValueError: If a verdict is no, with the name of the model; if the models have different numbers of data; or if an evidence
            was not estimated and there is no LOO.

    >>> import mcsa
    >>> x, y = [[1.0, -1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [0.1, 0.9, 2.2, 2.9]
    >>> line = mcsa.models.linear_regression(x, y, noise_scale=0.5)
    >>> mean = mcsa.models.linear_regression([row[:1] for row in x], y, noise_scale=0.5)
    >>> found = mcsa.compare({"mean": mcsa.fit(mean), "line": mcsa.fit(line)})
    >>> found.names
    ['line', 'mean']
    """
    from .result import Result

    if isinstance(results, Result):
        raise TypeError("one result; expected a list of them, or a dict by name")
    named = dict(results) if isinstance(results, Mapping) else {f"result {i}": result for i, result in enumerate(results)}
    for name, result in named.items():
        if not isinstance(result, Result):
            raise TypeError(f"{name} is a {type(result).__name__}, expected the result of a fit")
    first, *others = [result._labels.observed for result in named.values()] or [{}]
    for observed in others:
        shared = [name for name in observed if name in first and np.shape(observed[name]) == np.shape(first[name])]
        if any(not np.array_equal(observed[name], first[name]) for name in shared):
            raise ValueError("the models have other data: `observed` differs")
    are_known = all(result._labels.log_likelihood is not None for result in named.values())
    loos = None
    if are_known:
        # Data of one name belong together, in whatever order a model has them.
        order = next(iter(named.values())).loo().names if named else []
        loos = [result._loo(order)._found for result in named.values()]
    found = _mcsa.compare(list(named), [result._fitted for result in named.values()], loos)
    names = [name for name, _, _ in found]
    by_evidence = np.array([numbers for _, numbers, _ in found]).T
    by_loo: list[Any] = [None] * 5
    if loos is not None:
        elpd = np.array([numbers for _, _, numbers in found], dtype=float).T
        by_loo = [*elpd[:4], elpd[4].astype(int)]
    return Comparison(names, *by_evidence, *by_loo)
