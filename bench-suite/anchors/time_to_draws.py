"""Time to 1000 effective draws by nutpie and blackjax, warm-up included and compilation not, one core.

`taskset -c 0 python time_to_draws.py CASES [SEEDS]`, with the cases of `mcsa-bench anchors --cases time_to_draws.toml`. The targets are those of the
example `fit_speed`, which prints the times of the program: run both one after the other. nutpie runs PyMC models compiled with numba, blackjax
the log densities of `targets.py`. The smallest effective sample size of all coordinates counts.
"""

import glob
import json
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")

import arviz  # noqa: E402
import blackjax  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
import nutpie  # noqa: E402
import pymc as pm  # noqa: E402

import targets  # noqa: E402

EFFECTIVE, DRAWS, WARM_UP = 1_000, 2_000, 1_000


def schools(data):
    with pm.Model() as model:
        mu, tau, eta = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("eta", 0, 1, shape=8)
        pm.Normal("y", mu + tau * eta, data["errors"], observed=data["effects"])
    return model


def hierarchical(data):
    x, y = data["x"], data["y"]
    with pm.Model() as model:
        scales = [pm.HalfNormal(name, 1) for name in ("scale_beta", "scale_alpha")]
        beta, alpha = pm.Normal("beta", 0, scales[0], shape=x.shape[1]), pm.Normal("alpha", 0, scales[1])
        pm.Bernoulli("y", logit_p=pm.math.dot(x, beta) + alpha, observed=y)
    return model


def probit(data):
    x, sign = data["x"], 2 * data["y"] - 1
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 1, shape=x.shape[1])
        pm.Potential("y", pm.logcdf(pm.Normal.dist(), sign * pm.math.dot(x, beta)).sum())
    return model


def smallest_ess(draws):
    """Of draws of shape (chains, draws, coordinates)."""
    return min(arviz.ess(draws[:, :, k]) for k in range(draws.shape[2]))


def by_nutpie(model, chains):
    compiled = nutpie.compile_pymc_model(model)

    def run(seed, draws):
        start = time.perf_counter()
        trace = nutpie.sample(
            compiled, draws=draws, chains=chains, cores=1, seed=seed, progress_bar=False, save_warmup=False
        )
        seconds = time.perf_counter() - start
        names = list(trace.posterior.data_vars)
        parts = [trace.posterior[name].values.reshape(chains, draws, -1) for name in names]
        return seconds, np.concatenate(parts, axis=2)

    return run


def by_blackjax(log_density, dim, chains):
    def chain(key, draws):
        start, adapt, go = jax.random.split(key, 3)
        position = jax.random.uniform(start, (dim,), minval=-2.0, maxval=2.0)
        (state, parameters), _ = blackjax.window_adaptation(blackjax.nuts, log_density).run(
            adapt, position, num_steps=WARM_UP
        )
        kernel = blackjax.nuts(log_density, **parameters)

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, state, jax.random.split(go, draws))[1]

    compiled = {}

    def run(seed, draws):
        keys = jax.random.split(jax.random.PRNGKey(seed), chains)
        if draws not in compiled:
            compiled[draws] = jax.jit(jax.vmap(lambda key: chain(key, draws))).lower(keys).compile()
        start = time.perf_counter()
        found = jax.block_until_ready(compiled[draws](keys))
        return time.perf_counter() - start, np.asarray(found)

    return run


def seconds_to_draws(run, seed, chains):
    """Infinite if the chains, or halves of a single one, disagree: then they have no effective sample size to speak of."""
    run(seed, 1)
    warm, _ = run(seed, 1)
    whole, draws = run(seed, DRAWS // chains)
    halves = draws.reshape(2 * chains, -1, draws.shape[2])
    if not max(arviz.rhat(halves[:, :, k]) for k in range(draws.shape[2])) < 1.1:
        return np.inf
    return warm + (whole - warm) * EFFECTIVE / smallest_ess(draws)


def main():
    folder, seeds = sys.argv[1], int((sys.argv[2:] or ["5"])[0])
    cases = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            case = json.load(file)
        data = {name: np.asarray(values) for name, values in case["data"].items()}
        kind = case["case"]["kind"]
        if kind == "schools":
            cases.append((case["title"], schools(data), targets.schools(None, data), case["dim"]))
            continue
        scaled = data | {"x": (data["x"] - data["x"].mean(axis=0)) / data["x"].std(axis=0, ddof=1)}
        for name, rows in (("", data), (", standardised", scaled)):
            cases.append((case["title"] + name, hierarchical(rows), targets.hierarchical_rows(None, rows), case["dim"]))
        if case["case"]["data"] == "pima":
            rows = data | {"x": np.hstack([np.ones((len(data["y"]), 1)), data["x"]])}
            cases.append(("probit: pima", probit(rows), targets.probit_rows(None, rows), rows["x"].shape[1]))
    print(f"nutpie {nutpie.__version__}, blackjax {blackjax.__version__}, pymc {pm.__version__}; medians of {seeds} seeds, ms")
    for title, model, log_density, dim in cases:
        for chains in (1, 4):
            runs = {"nutpie": by_nutpie(model, chains), "blackjax": by_blackjax(log_density, dim, chains)}
            for name, run in runs.items():
                times = [1e3 * seconds_to_draws(run, seed, chains) for seed in range(1, seeds + 1)]
                stuck = sum(np.isinf(times))
                print(f"{title:58} {name:9} {chains} chains {np.median(times):8.0f}, {stuck} stuck", flush=True)


if __name__ == "__main__":
    main()
