"""blackjax: Pathfinder from one start, and multi-path Pathfinder from 20 starts, with the defaults of L-BFGS.

Both end with 4000 weighted draws; those of the 20 paths are one mixture with equal shares, weighted as the package weights them, by the
density of their own path. Starts are uniform on (-2, 2) in each coordinate. Densities without a gradient are those of the lower bounds
along the path, all of which the package evaluates, and of the final draws. The package does not tell how many gradients its line searches
take: the same search is run again, untimed, and its steps are counted. The paths are run one after the other: the package's run of all of
them at once waits for ever on machines with few cores.
"""

import os
import time

# The package's factorisations wait for ever where there is one thread.
os.environ["XLA_FLAGS"] = ""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from blackjax.vi.pathfinder import approximate, sample

import rows

PATHS = 20
SAMPLES = 200
LBFGS = {"maxiter": 30, "maxcor": 10, "gtol": 1e-08, "ftol": 1e-05, "maxls": 1000}


def counter(target):
    """Function from a start to the number of gradients that L-BFGS takes from it: two at the start, and those of each line search and
    one more at every step.
    """

    def loss(z):
        return -target.log_density(z)

    line_search = optax.scale_by_zoom_linesearch(max_linesearch_steps=LBFGS["maxls"])
    solver = optax.lbfgs(memory_size=LBFGS["maxcor"], linesearch=line_search)
    slope = optax.value_and_grad_from_state(loss)

    def step(carry):
        z, state, steps, gradients, _ = carry
        value, gradient = slope(z, state=state)
        update, state = solver.update(gradient, state, z, value=value, grad=gradient, value_fn=loss)
        z = optax.apply_updates(z, update)
        gradients += 1 + optax.tree_utils.tree_get(state, "num_linesearch_steps")
        fall = jnp.abs(value - loss(z)) / jnp.maximum(jnp.maximum(jnp.abs(value), jnp.abs(loss(z))), 1.0)
        goes_on = (jnp.linalg.norm(gradient) > LBFGS["gtol"]) & (fall > LBFGS["ftol"]) & (steps + 1 < LBFGS["maxiter"])
        return z, state, steps + 1, gradients, goes_on

    def count(z):
        return jax.lax.while_loop(lambda carry: carry[-1], step, (z, solver.init(z), 0, 2, True))[3]

    return jax.jit(count)


def pathfinder(paths):
    def prepare(target):
        def path(key):
            begin, fit, draw = jax.random.split(key, 3)
            start = jax.random.uniform(begin, (target.dim,), minval=-2.0, maxval=2.0)
            state, _ = approximate(fit, target.log_density, start, SAMPLES, **LBFGS)
            draws, log_q = sample(draw, state, rows.DRAWS // paths)
            return start, draws, jax.vmap(target.log_density)(draws) - log_q

        compiled = jax.jit(path).lower(jax.random.PRNGKey(0)).compile()
        count = counter(target)

        def run(seed):
            key = jax.random.PRNGKey(seed)
            begin = time.perf_counter()
            found = [jax.block_until_ready(compiled(key)) for key in jax.random.split(key, paths)]
            seconds = time.perf_counter() - begin
            starts, draws, log_weights = (np.concatenate([np.atleast_1d(part) for part in parts]) for parts in zip(*found))
            evaluations = paths * (LBFGS["maxiter"] + 1) * SAMPLES + rows.DRAWS
            gradients = sum(int(count(start)) for start in starts.reshape(paths, target.dim))
            return rows.Run(draws, evaluations, gradients, seconds, log_weights)

        return run

    return prepare


if __name__ == "__main__":
    methods = {"Pathfinder": pathfinder(1), "multi-path Pathfinder": pathfinder(PATHS)}
    rows.main("blackjax", blackjax.__version__, methods)
