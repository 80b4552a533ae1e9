"""Models that a working statistician writes in PyMC, with data simulated from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from stranger import Stranger, stored

MODELS: dict[str, Callable[[np.random.Generator], Any]] = {}


def model(make: Callable[[np.random.Generator], Any]) -> Callable[[np.random.Generator], Any]:
    MODELS[make.__name__.replace("_", "-")] = make
    return make


def strangers() -> Iterator[Stranger]:
    """The models. The data's seed is the place in the list of the first model with these data: both parametrisations have the same."""
    places: dict[str, int] = {}
    for place, (name, make) in enumerate(MODELS.items()):
        seed = 20_000 + places.setdefault(_data(name), place)

        def arguments(make: Callable[[np.random.Generator], Any] = make, seed: int = seed) -> dict[str, Any]:
            import mcsa

            return mcsa.from_pymc(make(np.random.default_rng(seed)))

        yield Stranger(name, "everyday", arguments, lambda name=name: stored(name))


def _data(name: str) -> str:
    """Name of a model without its parametrisation."""
    return name.removesuffix("-noncentred").removesuffix("-centred")


def inputs(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Correlated inputs of unit variance."""
    common = rng.normal(size=(rows, 1))
    return 0.8 * rng.normal(size=(rows, columns)) + 0.6 * common


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@model
def linear_regression(rng):
    import pymc as pm

    x = inputs(rng, 200, 19)
    y = 1 + x @ rng.normal(size=19) + rng.normal(size=200)
    with pm.Model() as built:
        a, b, sigma = pm.Normal("a", 0, 5), pm.Normal("b", 0, 2, shape=19), pm.HalfNormal("sigma", 2)
        pm.Normal("y", a + pm.math.dot(x, b), sigma, observed=y)
    return built


@model
def logistic_regression(rng):
    import pymc as pm

    x = inputs(rng, 300, 59)
    y = rng.binomial(1, sigmoid(0.3 + 0.5 * x @ rng.normal(size=59) / 2))
    with pm.Model() as built:
        a, b = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1, shape=59)
        pm.Bernoulli("y", logit_p=a + pm.math.dot(x, b), observed=y)
    return built


@model
def separated_logistic_regression(rng):
    import pymc as pm

    x = inputs(rng, 40, 3)
    y = (x[:, 0] > 0).astype(int)
    with pm.Model() as built:
        a, b = pm.Cauchy("a", 0, 10), pm.Cauchy("b", 0, 2.5, shape=3)
        pm.Bernoulli("y", logit_p=a + pm.math.dot(x, b), observed=y)
    return built


@model
def probit_regression(rng):
    import pymc as pm

    x = inputs(rng, 150, 5)
    y = (0.2 + x @ rng.normal(size=5) + rng.normal(size=150) > 0).astype(int)
    with pm.Model() as built:
        a, b = pm.Normal("a", 0, 2), pm.Normal("b", 0, 2, shape=5)
        pm.Bernoulli("y", p=pm.math.invprobit(a + pm.math.dot(x, b)), observed=y)
    return built


@model
def poisson_regression(rng):
    import pymc as pm

    x, exposure = inputs(rng, 120, 4), rng.uniform(1, 10, size=120)
    y = rng.poisson(exposure * np.exp(-0.5 + 0.4 * x @ rng.normal(size=4)))
    with pm.Model() as built:
        a, b = pm.Normal("a", 0, 5), pm.Normal("b", 0, 1, shape=4)
        pm.Poisson("y", exposure * pm.math.exp(a + pm.math.dot(x, b)), observed=y)
    return built


@model
def negative_binomial(rng):
    import pymc as pm

    x = rng.normal(size=150)
    y = rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(1 + 0.6 * x)))
    with pm.Model() as built:
        a, b, alpha = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1), pm.Exponential("alpha", 0.5)
        pm.NegativeBinomial("y", mu=pm.math.exp(a + b * x), alpha=alpha, observed=y)
    return built


@model
def zero_inflated_poisson(rng):
    import pymc as pm

    x = rng.normal(size=200)
    y = rng.poisson(np.exp(0.8 + 0.5 * x)) * rng.binomial(1, 0.7, size=200)
    with pm.Model() as built:
        a, b, psi = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1), pm.Beta("psi", 1, 1)
        pm.ZeroInflatedPoisson("y", psi=psi, mu=pm.math.exp(a + b * x), observed=y)
    return built


@model
def gamma_regression(rng):
    import pymc as pm

    x = inputs(rng, 120, 3)
    y = rng.gamma(3.0, np.exp(0.5 + 0.5 * x @ np.array([1.0, -0.5, 0.2])) / 3.0)
    with pm.Model() as built:
        a, b, shape = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1, shape=3), pm.HalfNormal("shape", 5)
        pm.Gamma("y", alpha=shape, beta=shape / pm.math.exp(a + pm.math.dot(x, b)), observed=y)
    return built


@model
def beta_regression(rng):
    import pymc as pm

    x = rng.normal(size=100)
    mean = sigmoid(-0.4 + 0.7 * x)
    y = np.clip(rng.beta(12 * mean, 12 * (1 - mean)), 1e-4, 1 - 1e-4)
    with pm.Model() as built:
        a, b, phi = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1), pm.HalfNormal("phi", 20)
        mu = pm.math.sigmoid(a + b * x)
        pm.Beta("y", alpha=mu * phi, beta=(1 - mu) * phi, observed=y)
    return built


@model
def ordered_logit(rng):
    import pymc as pm

    x = rng.normal(size=200)
    y = np.digitize(1.2 * x + rng.logistic(size=200), [-1.0, 0.5, 2.0])
    with pm.Model() as built:
        b = pm.Normal("b", 0, 2)
        cuts = pm.Normal("cuts", 0, 5, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0])
        pm.OrderedLogistic("y", eta=b * x, cutpoints=cuts, compute_p=False, observed=y)
    return built


@model
def softmax_regression(rng):
    import pymc as pm

    x = inputs(rng, 200, 3)
    logits = np.column_stack([np.zeros(200), x @ rng.normal(size=(3, 2)) + [0.3, -0.3]])
    y = np.array([rng.choice(3, p=p / p.sum()) for p in np.exp(logits)])
    with pm.Model() as built:
        a, b = pm.Normal("a", 0, 2, shape=2), pm.Normal("b", 0, 2, shape=(3, 2))
        eta = pm.math.concatenate([np.zeros((200, 1)), a + pm.math.dot(x, b)], axis=1)
        pm.Categorical("y", logit_p=eta, observed=y)
    return built


@model
def robust_regression(rng):
    import pymc as pm

    x = rng.normal(size=100)
    y = 1 + 2 * x + 0.5 * rng.standard_t(2.5, size=100)
    with pm.Model() as built:
        a, b, sigma = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5), pm.HalfNormal("sigma", 2)
        nu = pm.Gamma("nu", 2, 0.1)
        pm.StudentT("y", nu=nu, mu=a + b * x, sigma=sigma, observed=y)
    return built


@model
def unequal_variances(rng):
    import pymc as pm

    x = rng.uniform(-1, 2, size=150)
    y = 0.5 + x + np.exp(-0.5 + 0.6 * x) * rng.normal(size=150)
    with pm.Model() as built:
        a, b = pm.Normal("a", 0, 2), pm.Normal("b", 0, 2)
        c, d = pm.Normal("c", 0, 2), pm.Normal("d", 0, 2)
        pm.Normal("y", a + b * x, pm.math.exp(c + d * x), observed=y)
    return built


@model
def errors_in_inputs(rng):
    import pymc as pm

    true = rng.normal(1, 1, size=40)
    x, y = true + 0.5 * rng.normal(size=40), 0.5 + 1.5 * true + 0.4 * rng.normal(size=40)
    with pm.Model() as built:
        a, b, sigma = pm.Normal("a", 0, 2), pm.Normal("b", 0, 2), pm.HalfNormal("sigma", 1)
        centre, spread = pm.Normal("centre", 0, 2), pm.HalfNormal("spread", 2)
        inner = pm.Normal("inner", centre, spread, shape=40)
        pm.Normal("x", inner, 0.5, observed=x)
        pm.Normal("y", a + b * inner, sigma, observed=y)
    return built


@model
def missing_inputs(rng):
    import pymc as pm

    x = rng.normal(size=(80, 2))
    y = 1 + x @ [0.8, -0.6] + 0.5 * rng.normal(size=80)
    gone = rng.random(80) < 0.2
    with pm.Model() as built:
        a, b, sigma = pm.Normal("a", 0, 2), pm.Normal("b", 0, 2, shape=2), pm.HalfNormal("sigma", 1)
        filled = pm.Normal("filled", 0, 1, shape=int(gone.sum()))
        first = pm.math.dot(np.eye(80)[:, gone], filled) + np.where(gone, 0.0, x[:, 0])
        pm.Normal("y", a + b[0] * first + b[1] * x[:, 1], sigma, observed=y)
    return built


def _grouped(rng, groups, rows, spread, centred, likelihood):
    """Random intercepts and one slope, with outcomes by `likelihood`."""
    import pymc as pm

    group = np.repeat(np.arange(groups), rows)
    x = rng.normal(size=groups * rows)
    eta = 0.5 + spread * rng.normal(size=groups)[group] + 0.7 * x
    with pm.Model() as built:
        mu, b, tau = pm.Normal("mu", 0, 2), pm.Normal("b", 0, 1), pm.HalfNormal("tau", 1)
        if centred:
            effects = pm.Normal("effects", mu, tau, shape=groups)
        else:
            effects = pm.Deterministic("effects", mu + tau * pm.Normal("raw", 0, 1, shape=groups))
        likelihood(pm, rng, effects[group] + b * x, eta)
    return built


def _with_noise(scale):
    """Normal outcomes with noise of this scale, which the model learns."""

    def likelihood(pm, rng, eta, true):
        pm.Normal("y", eta, pm.HalfNormal("sigma", 1), observed=true + scale * rng.normal(size=len(true)))

    return likelihood


def _counts(pm, rng, eta, true):
    pm.Poisson("y", pm.math.exp(eta), observed=rng.poisson(np.exp(true)))


def _binary(pm, rng, eta, true):
    pm.Bernoulli("y", logit_p=eta, observed=rng.binomial(1, sigmoid(true)))


for name, groups, rows, spread, outcomes in (
    ("hierarchical-poisson", 12, 20, 0.5, _counts),
    ("random-intercept-logit", 20, 8, 0.7, _binary),
    ("many-data-per-group", 15, 60, 0.8, _with_noise(0.5)),
    ("few-data-per-group", 30, 3, 0.3, _with_noise(1.0)),
):
    MODELS[f"{name}-centred"] = partial(_grouped, groups=groups, rows=rows, spread=spread, centred=True, likelihood=outcomes)
    MODELS[f"{name}-noncentred"] = partial(_grouped, groups=groups, rows=rows, spread=spread, centred=False, likelihood=outcomes)


@model
def varying_slopes(rng):
    import pymc as pm

    group, x = np.repeat(np.arange(15), 10), rng.normal(size=150)
    a, b = 1 + 0.6 * rng.normal(size=15), -0.5 + 0.4 * rng.normal(size=15)
    y = a[group] + b[group] * x + 0.5 * rng.normal(size=150)
    with pm.Model() as built:
        mu, tau, sigma = pm.Normal("mu", 0, 2, shape=2), pm.HalfNormal("tau", 1, shape=2), pm.HalfNormal("sigma", 1)
        effects = pm.Normal("effects", mu, tau, shape=(15, 2))
        pm.Normal("y", effects[group, 0] + effects[group, 1] * x, sigma, observed=y)
    return built


def _schools(centred):
    import pymc as pm

    y, errors = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    with pm.Model() as built:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        if centred:
            theta = pm.Normal("theta", mu, tau, shape=8)
        else:
            theta = pm.Deterministic("theta", mu + tau * pm.Normal("raw", 0, 1, shape=8))
        pm.Normal("y", theta, errors, observed=y)
    return built


@model
def eight_schools_centred(rng):
    return _schools(True)


@model
def eight_schools_noncentred(rng):
    return _schools(False)


@model
def item_response(rng):
    import pymc as pm

    person, item = np.divmod(np.arange(60 * 12), 12)
    ability, difficulty, slope = rng.normal(size=60), rng.normal(size=12), np.exp(0.3 * rng.normal(size=12))
    y = rng.binomial(1, sigmoid(slope[item] * (ability[person] - difficulty[item])))
    with pm.Model() as built:
        theta = pm.Normal("theta", 0, 1, shape=60)
        b, a = pm.Normal("difficulty", 0, 1.5, shape=12), pm.LogNormal("slope", 0, 0.5, shape=12)
        pm.Bernoulli("y", logit_p=a[item] * (theta[person] - b[item]), observed=y)
    return built


@model
def spline_regression(rng):
    import pymc as pm

    x = np.sort(rng.uniform(0, 1, size=120))
    y = np.sin(8 * x) + 0.3 * rng.normal(size=120)
    knots = np.linspace(0, 1, 14)
    basis = np.clip(1 - abs(x[:, None] - knots) / (knots[1] - knots[0]), 0, None)
    with pm.Model() as built:
        tau, sigma, first = pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1), pm.Normal("first", 0, 2)
        steps = pm.Normal("steps", 0, 1, shape=13)
        weights = first + pm.math.concatenate([np.zeros(1), (tau * steps).cumsum()])
        pm.Normal("y", pm.math.dot(basis, weights), sigma, observed=y)
    return built


@model
def counts_on_a_random_walk(rng):
    import pymc as pm

    level = 1 + np.cumsum(0.2 * rng.normal(size=60))
    with pm.Model() as built:
        tau, first = pm.HalfNormal("tau", 0.5), pm.Normal("first", 0, 2)
        steps = pm.Normal("steps", 0, tau, shape=60)
        pm.Poisson("y", pm.math.exp(first + steps.cumsum()), observed=rng.poisson(np.exp(level)))
    return built


@model
def autoregression(rng):
    import pymc as pm

    y = np.zeros(150)
    for t in range(2, 150):
        y[t] = 0.3 + 0.5 * y[t - 1] + 0.2 * y[t - 2] + 0.6 * rng.normal()
    with pm.Model() as built:
        a, b, sigma = pm.Normal("a", 0, 1), pm.Normal("b", 0, 0.5, shape=2), pm.HalfNormal("sigma", 1)
        pm.Normal("y", a + b[0] * y[1:-1] + b[1] * y[:-2], sigma, observed=y[2:])
    return built


@model
def gaussian_process(rng):
    import pymc as pm

    x = np.sort(rng.uniform(0, 5, size=50))[:, None]
    y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=50)
    with pm.Model() as built:
        length, scale, sigma = pm.Gamma("length", 2, 2), pm.HalfNormal("scale", 2), pm.HalfNormal("sigma", 1)
        process = pm.gp.Marginal(cov_func=scale**2 * pm.gp.cov.ExpQuad(1, ls=length))
        process.marginal_likelihood("y", X=x, y=y, sigma=sigma)
    return built


@model
def normal_mixture(rng):
    import pymc as pm

    y = np.where(rng.random(120) < 0.4, rng.normal(-1.5, 1, size=120), rng.normal(2, 1, size=120))
    with pm.Model() as built:
        w, mu, sigma = pm.Beta("w", 2, 2), pm.Normal("mu", 0, 3, shape=2), pm.HalfNormal("sigma", 2)
        weights = pm.math.stack([w, 1 - w])
        pm.NormalMixture("y", w=weights, mu=mu, sigma=sigma, observed=y)
    return built


@model
def ordered_mixture(rng):
    import pymc as pm

    y = np.concatenate([rng.normal(-2, 0.7, 60), rng.normal(0.5, 0.7, 50), rng.normal(3, 0.7, 40)])
    with pm.Model() as built:
        w = pm.Dirichlet("w", np.ones(3))
        mu = pm.Normal("mu", 0, 5, shape=3, transform=pm.distributions.transforms.ordered, initval=[-2.0, 0.0, 2.0])
        pm.NormalMixture("y", w=w, mu=mu, sigma=pm.HalfNormal("sigma", 1, shape=3), observed=y)
    return built


@model
def weibull_survival(rng):
    import pymc as pm

    x = inputs(rng, 120, 2)
    times, ends = rng.weibull(1.5, size=120) * np.exp(0.5 + x @ [0.4, -0.3]), rng.uniform(0.5, 4, size=120)
    seen = times <= ends
    y = np.minimum(times, ends)
    with pm.Model() as built:
        a, b, shape = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1, shape=2), pm.HalfNormal("shape", 2)
        scale = pm.math.exp(a + pm.math.dot(x, b))
        z = (y / scale) ** shape
        pm.Potential("y", (np.asarray(seen) * (pm.math.log(shape) - pm.math.log(scale) + (shape - 1) * pm.math.log(y / scale)) - z).sum())
    return built


@model
def piecewise_hazard(rng):
    import pymc as pm

    x, times = rng.normal(size=150), None
    times = rng.exponential(2.0 * np.exp(-0.5 * x))
    edges = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    spent = np.clip(times[:, None] - edges, 0, np.append(np.diff(edges), 100.0))
    died = np.eye(5)[np.digitize(times, edges) - 1]
    with pm.Model() as built:
        hazard, b = pm.Gamma("hazard", 1, 1, shape=5), pm.Normal("b", 0, 1)
        rate = pm.math.exp(b * x)[:, None] * hazard[None, :]
        pm.Potential("y", (died * pm.math.log(rate) - spent * rate).sum())
    return built


@model
def change_point(rng):
    import pymc as pm

    t = np.arange(80)
    y = rng.poisson(np.where(t < 45, 6.0, 3.0))
    with pm.Model() as built:
        place, early, late = pm.Uniform("place", 0, 80), pm.Exponential("early", 0.2), pm.Exponential("late", 0.2)
        later = pm.math.sigmoid(2 * (t - place))
        pm.Poisson("y", early * (1 - later) + late * later, observed=y)
    return built


@model
def horseshoe_regression(rng):
    import pymc as pm

    x = inputs(rng, 80, 15)
    y = x[:, 0] * 2 - x[:, 1] + 0.5 * rng.normal(size=80)
    with pm.Model() as built:
        tau, sigma = pm.HalfCauchy("tau", 0.2), pm.HalfNormal("sigma", 1)
        local, raw = pm.HalfCauchy("local", 1, shape=15), pm.Normal("raw", 0, 1, shape=15)
        pm.Normal("y", pm.math.dot(x, pm.Deterministic("b", tau * local * raw)), sigma, observed=y)
    return built
