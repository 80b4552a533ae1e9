# %%
import jax.numpy as jnp
import mcsa
import numpy as np
from jax.scipy.stats import norm, poisson

rng = np.random.default_rng(1)
group, x = np.repeat(np.arange(12), 20), rng.normal(size=240)
y = rng.poisson(np.exp(0.5 + 0.4 * rng.normal(size=12)[group] + 0.3 * x))


def log_density(p):  # counts of 12 groups, with the slope of a covariate
    log_rate = p["alpha"][group] + p["beta"] * x
    prior = norm.logpdf(p["mu"], 0, 2) + norm.logpdf(p["beta"]) + norm.logpdf(p["tau"]) + norm.logpdf(p["alpha"], p["mu"], p["tau"]).sum()
    return prior + poisson.logpmf(y, jnp.exp(log_rate)).sum()


parameters = {"mu": mcsa.real(), "tau": mcsa.positive(), "beta": mcsa.real(), "alpha": mcsa.real(12)}
result = mcsa.fit(**mcsa.from_jax(log_density), parameters=parameters, seed=1)
print(result)
