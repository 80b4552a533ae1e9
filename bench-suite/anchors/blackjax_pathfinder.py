"""blackjax: Pathfinder from one start, and multi-path Pathfinder from 20 starts, with the defaults of L-BFGS.

Both end with 4000 weighted draws. Starts are uniform on (-2, 2) in each coordinate. Densities without a gradient are those of the lower
bounds along the path, all of which the package evaluates, and of the final draws. The package does not tell how many gradients its line
searches take: they are counted in a second, untimed run of L-BFGS from the same starts.
"""

import time

import blackjax
import jax
import jax.numpy as jnp
from blackjax.optimizers.lbfgs import _minimize_lbfgs
from blackjax.vi.multipathfinder import multi_approximate
from blackjax.vi.pathfinder import approximate, sample

import rows

PATHS = 20
SAMPLES = 200
LBFGS = {"maxiter": 30, "maxcor": 10, "gtol": 1e-08, "ftol": 1e-05, "maxls": 1000}


def starts(key, paths, dim):
    return jax.random.uniform(key, (paths, dim), minval=-2.0, maxval=2.0)


def counter(target):
    """Function from a start to the number of gradients that L-BFGS takes from it."""
    found = [0]
    slope = jax.value_and_grad(lambda z: -target.log_density(z))

    @jax.custom_vjp
    def counted(z):
        return -target.log_density(z)

    def forward(z):
        jax.debug.callback(lambda: found.__setitem__(0, found[0] + 1))
        return slope(z)

    counted.defvjp(forward, lambda gradient, tangent: (tangent * gradient,))
    search = jax.jit(lambda z: _minimize_lbfgs(counted, z, *LBFGS.values())[0])
    quickly = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    search = search.lower(jnp.zeros(target.dim)).compile(compiler_options=quickly)

    def count(positions):
        found[0] = 0
        for position in positions:
            jax.block_until_ready(search(position))
        jax.effects_barrier()
        return found[0]

    return count


def prepared(target, paths, body):
    compiled = jax.jit(body).lower(jax.random.PRNGKey(0)).compile()
    if not hasattr(target, "count"):
        target.count = counter(target)

    def run(seed):
        key = jax.random.PRNGKey(seed)
        start = time.perf_counter()
        draws, log_weights = jax.block_until_ready(compiled(key))
        seconds = time.perf_counter() - start
        evaluations = paths * (LBFGS["maxiter"] + 1) * SAMPLES + rows.DRAWS
        gradients = target.count(starts(jax.random.split(key, 3)[0], paths, target.dim))
        return rows.Run(draws, evaluations, gradients, seconds, log_weights)

    return run


def pathfinder(target):
    def body(key):
        begin, fit, draw = jax.random.split(key, 3)
        state, _ = approximate(fit, target.log_density, starts(begin, 1, target.dim)[0], SAMPLES, **LBFGS)
        draws, log_q = sample(draw, state, rows.DRAWS)
        return draws, jax.vmap(target.log_density)(draws) - log_q

    return prepared(target, 1, body)


def multipathfinder(target):
    def body(key):
        begin, fit, _ = jax.random.split(key, 3)
        positions = starts(begin, PATHS, target.dim)
        state, _ = multi_approximate(fit, target.log_density, positions, rows.DRAWS // PATHS, **LBFGS)
        return jnp.reshape(state.samples, (-1, target.dim)), jnp.ravel(state.logp - state.logq)

    return prepared(target, PATHS, body)


if __name__ == "__main__":
    methods = {"Pathfinder": pathfinder, "multi-path Pathfinder": multipathfinder}
    rows.main("blackjax", blackjax.__version__, methods)
