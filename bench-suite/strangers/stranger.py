"""A posterior that somebody else wrote: its density, and what is known of its parameters."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
LEVELS = (0.05, 0.5, 0.95)
# A reference whose mean or standard deviation has a larger error, in standard deviations, is judged by quantiles. Standard deviations of ten
# chains that differ by a tenth have the second error: where the tail is heavy, few far draws decide them.
CERTAIN, CERTAIN_SD = 0.1, 0.03


@dataclass(frozen=True)
class Known:
    """What draws say of one parameter: mean, standard deviation, quantiles at LEVELS, and errors of mean and sd in standard deviations."""

    mean: float
    sd: float
    quantiles: tuple[float, float, float]
    mean_error: float = 0.0
    sd_error: float = 0.0


@dataclass(frozen=True)
class Stranger:
    """``arguments()`` builds or loads the program and gives the arguments of ``mcsa.fit``; ``reference()`` what is known, by parameter;
    ``draws()`` published draws, ``(chains, draws)`` by parameter, or none."""

    name: str
    source: str
    arguments: Callable[[], dict[str, Any]]
    reference: Callable[[], dict[str, Known]]
    draws: Callable[[], dict[str, np.ndarray]] = dict

    @property
    def is_trial(self) -> bool:
        """Whether settings may be chosen on this posterior: an even hash of the name, of copies that of the original's."""
        return hashlib.sha256(self.name.partition("+")[0].encode()).digest()[0] % 2 == 0


def columns(parameters: dict[str, np.ndarray], first: int = 1) -> dict[str, np.ndarray]:
    """Draws by name of a number, as Stan writes it: ``theta[2,1]``."""
    found = {}
    for name, values in parameters.items():
        values = np.asarray(values, dtype=float)
        for index in np.ndindex(values.shape[1:]):
            place = ",".join(str(i + first) for i in index)
            found[name + (f"[{place}]" if index else "")] = values[(slice(None), *index)]
    return found


def known(chains: np.ndarray) -> Known:
    """Reference from draws of chains, ``(chains, draws)``; errors from the scatter of the chains."""
    scale = chains.std() or 1.0
    means, sds = chains.mean(axis=1), chains.std(axis=1)
    root = np.sqrt(len(chains))
    quantiles = tuple(map(float, np.quantile(chains, LEVELS)))
    return Known(float(chains.mean()), float(chains.std()), quantiles, float(means.std(ddof=1) / scale / root), float(sds.std(ddof=1) / scale / root))


# Ends of names of the two parametrisations of a hierarchy, and the word in names of coordinates that only one of them has.
PARAMETRISATIONS = (("-centred", "-noncentred"), ("_centered", "_noncentered"))
RAW = "raw"


def stored(name: str) -> dict[str, Known]:
    """The reference in ``references.csv``; if there is none, that of the same model in the other parametrisation, for the parameters of both."""
    path = FOLDER / "references.csv"
    if not path.exists():
        return {}
    ends = [(one, other) for pair in PARAMETRISATIONS for one, other in (pair, pair[::-1])]
    others = [name.removesuffix(one) + other for one, other in ends if name.endswith(one)]
    found: dict[str, dict[str, Known]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["posterior"] in (name, *others):
                numbers = [float(row[key]) for key in ("mean", "sd", "q5", "q50", "q95", "mean_error", "sd_error")]
                reference = Known(numbers[0], numbers[1], tuple(numbers[2:5]), *numbers[5:])
                found.setdefault(row["posterior"], {})[row["parameter"]] = reference
    of_other = next((found[other] for other in others if other in found), {})
    return found.get(name) or {key: reference for key, reference in of_other.items() if RAW not in key.partition("[")[0].split("_")}


def summary(draws: dict[str, np.ndarray], weights: np.ndarray) -> dict[str, Known]:
    """Moments and quantiles of weighted draws, by parameter. A draw without weight may have no values."""
    found, of = {}, weights > 0
    weights = weights[of]
    for name, x in draws.items():
        x = x[of]
        order = np.argsort(x)
        places = np.searchsorted(np.cumsum(weights[order]), LEVELS)
        quantiles = tuple(map(float, x[order[np.minimum(places, len(x) - 1)]]))
        mean = weights @ x
        found[name] = Known(float(mean), float(np.sqrt(weights @ (x - mean) ** 2)), quantiles)
    return found


def compared(found: dict[str, Known], reference: dict[str, Known]) -> dict[str, Any]:
    """Largest errors over the parameters of the reference: of a mean in standard deviations, of a standard deviation as a factor.

    *Right*: every mean within 0.3 standard deviations and every standard deviation within a factor 1.3. A parameter whose reference is
    uncertain is judged by its median, and by the width between its 5 and 95 % quantiles.
    """
    absent = sorted(set(reference) - set(found))
    if absent:
        raise KeyError(f"the draws have no {', '.join(absent[:3])}")
    mean_error, sd_error, worst, badness = 0.0, 1.0, "", -1.0
    for name, truth in reference.items():
        if not truth.sd > 1e-10 * max(1.0, abs(truth.mean)):
            continue
        one = found[name]
        if truth.mean_error > CERTAIN or truth.sd_error > CERTAIN_SD:
            width = truth.quantiles[2] - truth.quantiles[0]
            off, factor = abs(one.quantiles[1] - truth.quantiles[1]) / (width / 3.29), (one.quantiles[2] - one.quantiles[0]) / width
        else:
            off, factor = abs(one.mean - truth.mean) / truth.sd, one.sd / truth.sd
        factor = max(factor, 1 / factor) if factor > 0 else np.inf
        if not (np.isfinite(off) and np.isfinite(factor)):
            off = factor = np.inf
        mean_error, sd_error = max(mean_error, off), max(sd_error, factor)
        if max(off / 0.3, np.log(factor) / np.log(1.3)) > badness:
            worst, badness = name, max(off / 0.3, np.log(factor) / np.log(1.3))
    return {"right": int(mean_error <= 0.3 and sd_error <= 1.3), "mean_error": mean_error, "sd_error": sd_error, "worst": worst}
