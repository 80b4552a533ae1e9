"""Models of the library, with data as arrays. Each can be given to :func:`mcsa.fit` in place of a log density.

>>> import mcsa
>>> mcsa.models.eight_schools()
<mcsa model: eight schools, 10 dimensions>
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._mcsa import Model

__all__ = [
    "Model",
    "eight_schools",
    "hierarchical_logistic",
    "linear_regression",
    "logistic_regression",
    "probit_regression",
]


def _rows(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 2 or y.ndim != 1:
        raise ValueError(f"x has {x.ndim} dimensions and y {y.ndim}; expected a matrix (rows, features) and a vector (rows,)")
    return x, y


def eight_schools(*, centred: bool = False) -> Model:
    """Eight schools (Rubin 1981): effects of coaching, with mean ``mu`` and scale ``tau``."""
    return Model.eight_schools(centred)


def logistic_regression(x: ArrayLike, y: ArrayLike, *, prior_scale: float = 1.0) -> Model:
    """Logistic regression of labels 0 and 1 on the columns of ``x``, with prior ``N(0, prior_scale^2)`` on the weights."""
    return Model.logistic_regression(*_rows(x, y), prior_scale)


def hierarchical_logistic(x: ArrayLike, y: ArrayLike) -> Model:
    """Logistic regression of labels 0 and 1 in which every weight has a scale of its own."""
    return Model.hierarchical_logistic(*_rows(x, y))


def probit_regression(x: ArrayLike, y: ArrayLike, *, prior_scale: float = 1.0) -> Model:
    """Probit regression of labels 0 and 1 on the columns of ``x``, with prior ``N(0, prior_scale^2)`` on the weights."""
    return Model.probit_regression(*_rows(x, y), prior_scale)


def linear_regression(x: ArrayLike, y: ArrayLike, *, noise_scale: float, prior_scale: float = 1.0) -> Model:
    """Linear regression with noise ``N(0, noise_scale^2)`` and prior ``N(0, prior_scale^2)`` on the weights."""
    return Model.linear_regression(*_rows(x, y), noise_scale, prior_scale)
