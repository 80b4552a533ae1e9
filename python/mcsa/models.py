"""Models of the library, with data as arrays. Each can be given to :func:`mcsa.fit` in place of a log density.

>>> import mcsa
>>> mcsa.models.eight_schools()
<mcsa model: eight schools, 10 dimensions>
>>> mcsa.models.by_name("funnel", dim=3)
<mcsa model: funnel, 3 dimensions>
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._mcsa import Model
from .arguments import numbers, unmasked, whole

__all__ = [
    "MODELS",
    "Model",
    "banana",
    "by_name",
    "correlated_gaussian",
    "diagonal_gaussian",
    "eight_schools",
    "funnel",
    "fx_volatility",
    "gaussian",
    "gp_classification",
    "hierarchical_logistic",
    "linear_regression",
    "local_regression",
    "logistic_regression",
    "mixture",
    "modes",
    "moons",
    "neural_regression",
    "poisson_regression",
    "probit_regression",
    "radon",
    "robust_gp",
    "skew_normal",
    "sparse_process",
    "standard_gaussian",
    "stock_volatility",
    "student",
    "student_regression",
    "wishart_gaussian",
]

#: Data of models, which belong to their results.
_observed: weakref.WeakKeyDictionary[Model, np.ndarray] = weakref.WeakKeyDictionary()


def observed_data(model: Model) -> dict[str, np.ndarray]:
    """The data of a model with a likelihood term for each datum, by the name of the terms."""
    return {"y": _observed[model]} if model in _observed else {}


def _with_data(model: Model, y: np.ndarray) -> Model:
    _observed[model] = y
    return model


def _vector(name: str, values: ArrayLike) -> np.ndarray:
    found = numbers(name, values)
    if found.ndim != 1:
        raise ValueError(f"{name} has {found.ndim} dimensions; expected a vector")
    return found


def _matrix(name: str, values: ArrayLike) -> np.ndarray:
    found = numbers(name, values)
    if found.ndim != 2:
        raise ValueError(f"{name} has {found.ndim} dimensions; expected a matrix")
    return found


def _rows(x: ArrayLike, y: ArrayLike, kept: type | None = None) -> tuple[np.ndarray, np.ndarray]:
    found = numbers("x", x, kept), numbers("y", y)
    if found[0].ndim != 2 or found[1].ndim != 1:
        sides = f"x has {found[0].ndim} dimensions and y {found[1].ndim}"
        raise ValueError(f"{sides}; expected a matrix (rows, features) and a vector (rows,)")
    return found


def _both(scale: float | None, freedom: float | None) -> tuple[float, float] | None:
    """Scale and freedom of Student t errors, if they are known."""
    if scale is None and freedom is None:
        return None
    if scale is None or freedom is None:
        raise ValueError("scale and freedom of the errors are given both, or neither")
    return scale, freedom


def standard_gaussian(dim: int) -> Model:
    """Gaussian with mean 0 and covariance 1."""
    dim = whole("dim", dim, 1)
    return gaussian(np.zeros(dim), np.eye(dim))


def correlated_gaussian(dim: int, *, correlation: float) -> Model:
    """Gaussian with means ``1, -1, 1, ..``, standard deviations from 0.5 to 2, and equally correlated pairs."""
    dim = whole("dim", dim, 1)
    sd = np.linspace(0.5, 2.0, dim) if dim > 1 else np.array([0.5])
    matrix = np.full((dim, dim), correlation) + (1.0 - correlation) * np.eye(dim)
    return gaussian((-1.0) ** np.arange(dim), matrix * np.outer(sd, sd))


def gaussian(mean: ArrayLike, covariance: ArrayLike) -> Model:
    """Gaussian ``N(mean, covariance)``."""
    return Model.gaussian(_vector("mean", mean), _matrix("covariance", covariance))


def diagonal_gaussian(dim: int = 100, *, seed: int = 2022) -> Model:
    """Gaussian with independent coordinates of random mean and variance. The default seed gives the target of the experiments."""
    return Model.diagonal_gaussian(whole("dim", dim), whole("seed", seed))


def wishart_gaussian(dim: int = 100, *, freedom: float = 600.0, seed: int = 2022) -> Model:
    """Gaussian with random mean and Wishart covariance. The default seed gives the target of the experiments."""
    return Model.wishart_gaussian(whole("dim", dim), freedom, whole("seed", seed))


def student(location: ArrayLike, scale: ArrayLike, *, freedom: float) -> Model:
    """Independent coordinates with Student t densities."""
    return Model.student(_vector("location", location), _vector("scale", scale), freedom)


def skew_normal(*, location: float = 0.5, scale: float = 2.0, slant: float = 5.0) -> Model:
    """Skew normal density on the line; the defaults are those of Naesseth et al. 2020."""
    return Model.skew_normal(location, scale, slant)


def banana(*, width: float, bend: float) -> Model:
    """Banana-shaped density in two dimensions: ``width`` along the ridge, ``bend`` of the ridge."""
    return Model.banana(width, bend)


def funnel(dim: int, *, scale: float = 3.0) -> Model:
    """Neal's funnel: the first coordinate is the log variance of the others, with standard deviation ``scale``."""
    return Model.funnel(whole("dim", dim), scale)


def moons(*, per_moon: int = 8, noise: float = 0.15) -> Model:
    """Two interleaving half circles, each a mixture of round Gaussians."""
    return Model.moons(whole("per_moon", per_moon), noise)


def modes(dim: int, *, distance: float, share: float) -> Model:
    """Mixture of two standard normals at a distance; the second has the weight ``share``."""
    return Model.modes(whole("dim", dim), distance, share)


def mixture(weights: ArrayLike, means: ArrayLike, covariances: Sequence[ArrayLike]) -> Model:
    """Mixture of Gaussians: means as rows, a covariance for each."""
    parts = [_matrix("covariance", covariance) for covariance in covariances]
    return Model.mixture(_vector("weights", weights), _matrix("means", means), parts)


def eight_schools(
    effects: ArrayLike = (28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0),
    errors: ArrayLike = (15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0),
    *,
    centred: bool = False,
) -> Model:
    """Eight schools (Rubin 1981): effects of coaching with known errors, and their mean ``mu`` and scale ``tau``."""
    y = _vector("effects", effects)
    return _with_data(Model.eight_schools(y, _vector("errors", errors), centred), y)


def radon(county: ArrayLike, floor: ArrayLike, log_radon: ArrayLike) -> Model:
    """Radon levels of homes by county (Gelman and Hill 2007): county from 0 on, floor, log of the level."""
    index = unmasked("county", county)
    if index.dtype.kind not in "iu" or index.ndim != 1 or (index.size and index.min() < 0):
        raise ValueError("county must be a vector of whole numbers from 0 on")
    counties = int(index.max()) + 1 if index.size else 0
    y = _vector("log_radon", log_radon)
    return _with_data(Model.radon(counties, index.tolist(), _vector("floor", floor), y), y)


def logistic_regression(x: ArrayLike, y: ArrayLike, *, prior_scale: float = 1.0) -> Model:
    """Logistic regression of labels 0 and 1 on the columns of ``x``, with prior ``N(0, prior_scale^2)`` on the weights.

    ``x`` of type float32 takes half the memory; the arithmetic is that of float64.
    """
    rows = _rows(x, y, np.float32)
    return _with_data(Model.logistic_regression(*rows, prior_scale), rows[1])


def probit_regression(x: ArrayLike, y: ArrayLike, *, prior_scale: float = 1.0) -> Model:
    """Probit regression of labels 0 and 1 on the columns of ``x``, as :func:`logistic_regression`."""
    rows = _rows(x, y, np.float32)
    return _with_data(Model.probit_regression(*rows, prior_scale), rows[1])


def poisson_regression(x: ArrayLike, y: ArrayLike, *, prior_scale: float = 1.0) -> Model:
    """Poisson regression of counts on the columns of ``x`` with a logarithmic link, as :func:`logistic_regression`."""
    rows = _rows(x, y, np.float32)
    return _with_data(Model.poisson_regression(*rows, prior_scale), rows[1])


def hierarchical_logistic(x: ArrayLike, y: ArrayLike, *, inverse_gamma: bool = False) -> Model:
    """Logistic regression of labels 0 and 1 in which every weight has a scale of its own."""
    rows = _rows(x, y)
    return _with_data(Model.hierarchical_logistic(*rows, inverse_gamma), rows[1])


def linear_regression(x: ArrayLike, y: ArrayLike, *, noise_scale: float, prior_scale: float = 1.0) -> Model:
    """Linear regression with noise ``N(0, noise_scale^2)`` and prior ``N(0, prior_scale^2)`` on the weights."""
    rows = _rows(x, y)
    return _with_data(Model.linear_regression(*rows, noise_scale, prior_scale), rows[1])


def student_regression(
    x: ArrayLike, y: ArrayLike, *, prior_scale: float = 1.0, scale: float | None = None, freedom: float | None = None
) -> Model:
    """Linear regression with Student t errors; without ``scale`` and ``freedom`` both are parameters."""
    rows = _rows(x, y)
    return _with_data(Model.student_regression(*rows, prior_scale, _both(scale, freedom)), rows[1])


def local_regression(x: ArrayLike, y: ArrayLike, *, freedom: float = 4.0, prior_scale: float = 1.0) -> Model:
    """Linear regression with Student t errors, written with a precision for each datum: ``features + 1 + rows`` dimensions."""
    return Model.local_regression(*_rows(x, y), freedom, prior_scale)


def neural_regression(x: ArrayLike, y: ArrayLike, *, hidden: int) -> Model:
    """Neural network regression with one hidden layer."""
    rows = _rows(x, y)
    return _with_data(Model.neural_regression(*rows, whole("hidden", hidden)), rows[1])


def gp_classification(x: ArrayLike, y: ArrayLike) -> Model:
    """Gaussian process classification of labels 0 and 1."""
    return Model.gp_classification(*_rows(x, y))


def robust_gp(x: ArrayLike, y: ArrayLike) -> Model:
    """Gaussian process regression with Student t errors."""
    return Model.robust_gp(*_rows(x, y))


def sparse_process(
    x: ArrayLike,
    y: ArrayLike,
    inducing: ArrayLike,
    *,
    length: float | ArrayLike = 1.0,
    scale: float | None = None,
    freedom: float | None = None,
) -> Model:
    """Sparse Gaussian process at fixed hyperparameters: its whitened values at the points ``inducing``, one per row.

    ``y`` has labels 0 and 1; with ``scale`` and ``freedom`` of Student t errors it has responses. The kernel is the squared exponential
    with amplitude 1 and these lengths, one or one per feature.
    """
    rows = _rows(x, y)
    lengths = np.broadcast_to(numbers("length", length), (rows[0].shape[1],)) if np.ndim(length) == 0 else _vector("length", length)
    noise = _both(scale, freedom)
    return _with_data(Model.sparse_process(*rows, _matrix("inducing", inducing), np.ascontiguousarray(lengths), noise), rows[1])


def stock_volatility(series: ArrayLike) -> Model:
    """Stochastic volatility of a series of returns."""
    y = _vector("series", series)
    return _with_data(Model.stock_volatility(y), y)


def fx_volatility(returns: ArrayLike) -> Model:
    """Stochastic volatility of the returns of a currency: the path of the volatility, at fixed parameters of its motion."""
    y = _vector("returns", returns)
    return _with_data(Model.fx_volatility(y), y)


#: Models by the names of ``mcsa-bench fit --list-models``, and further ones.
MODELS: dict[str, Callable[..., Model]] = {
    "standard-gaussian": standard_gaussian,
    "correlated-gaussian": correlated_gaussian,
    "diagonal-gaussian": diagonal_gaussian,
    "wishart-gaussian": wishart_gaussian,
    "gaussian": gaussian,
    "student": student,
    "skew-normal": skew_normal,
    "banana": banana,
    "funnel": funnel,
    "moons": moons,
    "modes": modes,
    "mixture": mixture,
    "eight-schools": eight_schools,
    "radon": radon,
    "stock-volatility": stock_volatility,
    "fx-volatility": fx_volatility,
    "hierarchical-logistic": hierarchical_logistic,
    "logistic": logistic_regression,
    "probit": probit_regression,
    "poisson": poisson_regression,
    "linear": linear_regression,
    "student-regression": student_regression,
    "local-regression": local_regression,
    "sparse-process": sparse_process,
    "gp-classification": gp_classification,
    "neural-regression": neural_regression,
    "robust-gp": robust_gp,
}


def by_name(name: str, *data: Any, **settings: Any) -> Model:
    """The model of this name, with its data and settings."""
    if name not in MODELS:
        raise ValueError(f"no model {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name](*data, **settings)
