"""numpyro: automatic guides fitted by the evidence lower bound, as in its example NeuTra.

Adam(0.01), 10,000 steps, one particle; guides with their default sizes. Ends with 4000 weighted draws of the guide. In more than 50
dimensions the neural autoregressive guide is left out: a step takes too long.
"""

import time

import jax
import numpyro
import numpyro.distributions as dist
from numpyro import optim
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoBNAFNormal, AutoIAFNormal, AutoMultivariateNormal

import rows

STEPS = 10_000
WIDEST = {AutoBNAFNormal: 50}


def guide(kind):
    def prepare(target):
        if target.dim > WIDEST.get(kind, target.dim):
            return None

        def model():
            z = numpyro.sample("z", dist.ImproperUniform(dist.constraints.real_vector, (), (target.dim,)))
            numpyro.factor("log_density", target.log_density(z))

        approximation = kind(model)
        svi = SVI(model, approximation, optim.Adam(0.01), Trace_ELBO())

        def fit(state):
            state, _ = jax.lax.scan(lambda state, _: svi.update(state), state, None, STEPS)
            return svi.get_params(state)

        def draw(params, key):
            posterior = approximation.get_posterior(params)
            draws, between = posterior.sample_with_intermediates(key, (rows.DRAWS,))
            log_q = posterior.log_prob(draws, between) if between else posterior.log_prob(draws)
            return draws, jax.vmap(target.log_density)(draws) - log_q

        state = svi.init(jax.random.PRNGKey(0))
        fit = jax.jit(fit).lower(state).compile()
        compiled = None

        def run(seed):
            nonlocal compiled
            state = svi.init(jax.random.PRNGKey(seed))
            start = time.perf_counter()
            params = jax.block_until_ready(fit(state))
            seconds = time.perf_counter() - start
            key = jax.random.PRNGKey(1_000 + seed)
            compiled = compiled or jax.jit(draw).lower(params, key).compile()
            start = time.perf_counter()
            draws, log_weights = jax.block_until_ready(compiled(params, key))
            seconds += time.perf_counter() - start
            return rows.Run(draws, rows.DRAWS, STEPS, seconds, log_weights)

        return run

    return prepare


if __name__ == "__main__":
    kinds = [AutoMultivariateNormal, AutoIAFNormal, AutoBNAFNormal]
    rows.main("numpyro", numpyro.__version__, {kind.__name__: guide(kind) for kind in kinds})
