"""nutpie on a logistic regression with many rows, the posterior of the example `many_rows` with numbers of NumPy: defaults, all cores.

`python many_rows.py ROWS COLUMNS [LIMIT]`, in seconds: after the limit the run ends with the draws so far. A PyMC model compiled by numba; compiling is
timed apart.
"""

import sys
import time
import warnings

warnings.filterwarnings("ignore")

import arviz  # noqa: E402
import numpy as np  # noqa: E402
import nutpie  # noqa: E402
import pymc as pm  # noqa: E402


def model(rows, columns):
    random = np.random.default_rng(1)
    x = random.standard_normal((rows, columns))
    y = x[:, 0] - x[:, min(columns, 2) - 1] + random.standard_normal(rows) > 0
    with pm.Model() as built:
        weights = pm.Normal("w", 0, 1, shape=columns)
        pm.Bernoulli("y", logit_p=pm.math.dot(x, weights), observed=y)
    return built


def main(rows, columns, limit=600.0):
    start = time.perf_counter()
    compiled = nutpie.compile_pymc_model(model(int(rows), int(columns)))
    building = time.perf_counter() - start
    start = time.perf_counter()
    sampler = nutpie.sample(compiled, seed=1, progress_bar=False, save_warmup=True, blocking=False)
    try:
        trace = sampler.wait(timeout=float(limit))
        is_done = True
    except TimeoutError:
        trace = sampler.abort()
        is_done = False
    seconds = time.perf_counter() - start
    gradients = sum(int(part.n_steps.sum()) for part in (trace.sample_stats, trace.warmup_sample_stats))
    print(f"{rows} x {columns}: built in {building:.1f} s, {seconds:.1f} s, {gradients} gradients", end="")
    if not is_done:
        print(f", not done after {limit} s")
        return
    ess, r_hat = arviz.ess(trace)["w"].values.min(), arviz.rhat(trace)["w"].values.max()
    diverging = int(trace.sample_stats.diverging.sum())
    print(f", effective sample size {ess:.0f}, R-hat {r_hat:.3f}, {diverging} divergences")


main(*sys.argv[1:])
