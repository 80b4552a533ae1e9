"""References of linear hierarchies by quadrature: normal data, coefficients that are normal given the scales.

    python linear.py POSTERIORDB BUGS_EXAMPLES [NAME ...]

Effects are ``mu + s_k c`` with standard normal c, means and other coefficients ``r c``, where r is the standard deviation of their prior. With
``y = X D c + e``, ``e ~ N(0, s_y^2)`` and the diagonal D of these factors, given the scales s:

    c | s, y ~ N(P^-1 D X'y / s_y^2, P^-1)  with  P = D X'X D / s_y^2 + I
    log p(s | y) = log p(s) - n log s_y - y'y / 2 s_y^2 + (D X'y)' P^-1 D X'y / 2 s_y^4 - log det P / 2 + constant

The scales are summed over a grid of their logarithms around the mode. Moments and quantiles of a scale are those of a spline through its
marginal; those of the coefficients are of independent draws, as many as in other references.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import logsumexp

from posteriordb import data_of
from quadrature import CHAINS, EACH, store, summed
from stranger import Known, known

GRID, FINE, FALL = 28, 8_001, 20.0
LARGEST = 100.0
Prior = Callable[[np.ndarray], np.ndarray]


def half_normal(log_s: np.ndarray) -> np.ndarray:
    """Log density of ``log s`` where ``s ~ N+(0, 1)``."""
    return log_s - 0.5 * np.exp(2 * log_s)


def inverse_gamma(log_s: np.ndarray) -> np.ndarray:
    """Log density of ``log s`` where ``s^2 ~ InvGamma(0.001, 0.001)``."""
    return -0.002 * log_s - 0.001 * np.exp(-2 * log_s)


def uniform(log_s: np.ndarray) -> np.ndarray:
    """Log density of ``log s`` where ``s ~ U(0, LARGEST)``."""
    return np.where(log_s <= np.log(LARGEST), log_s, -np.inf)


@dataclass
class Effects:
    """Coefficients ``name[j] ~ N(mean, s^2)``, with the group of each datum, its factor, and the prior ``mean ~ N(0, spread^2)``."""

    name: str
    group: np.ndarray
    factor: np.ndarray
    spread: float
    mean: str = "mu_{}"


@dataclass
class Linear:
    """A hierarchy; ``fixed`` has columns of other coefficients by name, with the prior ``N(0, spread^2)``."""

    y: np.ndarray
    effects: list[Effects]
    fixed: dict[str, np.ndarray]
    spread: float
    prior: Prior
    has_raw: bool = False
    squares: bool = False
    divided: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names, columns, self.blocks = list(self.fixed), list(self.fixed.values()), []
        for part in self.effects:
            count, first = part.group.max() + 1, len(columns)
            one = np.zeros((count, len(self.y)))
            one[part.group, np.arange(len(self.y))] = part.factor
            columns += [*one, part.factor]
            self.names += [*(f"{part.name}[{j + 1}]" for j in range(count)), part.mean.format(part.name)]
            self.blocks.append((np.arange(first, first + count), first + count))
        x = np.array(columns)
        self.square, self.with_y, self.y_square = x @ x.T, x @ self.y, self.y @ self.y
        self.scales = ["sigma_y", *(f"sigma_{part.name}" for part in self.effects)]

    def given(self, log_s: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log density of the scales, the Cholesky factor L of P, and L' times the mean of c."""
        s, factors = np.exp(log_s), np.full(len(self.names), self.spread)
        for part, (at, mean), scale in zip(self.effects, self.blocks, s[1:]):
            factors[at], factors[mean] = scale, part.spread
        p = self.square * (factors[:, None] * factors) / s[0] ** 2
        p[np.diag_indices(len(p))] += 1.0
        lower = cholesky(p, lower=True, overwrite_a=True, check_finite=False)
        white = solve_triangular(lower, factors * self.with_y / s[0] ** 2, lower=True, check_finite=False)
        log_p = self.prior(log_s).sum() - len(self.y) * log_s[0] - self.y_square / (2 * s[0] ** 2)
        log_p += 0.5 * white @ white - np.log(np.diag(lower)).sum()
        return float(log_p), lower, white

    def grid(self) -> list[np.ndarray]:
        """Logarithms of scales around the mode: along each axis a fifth farther than to where the log density has fallen by FALL, and not beyond LARGEST."""
        begin = np.full(len(self.scales), np.log(self.y.std() / 2))
        found = minimize(lambda log_s: -self.given(log_s)[0], begin, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-5})
        mode, top = found.x, -found.fun
        axes = []
        for k in range(len(mode)):
            ends = []
            for sign in (-1, 1):
                step = 0.01
                while step < 12:
                    at = mode.copy()
                    at[k] += sign * step
                    if self.given(at)[0] < top - FALL:
                        break
                    step *= 1.2
                ends.append(min(mode[k] + sign * 1.2 * step, np.log(LARGEST)))
            axes.append(np.linspace(*ends, GRID if ends[1] - ends[0] < 4 else 3 * GRID))
        return axes

    def reference(self) -> dict[str, Known]:
        axes = self.grid()
        shape = tuple(map(len, axes))
        log_p = np.array([self.given(np.array(at))[0] for at in itertools.product(*axes)]).reshape(shape)
        weights = np.exp(log_p - logsumexp(log_p))
        found = {}
        for k, (name, axis) in enumerate(zip(self.scales, axes)):
            others = tuple(i for i in range(len(axes)) if i != k)
            of_axis = weights.sum(axis=others)
            assert max(of_axis[0], of_axis[-1]) < 2e-4 * of_axis.max(), f"the grid of {name} ends where there is mass: {of_axis}"
            fine = np.linspace(axis[0], axis[-1], FINE)
            log_fine = CubicSpline(axis, np.log(np.maximum(of_axis, 1e-300)))(fine)
            share = np.exp(log_fine - logsumexp(log_fine))
            found[name] = summed(np.exp(fine), share)
            if self.squares:
                found[name.replace("sigma", "sigmasq")] = summed(np.exp(2 * fine), share)
        rng = np.random.default_rng(1)
        cells, counts = np.unique(rng.choice(weights.size, CHAINS * EACH, p=weights.ravel()), return_counts=True)
        c = np.empty((len(self.names), CHAINS * EACH))
        scales = np.empty((len(axes), CHAINS * EACH))
        for cell, count, last in zip(cells, counts, np.cumsum(counts)):
            log_s = np.array([axis[i] for axis, i in zip(axes, np.unravel_index(cell, shape))])
            _, lower, white = self.given(log_s)
            z = white[:, None] + rng.normal(size=(len(white), count))
            c[:, last - count : last] = solve_triangular(lower, z, lower=True, trans="T", check_finite=False)
            scales[:, last - count : last] = np.exp(log_s)[:, None]
        mixed = rng.permutation(CHAINS * EACH)
        c, scales = c[:, mixed], scales[:, mixed]
        drawn = {name: self.spread * x for name, x in zip(self.names, c)}
        for part, (at, mean), scale in zip(self.effects, self.blocks, scales[1:]):
            drawn[self.names[mean]] = part.spread * c[mean]
            drawn |= {self.names[i]: part.spread * c[mean] + scale * c[i] for i in at}
            if self.has_raw:
                drawn |= {f"{part.name}_raw[{j + 1}]": c[i] for j, i in enumerate(at)}
        return found | {name: known(self.divided.get(name, 1.0) * x.reshape(CHAINS, EACH)) for name, x in drawn.items()}


def radon(data: dict, kind: str) -> Linear:
    county, y = np.array(data["county_idx"]) - 1, np.array(data["log_radon"], dtype=float)
    floor, ones = np.array(data["floor_measure"], dtype=float), np.ones(len(y))
    intercepts, slopes = Effects("alpha", county, ones, 10.0), Effects("beta", county, floor, 10.0)
    effects, fixed = {
        "partially_pooled": ([intercepts], {}),
        "variable_intercept": ([intercepts], {"beta": floor}),
        "variable_slope": ([slopes], {"alpha": ones}),
        "variable_intercept_slope": ([intercepts, slopes], {}),
        "hierarchical_intercept": ([intercepts], {"beta[1]": np.array(data.get("log_uppm", ones), dtype=float), "beta[2]": floor}),
        "county_intercept": ([], {f"alpha[{j + 1}]": (county == j).astype(float) for j in range(county.max() + 1)} | {"beta": floor}),
    }[kind]
    return Linear(y, effects, fixed, 10.0, half_normal, has_raw=kind != "county_intercept")


def rats(data: dict) -> Linear:
    y = np.array(data["y"], dtype=float)
    day = np.tile(np.array(data["x"], dtype=float) - data["xbar"], len(y))
    rat = np.arange(len(y)).repeat(y.shape[1])
    effects = [Effects("alpha", rat, np.ones(y.size), 100.0), Effects("beta", rat, day, 100.0)]
    return Linear(y.ravel(), effects, {}, 1.0, inverse_gamma, squares=True)


def hepatitis(data: dict) -> Linear:
    patient, start = np.array(data["idxn1"]) - 1, np.array(data["y0"], dtype=float)
    time = np.array(data["tvec1"], dtype=float) - 6.5
    effects = [Effects("alpha", patient, np.ones(len(time)), 1e3, "{}0"), Effects("beta", patient, time, 1e3, "{}0")]
    fixed = {"gamma": (start - start.mean())[patient]}
    return Linear(np.array(data["Yvec1"], dtype=float), effects, fixed, 1e3, inverse_gamma, squares=True)


def pilots(data: dict) -> Linear:
    """Means of the effects are ten times the parameters."""
    y = np.array(data["y"], dtype=float)
    groups = [Effects(name, np.array(data[key]) - 1, np.ones(len(y)), 10.0) for name, key in (("a", "group_id"), ("b", "scenario_id"))]
    return Linear(y, groups, {}, 1.0, uniform, divided={"mu_a": 0.1, "mu_b": 0.1})


RADON = ("county_intercept", *(f"{kind}_noncentered" for kind in ("partially_pooled", "variable_intercept", "variable_slope", "variable_intercept_slope", "hierarchical_intercept")))
POSTERIORDB: dict[str, tuple[str, Callable[[dict], Linear]]] = {
    f"radon_{states}-radon_{model}": (f"radon_{states}", lambda data, kind=model.removesuffix("_noncentered"): radon(data, kind))
    for states, models in (("all", RADON), ("mn", ("variable_intercept_slope_noncentered",)))
    for model in models
} | {"pilots-pilots": ("pilots", pilots)}
BUGS: dict[str, tuple[str, Callable[[dict], Linear]]] = {"rats-rats_vec": ("vol1/rats/rats", rats), "hepatitis-hepatitis": ("vol3/hepatitis/hepatitis", hepatitis)}


def main() -> None:
    posteriordb, bugs, only = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    for name, (place, model) in (POSTERIORDB | BUGS).items():
        if only and name not in only:
            continue
        data = data_of(posteriordb, place) if name in POSTERIORDB else json.loads((bugs / f"{place}.data.json").read_text())
        store(name, model(data).reference())


if __name__ == "__main__":
    main()
