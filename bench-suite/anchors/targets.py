"""Log densities of the cases in jax.numpy, with all additive constants, so that log Z agrees with the program's."""

import json
import os
from pathlib import Path

# One core per run, as the program's methods.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.scipy.special import gammaln, log_ndtr, logsumexp  # noqa: E402

LOG_TAU = float(np.log(2 * np.pi))


def normal(x, mean=0.0, scale=1.0):
    return -0.5 * ((x - mean) / scale) ** 2 - jnp.log(scale) - 0.5 * LOG_TAU


def schools(_, data):
    effects, errors = data["effects"], data["errors"]

    def log_density(z):
        mu, log_tau, eta = z[0], z[1], z[2:]
        tau = jnp.exp(log_tau)
        half_cauchy = jnp.log(2 / (jnp.pi * 5.0)) - jnp.logaddexp(0.0, 2 * (log_tau - np.log(5.0))) + log_tau
        likelihood = normal(effects, mu + tau * eta, errors).sum()
        return normal(mu, 0.0, 5.0) + half_cauchy + normal(eta).sum() + likelihood

    return log_density


def logistic_rows(_, data):
    x, sign = data["x"], 2 * data["y"] - 1

    def log_density(z):
        return normal(z).sum() - jnp.logaddexp(0.0, -sign * (x @ z)).sum()

    return log_density


def probit_rows(_, data):
    x, sign = data["x"], 2 * data["y"] - 1

    def log_density(z):
        return normal(z).sum() + log_ndtr(sign * (x @ z)).sum()

    return log_density


def hierarchical_rows(_, data):
    x, sign = data["x"], 2 * data["y"] - 1

    def half_normal(u):
        return 0.5 * jnp.log(2 / jnp.pi) + u - 0.5 * jnp.exp(2 * u)

    def log_density(z):
        beta, alpha = z[2:-1], z[-1]
        prior = normal(beta, 0.0, jnp.exp(z[0])).sum() + normal(alpha, 0.0, jnp.exp(z[1]))
        likelihood = -jnp.logaddexp(0.0, -sign * (x @ beta + alpha)).sum()
        return half_normal(z[0]) + half_normal(z[1]) + prior + likelihood

    return log_density


def linear_rows(_, data):
    x, y = data["x"], data["y"]

    def log_density(z):
        return normal(z).sum() + normal(y, x @ z, 0.5).sum()

    return log_density


def wishart(_, data):
    mean, lower = data["mean"], np.linalg.cholesky(data["covariance"])
    whiten = np.linalg.inv(lower)
    constant = -np.log(np.diag(lower)).sum() - 0.5 * len(mean) * LOG_TAU

    def log_density(z):
        white = whiten @ (z - mean)
        return constant - 0.5 * white @ white

    return log_density


def student(case, _):
    dim, nu = case["dim"], case["freedom"]
    constant = gammaln(0.5 * (nu + dim)) - gammaln(0.5 * nu) - 0.5 * dim * np.log(nu * np.pi)

    def log_density(z):
        return constant - 0.5 * (nu + dim) * jnp.log1p(z @ z / nu)

    return log_density


def bananas(case, _):
    bend = case["bend"]

    def log_density(z):
        along, across = z[0::2], z[1::2]
        return (normal(along, 0.0, 2.0) + normal(across, bend * (along**2 - 4.0))).sum()

    return log_density


def neal_funnel(case, _):
    scale = case["scale"]

    def log_density(z):
        return normal(z[0], 0.0, scale) + normal(z[1:], 0.0, jnp.exp(0.5 * z[0])).sum()

    return log_density


def forty_gaussians(_, data):
    means, scales = data["means"], np.sqrt(data["variances"])[:, None]

    def log_density(z):
        return logsumexp(normal(z, means, scales).sum(axis=1)) - np.log(len(means))

    return log_density


KINDS = {
    "schools": schools,
    "logistic-rows": logistic_rows,
    "synthetic-rows": logistic_rows,
    "probit-rows": probit_rows,
    "hierarchical-rows": hierarchical_rows,
    "linear-rows": linear_rows,
    "wishart": wishart,
    "student": student,
    "bananas": bananas,
    "neal-funnel": neal_funnel,
    "forty-gaussians": forty_gaussians,
}


class Target:
    """A case: its log density, and what is known of it."""

    def __init__(self, path):
        known = json.loads(Path(path).read_text())
        data = {name: np.asarray(values, dtype=float) for name, values in known["data"].items()}
        self.title = known["title"]
        self.dim = known["dim"]
        self.points = np.asarray(known["points"])
        self.log_densities = np.asarray(known["log_densities"])
        self.gradients = np.asarray(known["gradients"])
        self.means = np.asarray(known["means"])
        self.sds = np.asarray(known["sds"])
        self.levels = np.asarray(known["levels"])
        self.quantiles = np.asarray(known["quantiles"])
        self.log_normaliser = known["log_normaliser"]
        self.log_density = KINDS[known["case"]["kind"]](known["case"], data)

    def disagreement(self):
        """Largest relative difference of log density and of gradient from the program's, over its points."""
        values = np.asarray(jax.vmap(self.log_density)(self.points))
        slopes = np.asarray(jax.vmap(jax.grad(self.log_density))(self.points))
        scale = np.maximum(1.0, np.abs(self.log_densities))
        slope_scale = np.maximum(1.0, np.abs(self.gradients).max(axis=1, keepdims=True))
        of_values = (np.abs(values - self.log_densities) / scale).max()
        return float(of_values), float((np.abs(slopes - self.gradients) / slope_scale).max())
