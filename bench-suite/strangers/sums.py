"""References by sums over a grid, for posteriors of few parameters on which chains do not mix.

    python sums.py POSTERIORDB [NAME ...]

Two mixtures of two normal components, whose labels may be exchanged: the grid has the half ``mu_1 < mu_2``, and each point counts with its
mirror image. A regression with errors in its inputs, whose constant, centre and true inputs are normal given the other three. And a Poisson
regression with effects, by the sums of ``quadrature.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from scipy.stats import beta, halfnorm, norm

import everyday
from posteriordb import data_of
from quadrature import CHAINS, EACH, store, summed, years
from stranger import Known, known

AT_ONCE = 2_000


def weights_of(log_p: Callable[..., np.ndarray], axes: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Coordinates of the points of a grid with mass, and their weights. An axis may begin at half a step from 0, a bound of its parameter."""
    points = [part.ravel() for part in np.meshgrid(*axes, indexing="ij")]
    found = np.concatenate([log_p(*(part[i : i + AT_ONCE] for part in points)) for i in range(0, len(points[0]), AT_ONCE)])
    weights = np.exp(found - logsumexp(found))
    whole = weights.reshape([len(axis) for axis in axes])
    for k in range(len(axes)):
        of_axis = whole.sum(axis=tuple(i for i in range(len(axes)) if i != k))
        is_at_bound = np.isclose(axes[k][0], (axes[k][1] - axes[k][0]) / 2)
        assert max(0.0 if is_at_bound else of_axis[0], of_axis[-1]) < 1e-3 * of_axis.max(), f"axis {k} ends where there is mass"
    has_mass = weights > 1e-12 * weights.max()
    return [part[has_mass] for part in points], weights[has_mass] / weights[has_mass].sum()


def mixture(y: np.ndarray, share: str, axes: list[np.ndarray], log_prior: Callable[..., np.ndarray]) -> dict[str, Known]:
    """Axes: the share of the first component, both means, and a standard deviation if it is not 1."""

    def log_p(w: np.ndarray, low: np.ndarray, high: np.ndarray, sigma: np.ndarray | float = 1.0) -> np.ndarray:
        one, other = (-0.5 * ((y[:, None] - mu) / sigma) ** 2 for mu in (low, high))
        return np.logaddexp(np.log(w) + one, np.log1p(-w) + other).sum(axis=0) - len(y) * np.log(sigma) + log_prior(w, low, high, sigma)

    (w, low, high, *sigma), weights = weights_of(log_p, axes)
    both = np.concatenate([weights, weights]) / 2
    found = {share: summed(np.concatenate([w, 1 - w]), both)}
    found |= {"mu[1]": summed(np.concatenate([low, high]), both), "mu[2]": summed(np.concatenate([high, low]), both)}
    return found | {"sigma": summed(s, weights) for s in sigma}


def observed(name: str) -> np.ndarray:
    """Data of an everyday model."""
    place = list(everyday.MODELS).index(name)
    built = everyday.MODELS[name](np.random.default_rng(20_000 + place))
    return np.stack([built.rvs_to_values[variable].data for variable in built.observed_RVs])


def of_everyday(_: Path) -> dict[str, Known]:
    (y,) = observed("normal-mixture")
    axes = [np.linspace(0.15, 0.85, 71), np.linspace(-3, 0.5, 71), np.linspace(0.5, 3.5, 71), np.linspace(0.6, 1.8, 49)]

    def log_prior(w: np.ndarray, low: np.ndarray, high: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        return beta.logpdf(w, 2, 2) + norm.logpdf(low, 0, 3) + norm.logpdf(high, 0, 3) + halfnorm.logpdf(sigma, 0, 2)

    return mixture(y, "w", axes, log_prior)


def of_posteriordb(folder: Path) -> dict[str, Known]:
    y = np.array(data_of(folder, "normal_2")["y"])
    axes = [np.linspace(0.2, 0.4, 81), np.linspace(-10.4, -9.6, 81), np.linspace(9.6, 10.4, 81)]
    return mixture(y, "theta", axes, lambda _, low, high, sigma: norm.logpdf(low, 0, 10) + norm.logpdf(high, 0, 10))


def errors_in_inputs(_: Path) -> dict[str, Known]:
    """Given slope, noise and spread, each pair (x, y) is normal around (centre, a + b centre)."""
    x, y = observed("errors-in-inputs")
    noise, prior = 0.25, 4.0

    def given(b: np.ndarray, sigma: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log density; mean and covariance of (a, centre)."""
        of_x = np.array([[spread**2 + noise, b * spread**2], [b * spread**2, b**2 * spread**2 + sigma**2]]).transpose(2, 0, 1)
        inverse = np.linalg.inv(of_x)
        design = np.array([[np.zeros_like(b), np.ones_like(b)], [np.ones_like(b), b]]).transpose(2, 0, 1)
        data = np.array([x.sum(), y.sum()])
        precision = len(x) * design.transpose(0, 2, 1) @ inverse @ design + np.eye(2) / prior
        right = design.transpose(0, 2, 1) @ inverse @ data
        covariance = np.linalg.inv(precision)
        mean = (covariance @ right[..., None])[..., 0]
        squares = np.array([[x @ x, x @ y], [x @ y, y @ y]])
        log_p = -0.5 * len(x) * np.log(np.linalg.det(of_x)) - 0.5 * (inverse * squares).sum(axis=(1, 2))
        log_p += 0.5 * (mean * right).sum(axis=1) - 0.5 * np.log(np.linalg.det(precision))
        return log_p + norm.logpdf(b, 0, 2) + halfnorm.logpdf(sigma, 0, 1) + halfnorm.logpdf(spread, 0, 2), mean, covariance

    axes = [np.linspace(-4, 6, 401), np.arange(0.005, 2, 0.01), np.arange(0.0075, 3, 0.015)]
    points, weights = weights_of(lambda *part: given(*part)[0], axes)
    found = {name: summed(part, weights) for name, part in zip(("b", "sigma", "spread"), points)}
    rng = np.random.default_rng(1)
    rows = rng.choice(len(weights), CHAINS * EACH, p=weights)
    b, sigma, spread = (part[rows] for part in points)
    _, mean, covariance = given(b, sigma, spread)
    a, centre = (mean + (np.linalg.cholesky(covariance) @ rng.normal(size=(len(b), 2, 1)))[..., 0]).T
    drawn = {"a": a, "centre": centre}
    precision = 1 / noise + b**2 / sigma**2 + spread**-2
    for i, (x_i, y_i) in enumerate(zip(x, y)):
        mean_i = (x_i / noise + b * (y_i - a) / sigma**2 + centre / spread**2) / precision
        drawn[f"inner[{i + 1}]"] = mean_i + rng.normal(size=len(b)) / np.sqrt(precision)
    return found | {name: known(values.reshape(CHAINS, EACH)) for name, values in drawn.items()}


MODELS: dict[str, Callable[[Path], dict[str, Known]]] = {
    "normal-mixture": of_everyday,
    "normal_2-normal_mixture": of_posteriordb,
    "errors-in-inputs": errors_in_inputs,
    "GLMM_Poisson_data-GLMM_Poisson_model": lambda folder: years(data_of(folder, "GLMM_Poisson_data")),
}


def main() -> None:
    folder, only = Path(sys.argv[1]), sys.argv[2:]
    for name, reference in MODELS.items():
        if not only or name in only:
            store(name, reference(folder))


if __name__ == "__main__":
    main()
