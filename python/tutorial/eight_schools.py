# %% [markdown]
# # Eight schools, three times
#
# Eight schools coached their pupils for a test (Rubin 1981). Each estimated its effect `y_j` with a standard error `s_j`:
#
#     mu ~ N(0, 5),   tau ~ half-Cauchy(5),   theta_j ~ N(mu, tau),   y_j ~ N(theta_j, s_j)
#
# The same posterior is written in NumPy, in PyMC and in Stan. The exact answer comes from quadrature, because the effects can be
# integrated out by hand. `python eight_schools.py FOLDER` writes the pictures to a folder. Parts whose package is missing are left out.

# %%
import sys
from pathlib import Path

import mcsa
import numpy as np
from comparison import compare, picture, stan_program

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "pictures")
OUT.mkdir(parents=True, exist_ok=True)
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = list("ABCDEFGH")
LABELS = {"dims": {"theta": ["school"], "y": ["school"]}, "coords": {"school": SCHOOLS}}

# %% [markdown]
# ## Reference
#
# At a given `(mu, tau)` the data are independent, `y_j ~ N(mu, s_j^2 + tau^2)`. A grid over both gives moments without sampling.

# %%
mu_grid = np.linspace(-25.0, 35.0, 601)[:, None]
log_tau_grid = np.linspace(-9.0, 5.5, 1451)[None, :]
tau_grid = np.exp(log_tau_grid)
log_posterior = -0.5 * (mu_grid / 5.0) ** 2 - np.log1p((tau_grid / 5.0) ** 2) + log_tau_grid
for effect, error in zip(EFFECTS, ERRORS, strict=True):
    variance = error**2 + tau_grid**2
    log_posterior = log_posterior - 0.5 * (effect - mu_grid) ** 2 / variance - 0.5 * np.log(variance)
grid = np.exp(log_posterior - log_posterior.max())
grid /= grid.sum()


def exact(f):
    """Posterior mean and standard deviation of a function of mu and tau."""
    mean = (grid * f).sum()
    return mean, np.sqrt((grid * (f - mean) ** 2).sum())


# Given mu and tau, theta_j is normal: mean and variance by Bayes' rule.
REFERENCE = {"mu": exact(mu_grid + 0 * tau_grid), "tau": exact(tau_grid + 0 * mu_grid)}
for name, effect, error in zip(SCHOOLS, EFFECTS, ERRORS, strict=True):
    precision = error**-2 + tau_grid**-2
    inner = (effect / error**2 + mu_grid / tau_grid**2) / precision
    mean = (grid * inner).sum()
    REFERENCE[name] = (mean, np.sqrt((grid * (inner**2 + 1.0 / precision)).sum() - mean**2))

# %% [markdown]
# ## NumPy
#
# `mcsa.fit` takes a function of a batch: an array with a point per row. The effects are standardised, `theta_j = mu + tau eta_j`, and
# `tau` is positive, so its logarithm is the parameter; the last term is the log-Jacobian.


# %%
def parts(z):
    mu, log_tau, eta = z[:, :1], z[:, 1:2], z[:, 2:]
    return mu, np.exp(log_tau), log_tau, eta


def log_density(z):
    mu, tau, log_tau, eta = parts(z)
    likelihood = -0.5 * ((EFFECTS - mu - tau * eta) / ERRORS) ** 2
    prior = -0.5 * (mu / 5.0) ** 2 - np.log1p((tau / 5.0) ** 2) + log_tau
    return (likelihood - 0.5 * eta**2).sum(axis=1) + prior[:, 0]


def gradient(z):
    mu, tau, _, eta = parts(z)
    slope = (EFFECTS - mu - tau * eta) / ERRORS**2
    by_mu = slope.sum(axis=1, keepdims=True) - mu / 25.0
    by_log_tau = (slope * eta).sum(axis=1, keepdims=True) * tau + 1.0 - 2.0 * tau**2 / (25.0 + tau**2)
    return np.hstack([by_mu, by_log_tau, slope * tau - eta])


def log_likelihood(z):
    mu, tau, _, eta = parts(z)
    return -0.5 * ((EFFECTS - mu - tau * eta) / ERRORS) ** 2 - np.log(ERRORS) - 0.5 * np.log(2 * np.pi)


def transform(z):
    mu, tau, _, eta = parts(z)
    return {"mu": mu[:, 0], "tau": tau[:, 0], "theta": mu + tau * eta}


results = {
    "NumPy": mcsa.fit(
        log_density,
        10,
        gradient,
        transform=transform,
        **LABELS,
        log_likelihood=log_likelihood,
        observed={"y": EFFECTS},
        seed=1,
    )
}

# %% [markdown]
# The verdict comes first: most of its checks do not use q, and look for what q misses.

# %%
print(results["NumPy"].verdict)

# %% [markdown]
# ## PyMC
#
# The model in PyMC's words; its compiled log density is called in batches. With one seed all three would draw the same numbers.

# %%
try:
    import pymc as pm

    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfCauchy("tau", 5.0)
        eta = pm.Normal("eta", 0.0, 1.0, dims="school")
        theta = pm.Deterministic("theta", mu + tau * eta, dims="school")
        pm.Normal("y", theta, ERRORS, observed=EFFECTS, dims="school")
    results["PyMC"] = mcsa.fit(**mcsa.from_pymc(model), seed=2)
except ImportError as error:
    print(f"without PyMC: {error}")

# %% [markdown]
# ## Stan
#
# `stan/programs/eight_schools.stan`, compiled with the package httpstan and a C++ compiler; `MCSA_STAN` names a folder of libraries that
# are compiled already.

# %%
try:
    data = {"schools": 8, "effects": EFFECTS, "errors": ERRORS}
    results["Stan"] = mcsa.fit(**mcsa.from_stan(stan_program("eight_schools", OUT), data), **LABELS, seed=3)
except (ImportError, RuntimeError) as error:
    print(f"without Stan: {error}")

# %% [markdown]
# ## Answers
#
# Mean and standard deviation of each, beside the exact ones. The errors are in standard deviations of the posterior.

# %%
names = {school: f"theta[{school}]" for school in SCHOOLS}
report = compare(REFERENCE, results, names)

# %% [markdown]
# ## Pictures

# %%
try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
    print("without pictures: matplotlib is not installed")

if plt is not None:
    colours = dict(zip(("NumPy", "PyMC", "Stan"), ("#0072b2", "#d55e00", "#009e73"), strict=True))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained", width_ratios=[1, 1.4])
    edges = np.linspace(0.0, 15.0, 31)
    for source, result in results.items():
        tau = result.parameters()["tau"]
        left.hist(tau, edges, weights=result.weights / (edges[1] - edges[0]), histtype="step", color=colours[source], label=source)
    density = grid.sum(axis=0) / (log_tau_grid[0, 1] - log_tau_grid[0, 0]) / tau_grid[0]
    left.plot(tau_grid[0], density, color="black", linewidth=1.0, label="exact")
    left.set(xlim=(0, 15), xlabel="scale of the effects, tau (points)", ylabel="posterior density", ylim=(0, None))
    left.legend(frameon=False)
    for j, school in enumerate(SCHOOLS):
        right.errorbar(j - 0.3, EFFECTS[j], ERRORS[j], fmt="s", color="0.6", markersize=4, label="data" if j == 0 else None)
        mean, sd = REFERENCE[school]
        right.errorbar(j - 0.15, mean, sd, fmt="D", color="black", markersize=4, label="exact" if j == 0 else None)
        for k, (source, result) in enumerate(results.items()):
            row = result.summary()[f"theta[{school}]"]
            place = j + 0.13 * k
            right.errorbar(place, row["mean"], row["sd"], fmt="o", color=colours[source], markersize=4, label=source if j == 0 else None)
    right.axhline(REFERENCE["mu"][0], color="0.8", zorder=0)
    right.set(xticks=range(8), xticklabels=SCHOOLS, xlabel="school", ylabel="effect (points), mean ± 1 sd")
    right.legend(frameon=False, ncols=2, loc="upper right")
    figure.savefig(OUT / "eight_schools.png", dpi=130)
    plt.close(figure)

# %% [markdown]
# ## ArviZ
#
# The result has the groups that ArviZ uses. `loo` warns: each school is an influential observation of this model.

# %%
try:
    import arviz as az

    data = results["NumPy"].to_arviz()
    print(az.summary(data, var_names=["mu", "tau"], kind="stats"))
    print(az.loo(data))
    if plt is not None:
        picture(lambda: az.plot_forest(data, var_names=["theta"], combined=True), OUT / "eight_schools_forest.png")
except ImportError as error:
    print(f"without ArviZ: {error}")
