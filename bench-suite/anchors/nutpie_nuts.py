"""nutpie: the No-U-Turn sampler with its defaults, 4 chains of 1000 draws."""

import time

import jax
import numpy as np
import nutpie
from nutpie.compiled_pyfunc import from_pyfunc

import rows

CHAINS = 4


def nuts(target):
    slope = jax.jit(jax.value_and_grad(target.log_density))
    slope(np.zeros(target.dim))  # compiles

    def make_log_density():
        def log_density(z):
            value, gradient = slope(z)
            return float(value), np.asarray(gradient)

        return log_density

    def make_expand(*_):
        return lambda z: {"z": np.asarray(z)}

    model = from_pyfunc(target.dim, make_log_density, make_expand, [np.dtype("float64")], [(target.dim,)], ["z"])

    def run(seed):
        start = time.perf_counter()
        trace = nutpie.sample(
            model, draws=rows.DRAWS // CHAINS, chains=CHAINS, cores=1, seed=seed, progress_bar=False
        )
        seconds = time.perf_counter() - start
        steps = sum(
            int(trace[group]["n_steps"].sum()) for group in ("sample_stats", "warmup_sample_stats")
        )
        draws = trace.posterior["z"].values.reshape(-1, target.dim)
        return rows.Run(draws, 0, steps, seconds, chains=CHAINS)

    return run


if __name__ == "__main__":
    rows.main("nutpie", nutpie.__version__, {"NUTS": nuts})
