"""blackjax: the No-U-Turn sampler after window adaptation, 4 chains of 1000 steps of adaptation and 1000 draws."""

import time

import blackjax
import jax
import jax.numpy as jnp

import rows

CHAINS, WARM_UP = 4, 1_000


def nuts(target):
    def chain(key):
        start, adapt, go = jax.random.split(key, 3)
        position = jax.random.uniform(start, (target.dim,), minval=-2.0, maxval=2.0)
        adaptation = blackjax.window_adaptation(blackjax.nuts, target.log_density)
        (state, parameters), warm = adaptation.run(adapt, position, num_steps=WARM_UP)
        kernel = blackjax.nuts(target.log_density, **parameters)

        def step(state, key):
            state, info = kernel.step(key, state)
            return state, (state.position, info.num_integration_steps)

        _, (draws, steps) = jax.lax.scan(step, state, jax.random.split(go, rows.DRAWS // CHAINS))
        return draws, steps.sum() + warm.info.num_integration_steps.sum()

    chains = jax.jit(jax.vmap(chain))
    compiled = chains.lower(jax.random.split(jax.random.PRNGKey(0), CHAINS)).compile()

    def run(seed):
        start = time.perf_counter()
        draws, steps = jax.block_until_ready(compiled(jax.random.split(jax.random.PRNGKey(seed), CHAINS)))
        seconds = time.perf_counter() - start
        draws = jnp.reshape(draws, (-1, target.dim))
        return rows.Run(draws, 0, steps.sum(), seconds, chains=CHAINS)

    return run


if __name__ == "__main__":
    rows.main("blackjax", blackjax.__version__, {"NUTS": nuts})
