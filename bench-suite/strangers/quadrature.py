"""References by quadrature of BUGS examples. Most have a far tail that misleads long runs of chains: that of the prior gamma(0.001, 0.001) on a precision.

    python quadrature.py FOLDER/bugs_examples

Counts y_i have a log likelihood of ``eta_i + b_i``, with linear predictors ``eta = X beta`` and effects ``b_i ~ N(0, 1 / tau)``:

    p(tau, beta | y) ~ p(tau) p(beta) prod_i int p(y_i | eta_i + b) N(b; 0, 1 / tau) db

The integrals over b are by Gauss-Hermite quadrature about their modes, those over beta by weighted draws of a Student t about the mode at each
tau, and that over tau is a sum over a grid. Moments and quantiles of tau and sigma are those of the sum. Those of the others are of
independent draws, as many as in other references: of tau from the sum, of beta from the weighted ones at the nearest tau of the grid, of each b
from its density. Errors are those of such draws for tau and sigma, too: where these would not determine a standard deviation, a parameter is
judged by quantiles, as with other references.

``dyes`` has normal data in batches; there all but the two precisions is integrated in closed form. ``air`` has errors in an input: each input
is integrated over a grid of logits, and both coefficients are summed over theirs. Its slope has a far tail of both signs. ``dugongs`` is a curve
that may be a line, whose coefficients are then as large as their prior lets them. ``lsat`` has a thousand abilities and
six other parameters, ``cervix2`` seven parameters: these are drawn about the mode, with weights.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logsumexp

from references import HEADS, thinned
from stranger import FOLDER, LEVELS, Known, known

GRID, FINE, NODES, DRAWS, CHAINS, EACH = 240, 40_001, 41, 1_500, 16, 2_500
FREEDOM = 8
Likelihood = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def summed(x: np.ndarray, weights: np.ndarray) -> Known:
    """Moments and quantiles of a function on a grid, with the errors of draws of it."""
    order = np.argsort(x)
    reached = np.cumsum(weights[order]) - weights[order] / 2
    mean = float(weights @ x)
    drawn = known(np.random.default_rng(2).choice(x, (CHAINS, EACH), p=weights))
    quantiles = tuple(map(float, np.interp(LEVELS, reached, x[order])))
    return Known(mean, float(np.sqrt(weights @ (x - mean) ** 2)), quantiles, drawn.mean_error, drawn.sd_error)


def effects(likelihood: Likelihood, eta: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Modes of the effects given the predictors, and the standard deviations of their curvatures, by Newton's method."""
    b = np.zeros_like(eta)
    for _ in range(40):
        _, slope, curvature = likelihood(eta + b)
        b = b + np.clip((slope - b / sigma**2) / (curvature + sigma**-2), -1, 1)
    return b, (likelihood(eta + b)[2] + sigma**-2) ** -0.5


def marginal(likelihood: Likelihood, eta: np.ndarray, sigma: float, copies: int) -> np.ndarray:
    """Log likelihood of predictors ``(points, data)`` without the effects."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    mode, scale = effects(likelihood, eta, sigma)
    b = mode[..., None] + scale[..., None] * nodes
    log_p = np.moveaxis(likelihood(np.moveaxis(eta[..., None] + b, -1, 0))[0], 0, -1) - 0.5 * (b / sigma) ** 2
    terms = log_p + 0.5 * nodes**2 + np.log(weights) - 0.5 * np.log(2 * np.pi)
    return copies * (logsumexp(terms, axis=-1) + np.log(scale / sigma)).sum(axis=-1)


def draw_effects(likelihood: Likelihood, eta: np.ndarray, sigma: np.ndarray, copies: int, rng: np.random.Generator) -> np.ndarray:
    """Effects ``(points, data, copies)`` from their densities on a grid of twelve standard deviations."""
    found = np.empty((*eta.shape, copies))
    steps = np.linspace(-6, 6, 241)
    for k, (predictor, s) in enumerate(zip(eta, sigma)):
        mode, scale = effects(likelihood, predictor[None], s)
        b = mode[0][:, None] + scale[0][:, None] * steps
        log_p = likelihood((predictor[:, None] + b).T)[0].T - 0.5 * (b / s) ** 2
        reached = np.cumsum(np.exp(log_p - log_p.max(axis=1, keepdims=True)), axis=1)
        reached /= reached[:, -1:]
        for i in range(len(predictor)):
            found[k, i] = np.interp(rng.random(copies), reached[i], b[i])
    return found


def spread_at(log_p: Callable[[np.ndarray], np.ndarray], mode: np.ndarray) -> np.ndarray:
    """Cholesky factor of the covariance of the curvature at a mode, by differences, a little wider."""
    step = 1e-3 * np.eye(len(mode))
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    at = {(a, c): np.array([log_p(mode + a * s + c * step) for s in step]) for a, c in signs}
    return np.linalg.cholesky(1.2 * np.linalg.inv(-sum(a * c * at[a, c] for a, c in signs) / 4e-6))


def gamma_prior(log_tau: np.ndarray) -> np.ndarray:
    """Log density of ``log tau`` where ``tau ~ Gamma(0.001, 0.001)``."""
    return 0.001 * log_tau - 0.001 * np.exp(log_tau)


def drawn_about_mode(log_p: Callable[[np.ndarray], np.ndarray], dim: int, freedom: int = FREEDOM) -> np.ndarray:
    """Draws of a density that is nearly normal, from weighted ones of a Student t about its mode."""
    rng = np.random.default_rng(1)
    mode = minimize(lambda z: -log_p(z[None])[0], np.zeros(dim), method="BFGS").x
    white = rng.normal(size=(CHAINS * EACH, dim)) / np.sqrt(rng.chisquare(freedom, (CHAINS * EACH, 1)) / freedom)
    z = mode + white @ spread_at(log_p, mode).T
    log_w = np.concatenate([log_p(part) for part in np.array_split(z, 100)])
    share = np.exp(log_w + (freedom + dim) / 2 * np.log1p((white**2).sum(axis=1) / freedom) - log_w.max())
    share /= share.sum()
    assert 1 / (share**2).sum() > len(z) / 4, "the weights are uneven"
    return z[rng.choice(len(z), len(z), p=share)]


def with_effects(
    x: np.ndarray,
    likelihood: Likelihood,
    spread: np.ndarray,
    names: list[str],
    label: Callable[[int, int], str],
    copies: int = 1,
    prior: Callable[[np.ndarray], np.ndarray] = gamma_prior,
    largest: float = 3e4,
) -> dict[str, Known]:
    """References of a regression with effects; ``spread`` has the prior standard deviations of the coefficients, ``prior`` is that of log tau, up to ``largest``."""
    rng = np.random.default_rng(1)
    log_tau = np.linspace(np.log(0.2), np.log(largest), GRID)
    dim = x.shape[1]
    log_z, betas = [], []
    start = np.zeros(dim)
    for sigma in np.exp(-log_tau / 2):

        def log_p(beta: np.ndarray, sigma: float = sigma) -> np.ndarray:
            return marginal(likelihood, beta @ x.T, sigma, copies) - 0.5 * ((beta / spread) ** 2).sum(axis=-1)

        start = minimize(lambda beta: -log_p(beta[None])[0], start, method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-7, "maxiter": 4000}).x
        root = spread_at(log_p, start)
        white = rng.normal(size=(DRAWS // 2, dim))
        white = np.concatenate([white, -white]) / np.sqrt(rng.chisquare(FREEDOM, (DRAWS, 1)) / FREEDOM)
        beta = start + white @ root.T
        constant = gammaln((FREEDOM + dim) / 2) - gammaln(FREEDOM / 2) - dim / 2 * np.log(np.pi * FREEDOM) - np.log(np.diag(root)).sum()
        log_q = constant - (FREEDOM + dim) / 2 * np.log1p((white**2).sum(axis=1) / FREEDOM)
        weights = log_p(beta) - log_q
        log_z.append(logsumexp(weights) - np.log(DRAWS))
        share = np.exp(weights - logsumexp(weights))
        assert 1 / (share**2).sum() > DRAWS / 4, "the weights of the coefficients are uneven"
        betas.append(beta[rng.choice(DRAWS, CHAINS * EACH // 40, p=share)])
    fine = np.linspace(log_tau[0], log_tau[-1], FINE)
    tau = np.exp(fine)
    log_p_tau = CubicSpline(log_tau, log_z)(fine) + prior(fine)
    share = np.exp(log_p_tau - logsumexp(log_p_tau))
    assert max(share[0], share[-1]) < 1e-3 * share.max(), "the grid ends where there is mass"
    found = {"tau": summed(tau, share), "sigma": summed(tau**-0.5, share)}
    at_tau = rng.choice(fine, CHAINS * EACH, p=share)
    near = np.clip(np.rint((at_tau - log_tau[0]) / (log_tau[1] - log_tau[0])).astype(int), 0, GRID - 1)
    beta = np.array([betas[k][rng.integers(len(betas[k]))] for k in near])
    b = draw_effects(likelihood, beta @ x.T, np.exp(-at_tau / 2), copies, rng)
    columns = dict(zip(names, beta.T)) | {label(i, c): b[:, i, c] for i in range(b.shape[1]) for c in range(copies)}
    return found | {name: known(values.reshape(CHAINS, EACH)) for name, values in columns.items()}


def binomial(n: np.ndarray, trials: np.ndarray) -> Likelihood:
    def likelihood(e: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p = expit(e)
        return n * e - trials * np.logaddexp(0, e), n - trials * p, trials * p * (1 - p)

    return likelihood


def poisson(y: np.ndarray) -> Likelihood:
    def likelihood(e: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rate = np.exp(e)
        return y * e - rate, y - rate, rate

    return likelihood


def seeds(data: dict, copies: int) -> dict[str, Known]:
    n, trials, x1, x2 = (np.array(data[key], dtype=float) for key in ("n", "N", "x1", "x2"))
    x = np.stack([np.ones(len(n)), x1, x2, x1 * x2], axis=1)
    names = ["alpha0", "alpha1", "alpha2", "alpha12"]

    def label(i: int, c: int) -> str:
        return f"b[{i + 1}]" if copies == 1 else f"b[{i + 1},{c + 1}]"

    return with_effects(x, binomial(n, trials), np.full(4, 1e3), names, label, copies)


def salm(data: dict, is_centred: bool) -> dict[str, Known]:
    """Coefficients of centred inputs, the second divided by 1,000; that of the program is put back."""
    y, dose = np.array(data["y"], dtype=float), np.array(data["x"], dtype=float)
    inputs = np.stack([np.log(dose + 10), dose], axis=1)
    centre, scale = inputs.mean(axis=0), np.array([1.0, 1_000.0])
    x = np.concatenate([np.ones((len(dose), 1)), (inputs - centre) / scale], axis=1).repeat(y.shape[1], axis=0)
    # The prior of the uncentred program is on the constant without centres. It is N(0, 100^2), where the posterior has a width below 1: it hardly
    # differs over that width.
    spread = np.array([1e3, 1e3, 1e6] if is_centred else [1e2, 1e2, 1e8])
    plates = y.shape[1]
    found = with_effects(x, poisson(y.ravel()), spread, ["alpha_star", "beta", "gamma"], lambda i, _: f"lambda[{i // plates + 1},{i % plates + 1}]")
    gamma = found.pop("gamma")
    by = 1 / scale[1]
    found["gamma"] = Known(by * gamma.mean, by * gamma.sd, tuple(by * q for q in gamma.quantiles), gamma.mean_error, gamma.sd_error)
    if not is_centred:
        found.pop("alpha_star")
    return found


def years(data: dict) -> dict[str, Known]:
    """Counts of years on a cubic, ``sigma ~ U(0, 5)``; the bounds of the coefficients are far from their mass."""
    year = np.array(data["year"])
    x = np.stack([year**k for k in range(4)], axis=1)
    names, spread = ["alpha", "beta1", "beta2", "beta3"], np.full(4, np.inf)
    counts = poisson(np.array(data["C"], dtype=float))
    found = with_effects(x, counts, spread, names, lambda i, _: f"eps[{i + 1}]", prior=lambda log_tau: -0.5 * log_tau, largest=1e9)
    found.pop("tau")
    return found


def dyes(data: dict) -> dict[str, Known]:
    y = np.array(data["y"], dtype=float)
    batches, samples = y.shape
    means = y.mean(axis=1)
    within = ((y - means[:, None]) ** 2).sum()
    between = ((means - means.mean()) ** 2).sum()
    log_b, log_w = np.linspace(-16, 9, 5_001)[:, None], np.linspace(-11, -5, 801)[None]
    tau_b, tau_w = np.exp(log_b), np.exp(log_w)
    v = 1 / tau_b + 1 / (samples * tau_w)
    log_p = 0.001 * (log_b + log_w) - 0.001 * (tau_b + tau_w) - (batches - 1) / 2 * np.log(v) - between / (2 * v)
    log_p = log_p + batches * (samples - 1) / 2 * log_w - tau_w * within / 2
    p = np.exp(log_p - logsumexp(log_p))
    of_b, of_w = p.sum(axis=1), p.sum(axis=0)
    tau_b, tau_w = tau_b.ravel(), tau_w.ravel()
    found = {"tau_between": summed(tau_b, of_b), "tau_within": summed(tau_w, of_w)}
    return found | {"sigma_between": summed(tau_b**-0.5, of_b), "sigma_within": summed(tau_w**-0.5, of_w)}


def air(data: dict) -> dict[str, Known]:
    """Sum over the slope ``b``, evenly in asinh(100 b), and the constant ``a``. A logit a + b x is normal before the data."""
    y, z, n = (np.array(data[key], dtype=float) for key in ("y", "Z", "n"))
    means, sd = data["alpha"] + data["beta"] * z, data["sigma2"] ** 0.5
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    logits = np.linspace(-14, 14, 2_801)
    place = np.linspace(-8.5, 8.5, 1_701)
    b, a = 0.01 * np.sinh(place), np.concatenate([np.linspace(-200, -6, 1_941), np.linspace(-6, 6, 601)[1:], np.linspace(6, 200, 1_941)[1:]])
    log_p = np.log(np.cosh(place))[:, None] + np.log(np.gradient(a)) - 0.5 * ((a / 32) ** 2 + (b[:, None] / 32) ** 2)
    for y_j, n_j, mean in zip(y, n, means):
        likelihood = np.exp(binomial(y_j, n_j)(logits)[0])
        for k, slope in enumerate(b):
            at, scale = a + slope * mean, abs(slope) * sd
            if scale < 0.6:
                integral = np.exp(binomial(y_j, n_j)(at[:, None] + scale * nodes)[0]) @ weights
            else:
                inside = np.exp(-0.5 * ((logits - at[:, None]) / scale) ** 2) / (scale * np.sqrt(2 * np.pi))
                integral = inside @ likelihood * (logits[1] - logits[0])
            log_p[k] += np.log(integral + 1e-300)
    p = np.exp(log_p - logsumexp(log_p))
    assert max(p[0].sum(), p[-1].sum(), p[:, 0].sum(), p[:, -1].sum()) < 1e-4, "the grid ends where there is mass"
    found = {"theta1": summed(a, p.sum(axis=0)), "theta2": summed(b, p.sum(axis=1))}
    rng = np.random.default_rng(1)
    rows, columns = np.divmod(rng.choice(p.size, CHAINS * EACH, p=p.ravel()), p.shape[1])
    for j, (y_j, n_j, mean) in enumerate(zip(y, n, means)):
        x = np.linspace(mean - 6 * sd, mean + 6 * sd, 4_001)
        drawn = np.empty(len(rows))
        for i, (slope, constant) in enumerate(zip(b[rows], a[columns])):
            log_x = binomial(y_j, n_j)(constant + slope * x)[0] - 0.5 * ((x - mean) / sd) ** 2
            reached = np.cumsum(np.exp(log_x - log_x.max()))
            drawn[i] = np.interp(rng.random() * reached[-1], reached, x)
        found[f"X[{j + 1}]"] = known(drawn.reshape(CHAINS, EACH))
    return found


def dugongs(data: dict) -> dict[str, Known]:
    """A growth curve ``alpha - beta lambda^x``, a line where lambda is near 1: sums over lambda and the precision, both coefficients integrated out."""
    x, y, rng = np.array(data["x"]), np.array(data["Y"]), np.random.default_rng(1)
    logit, log_tau = np.linspace(-12, 20, 1_281), np.linspace(1, 7, 400)
    z, tau = (part.ravel() for part in np.meshgrid(logit, np.exp(log_tau), indexing="ij"))
    lambdas, below = 0.5 + 0.5 * expit(z), 0.5 * expit(-z)
    curves = np.exp(np.log1p(-0.5 * expit(-logit))[:, None] * x)
    # Sums of squares and products of the columns 1 and -lambda^x, and with the responses.
    moments = np.array([len(y) * np.ones(len(logit)), -curves.sum(axis=1), (curves**2).sum(axis=1)])
    with_y = np.array([np.full(len(logit), y.sum()), -curves @ y])
    aa, ab, bb = (tau * np.repeat(part, len(log_tau)) for part in moments)
    aa, bb = aa + 1e-6, bb + 1e-6
    ay, by = (tau * np.repeat(part, len(log_tau)) for part in with_y)
    det = aa * bb - ab**2
    alpha, beta = (bb * ay - ab * by) / det, (aa * by - ab * ay) / det
    log_p = 0.5 * len(y) * np.log(tau) - 0.5 * tau * (y @ y) + 0.5 * (ay * alpha + by * beta) - 0.5 * np.log(det)
    log_p += 1e-4 * np.log(tau) - 1e-4 * tau + np.log(0.5) - np.logaddexp(0, -z) - np.logaddexp(0, z)
    weights = np.exp(log_p - logsumexp(log_p))
    found = {"lambda": summed(lambdas, weights), "tau": summed(tau, weights), "sigma": summed(tau**-0.5, weights)}
    found["U3"] = summed(np.log(lambdas / below), weights)
    rows = rng.choice(len(weights), CHAINS * EACH, p=weights)
    for name, mean, variance in (("alpha", alpha, bb / det), ("beta", beta, aa / det)):
        centre = weights @ mean
        off = mean - centre
        square = weights @ (variance + off**2)
        fourth = weights @ (3 * variance**2 + 6 * variance * off**2 + off**4)
        drawn = known((mean + np.sqrt(variance) * rng.normal(size=len(mean)))[rows].reshape(CHAINS, EACH))
        sd_error = np.sqrt((fourth / square**2 - 1) / (4 * len(rows)))
        found[name] = Known(float(centre), float(np.sqrt(square)), drawn.quantiles, len(rows) ** -0.5, float(sd_error))
    return found


def lsat(data: dict) -> dict[str, Known]:
    """Answers of students to items: abilities are integrated out for each pattern of answers, the six others are weighted draws about the mode."""
    answers, counts = np.array(data["response"], dtype=float), np.diff(data["culm"], prepend=0)
    rng, items = np.random.default_rng(1), answers.shape[1]
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()

    def log_answers(alpha: np.ndarray, beta: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """``(points, patterns, nodes)``."""
        eta = beta[:, None, None] * theta - alpha[:, :, None]
        return np.einsum("rk,pkn->prn", answers, eta) - np.logaddexp(0, eta).sum(axis=1)[:, None]

    def log_p(z: np.ndarray) -> np.ndarray:
        alpha, beta = z[:, :items], np.exp(z[:, items])
        prior = z[:, items] - 0.5e-4 * ((alpha**2).sum(axis=1) + beta**2)
        return prior + logsumexp(log_answers(alpha, beta, nodes), axis=2, b=weights) @ counts

    z = drawn_about_mode(log_p, items + 1)
    alpha, beta = z[:, :items], np.exp(z[:, items])
    grid = np.linspace(-6, 6, 401)
    theta = np.empty((len(z), len(answers)))
    for some in np.array_split(np.arange(len(z)), 400):
        log_theta = log_answers(alpha[some], beta[some], grid) - 0.5 * grid**2
        reached = np.cumsum(np.exp(log_theta - log_theta.max(axis=2, keepdims=True)), axis=2)
        theta[some] = grid[(reached < rng.random((len(some), len(answers), 1)) * reached[..., -1:]).sum(axis=2)]
    theta += rng.uniform(-0.5, 0.5, theta.shape) * (grid[1] - grid[0])
    by_pattern = [known(column.reshape(CHAINS, EACH)) for column in theta.T]
    columns = {f"alpha[{k + 1}]": alpha[:, k] for k in range(items)} | {"beta": beta}
    found = {name: known(values.reshape(CHAINS, EACH)) for name, values in columns.items()}
    return found | {f"theta[{i + 1}]": by_pattern[r] for i, r in enumerate(np.arange(len(counts)).repeat(counts))}


def cervix(data: dict) -> dict[str, Known]:
    """Cases and controls with an input that is measured with errors: the data are counts, the parameters weighted draws about the mode."""
    complete, n_complete = np.unique(np.stack([data["xc"], data["dc"], data["wc"]]), axis=1, return_counts=True)
    di, n_di = np.unique(data["di"], return_counts=True)
    pairs, n_pairs = np.unique(np.stack([data["di"], data["wi"]]), axis=1, return_counts=True)

    def bernoulli(value: int, p: np.ndarray) -> np.ndarray:
        return np.log(p if value else 1 - p)

    def log_p(z: np.ndarray) -> np.ndarray:
        inside, constant, slope = expit(z[:, :5]), z[:, 5], z[:, 6]
        phi, q, risk = inside[:, :4].reshape(-1, 2, 2), inside[:, 4], [expit(constant), expit(constant + slope)]
        total = np.log(inside * (1 - inside)).sum(axis=1) - 0.5 * (constant**2 + slope**2) / 320**2
        for (x, d, w), count in zip(complete.T, n_complete):
            total = total + count * (bernoulli(x, q) + bernoulli(d, risk[x]) + bernoulli(w, phi[:, x, d]))
        for d, count in zip(di, n_di):
            total = total + count * bernoulli(d, risk[1] * q + risk[0] * (1 - q))
        for (d, w), count in zip(pairs.T, n_pairs):
            total = total + count * bernoulli(w, phi[:, 0, d] * (1 - q) + phi[:, 1, d] * q)
        return total

    z = drawn_about_mode(log_p, 7, freedom=3)
    names = ["phi[1,1]", "phi[1,2]", "phi[2,1]", "phi[2,2]", "q", "beta0C", "beta"]
    return {name: known(column.reshape(CHAINS, EACH)) for name, column in zip(names, [*expit(z[:, :5]).T, *z[:, 5:].T])}


MODELS: dict[str, tuple[str, Callable[[dict], dict[str, Known]]]] = {
    "seeds-seeds": ("vol1/seeds/seeds", lambda data: seeds(data, 1)),
    "seeds_data-seeds_model": ("vol1/seeds/seeds", lambda data: seeds(data, 1)),  # the same, in posteriordb
    "data_cloning-seeds": ("vol3/data_cloning/seeds", lambda data: seeds(data, 8)),
    "salm-salm": ("vol1/salm/salm", lambda data: salm(data, True)),
    "salm-salm2": ("vol1/salm/salm", lambda data: salm(data, False)),
    "dyes-dyes": ("vol1/dyes/dyes", dyes),
    "air-air": ("vol2/air/air", air),
    "dugongs-dugongs": ("vol2/dugongs/dugongs", dugongs),
    "cervix-cervix2": ("vol2/cervix/cervix2", cervix),
    "lsat-lsat": ("vol1/lsat/lsat", lsat),
    "lsat_data-lsat_model": ("vol1/lsat/lsat", lsat),  # the same, in posteriordb
    "dugongs_data-dugongs_model": ("vol2/dugongs/dugongs", dugongs),  # the same, in posteriordb
}


def store(name: str, found: dict[str, Known]) -> None:
    """Replaces the reference of a posterior in ``references.csv``."""
    path = FOLDER / "references.csv"
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row[0] != name]
    numbers = lambda k: [*(f"{x:.6g}" for x in (k.mean, k.sd, *k.quantiles)), f"{k.mean_error:.2g}", f"{k.sd_error:.2g}"]  # noqa: E731
    rows += [[name, parameter, *numbers(found[parameter])] for parameter in thinned(list(found))]
    assert rows[0] == HEADS
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    print(f"{name}: {len(found)} parameters", file=sys.stderr, flush=True)


def main() -> None:
    folder, only = Path(sys.argv[1]), sys.argv[2:]
    for name, (place, reference) in MODELS.items():
        if not only or name in only:
            store(name, reference(json.loads((folder / f"{place}.data.json").read_text())))


if __name__ == "__main__":
    main()
