# %% [markdown]
# # Logistic regression, three times
#
# Four groups of five animals got a dose of a poison (Racine et al. 1986); 0, 1, 3 and 5 of them died:
#
#     w ~ N(0, 10^2) twice,   P(death at dose x) = 1 / (1 + exp(-w_0 - w_1 x))
#
# With twenty animals the posterior is skewed: no Gaussian is right, and weights correct what q cannot say.
# `python logistic_regression.py FOLDER` writes the pictures to a folder. Parts whose package is missing are left out.

# %%
import sys
from pathlib import Path

import mcsa
import numpy as np
from comparison import compare, picture, stan_program

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "pictures")
OUT.mkdir(parents=True, exist_ok=True)
DOSES, DEATHS, ANIMALS = np.array([-0.86, -0.30, -0.05, 0.73]), np.array([0, 1, 3, 5]), 5
X = np.column_stack([np.ones(20), np.repeat(DOSES, ANIMALS)])
Y = np.concatenate([np.arange(ANIMALS) < deaths for deaths in DEATHS]).astype(float)
SCALE = 10.0

# %% [markdown]
# ## Reference
#
# Two parameters: a grid gives moments without sampling. The dose at which half die, `-w_0 / w_1`, is of interest too.


# %%
def log_posterior(intercept, slope):
    total = -0.5 * (intercept**2 + slope**2) / SCALE**2
    for dose, deaths in zip(DOSES, DEATHS, strict=True):
        odds = intercept + slope * dose
        total = total + deaths * odds - ANIMALS * np.logaddexp(0.0, odds)
    return total


intercepts, slopes = np.linspace(-6.0, 9.0, 751)[:, None], np.linspace(-5.0, 45.0, 1251)[None, :]
grid = np.exp(log_posterior(intercepts, slopes) - log_posterior(intercepts, slopes).max())
cell = (intercepts[1, 0] - intercepts[0, 0]) * (slopes[0, 1] - slopes[0, 0])
LOG_EVIDENCE = np.log(grid.sum() * cell) + log_posterior(intercepts, slopes).max() - np.log(2 * np.pi * SCALE**2)
grid /= grid.sum()
REFERENCE = {}
for name, values in {"intercept": intercepts + 0 * slopes, "slope": slopes + 0 * intercepts}.items():
    mean = (grid * values).sum()
    REFERENCE[name] = mean, np.sqrt((grid * (values - mean) ** 2).sum())

# %% [markdown]
# ## NumPy


# %%
def log_density(z):
    odds = z @ X.T
    prior = -0.5 * (z**2).sum(axis=1) / SCALE**2 - np.log(2 * np.pi * SCALE**2)
    return (Y * odds - np.logaddexp(0.0, odds)).sum(axis=1) + prior


def gradient(z):
    return (Y - 0.5 * (1.0 + np.tanh(0.5 * z @ X.T))) @ X - z / SCALE**2


def weights(z):
    return {"intercept": z[:, 0], "slope": z[:, 1]}


results = {"NumPy": mcsa.fit(log_density, 2, gradient, transform=weights, seed=1)}

# %% [markdown]
# The library has the model, too. It brings the log likelihood of every animal, which `az.loo` needs.

# %%
results["library"] = mcsa.fit(mcsa.models.logistic_regression(X, Y, prior_scale=SCALE), transform=weights, seed=1)

# %% [markdown]
# ## PyMC

# %%
try:
    import pymc as pm

    with pm.Model() as model:
        intercept, slope = pm.Normal("intercept", 0.0, SCALE), pm.Normal("slope", 0.0, SCALE)
        pm.Bernoulli("y", logit_p=intercept + slope * X[:, 1], observed=Y)
    results["PyMC"] = mcsa.fit(**mcsa.from_pymc(model), seed=2)
except ImportError as error:
    print(f"without PyMC: {error}")

# %% [markdown]
# ## Stan

# %%
try:
    data = {"rows": 20, "features": 2, "x": X, "y": Y.astype(int), "prior_scale": SCALE}
    arguments = mcsa.from_stan(stan_program("logistic_regression", OUT), data)
    results["Stan"] = mcsa.fit(**{**arguments, "transform": weights}, seed=3)
except (ImportError, RuntimeError) as error:
    print(f"without Stan: {error}")

# %% [markdown]
# ## A method of the papers
#
# `mcsa.ascend` fits one family by one method. Here is a Gaussian by parallel chains; k-hat shows how much its weights have to correct.

# %%
gaussian = mcsa.ascend(log_density, 2, gradient, method="pmcsa", family="full-rank", scale=3.0, rate=0.02, steps=5_000, transform=weights)

# %% [markdown]
# ## Answers

# %%
report = compare(REFERENCE, results)
log, error = results["NumPy"].log_evidence
report["log evidence"] = log - LOG_EVIDENCE, error
print(f"log evidence {log:.3f} +- {error:.3f}, exact {LOG_EVIDENCE:.3f}")
print(f"a Gaussian by pMCSA: k-hat {gaussian.k_hat:.2f}, effective sample size {gaussian.sample_size:.0f} of 4000")

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
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
    points = results["NumPy"].resampled(1_500)
    left.plot(points[:, 0], points[:, 1], ".", color="#0072b2", markersize=2.5, alpha=0.5, label="draws, resampled")
    order = np.sort(grid.ravel())[::-1]
    levels = [order[np.searchsorted(np.cumsum(order), mass)] for mass in (0.95, 0.8, 0.5)]
    left.contour(intercepts[:, 0], slopes[0], grid.T, levels=levels, colors="black", linewidths=1.0)
    left.plot([], [], color="black", linewidth=1.0, label="exact: 50, 80, 95 % of the mass")
    left.set(xlabel="intercept", ylabel="slope", xlim=(-2.5, 5.5), ylim=(-1, 30))
    left.legend(frameon=False, loc="upper left")
    doses = np.linspace(-1.1, 1.1, 200)
    curves = 1.0 / (1.0 + np.exp(-points[:, :1] - points[:, 1:] * doses))
    low, middle, high = np.quantile(curves, [0.05, 0.5, 0.95], axis=0)
    right.fill_between(doses, low, high, color="#0072b2", alpha=0.2, linewidth=0, label="5 to 95 %")
    right.plot(doses, middle, color="#0072b2", label="median")
    right.plot(DOSES, DEATHS / ANIMALS, "s", color="0.3", markersize=5, label="data, five animals each")
    right.set(xlabel="log dose", ylabel="probability of death", ylim=(-0.03, 1.03))
    right.legend(frameon=False, loc="upper left")
    figure.savefig(OUT / "logistic_regression.png", dpi=130)
    plt.close(figure)

# %% [markdown]
# ## ArviZ

# %%
try:
    import arviz as az

    data = results["library"].to_arviz()
    print(az.summary(data, kind="stats"))
    print(az.loo(data))
    if plt is not None:
        plot = az.plot_dist if az.__version__ >= "1" else az.plot_posterior
        picture(lambda: plot(data), OUT / "logistic_regression_arviz.png")
except ImportError as error:
    print(f"without ArviZ: {error}")
