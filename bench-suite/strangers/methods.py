"""Methods: each fits the density of ``arguments`` and returns draws by name of a parameter, weights, counts and its own word."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stranger import columns


class Counted:
    """Log density and gradient with counts of points."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.densities = self.gradients = 0
        self._density, self._gradient = arguments["log_density"], arguments.get("gradient")

    def log_density(self, z: np.ndarray) -> np.ndarray:
        self.densities += len(z)
        return self._density(z)

    def gradient(self, z: np.ndarray) -> Any:
        self.gradients += len(z)
        return self._gradient(z)

    def at(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and slope at one point; outside the support minus infinity and 0."""
        values, slopes = self.gradient(z[None])
        if not (np.isfinite(values[0]) and np.isfinite(slopes).all()):
            return -np.inf, np.zeros(len(z))
        return float(values[0]), slopes[0]


def fit(arguments: dict[str, Any], counted: Counted, seed: int, with_gradient: bool) -> dict[str, Any]:
    """``mcsa.fit`` with default options."""
    import mcsa

    given = arguments | {"log_density": counted.log_density, "gradient": counted.gradient if with_gradient else None}
    result = mcsa.fit(**given, seed=seed)
    return {
        "draws": result.parameters(), "weights": result.weights, "word": "yes" if result.ok else "no",
        "way": result.family, "reasons": " | ".join(objection.text for objection in result.verdict.objections), "ess": result.sample_size,
    }


def nutpie(arguments: dict[str, Any], counted: Counted, seed: int, chains: int = 4, draws: int = 1_000, **settings: Any) -> dict[str, Any]:
    """nutpie with its default settings."""
    import nutpie as package
    from nutpie.compiled_pyfunc import from_pyfunc

    dim = arguments["dim"]

    def make_expand(*_: Any) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        return lambda z: {"z": np.asarray(z)}

    density = in_jax(dim, counted) if settings.get("transform_adapt") else None
    model = from_pyfunc(
        dim, lambda: counted.at, make_expand, [np.dtype("float64")], [(dim,)], ["z"], raw_logp_fn=density and (lambda z: (density(z),))
    )
    trace = package.sample(model, draws=draws, chains=chains, cores=1, seed=seed, progress_bar=False, **settings)
    return by_chains(arguments, trace.posterior["z"].values, int(trace.sample_stats["diverging"].values.sum()))


def nutpie_flow(arguments: dict[str, Any], counted: Counted, seed: int) -> dict[str, Any]:
    """nutpie in the coordinates of a normalizing flow that it learns, with its default settings."""
    return nutpie(arguments, counted, seed, transform_adapt=True)


def walnuts(arguments: dict[str, Any], counted: Counted, seed: int) -> dict[str, Any]:
    """walnutpie with its default settings; it ends by its own R-hat."""
    import walnutpie

    chains = walnutpie.walnuts_pyfunc(counted.at, num_params=arguments["dim"], seed=seed)
    shortest = min(len(chain) for chain in chains)
    return by_chains(arguments, np.array([chain[-shortest:] for chain in chains]), 0)


def microcanonical(arguments: dict[str, Any], counted: Counted, seed: int, chains: int = 4, draws: int = 5_000) -> dict[str, Any]:
    """blackjax's adjusted microcanonical sampler, tuned by its own rule on as many steps, at acceptance 0.9."""
    import jax
    from blackjax.adaptation.adjusted_mclmc_adaptation import adjusted_mclmc_find_L_and_step_size as tuned
    from blackjax.mcmc import adjusted_mclmc_dynamic as sampler

    dim = arguments["dim"]
    log_density = in_jax(dim, counted)
    move = sampler.build_kernel(sampler.make_random_trajectory_length_fn(True))

    @jax.jit
    def chain(key: Any) -> Any:
        place, first, tuning, key = jax.random.split(key, 4)
        state = sampler.init(jax.random.uniform(place, (dim,), minval=-2, maxval=2), log_density, first)
        state, found, _ = tuned(move, log_density, draws, state, tuning, target=0.9)
        settings = {"inverse_mass_matrix": found.inverse_mass_matrix, "integration_steps_params": (found.L / found.step_size,)}

        def one(state: Any, key: Any) -> Any:
            state, info = move(key, state, log_density, found.step_size, **settings)
            return state, (state.position, info.is_divergent)

        return jax.lax.scan(one, state, jax.random.split(key, draws))[1]

    z, diverged = zip(*(chain(key) for key in jax.random.split(jax.random.key(seed), chains)))
    return by_chains(arguments, np.array(z), int(np.sum(diverged)))


def pathfinder(arguments: dict[str, Any], counted: Counted, seed: int) -> dict[str, Any]:
    """Pathfinder of pymc-extras with its default settings, by four paths in one process. Its word is yes if k-hat is below 0.7."""
    from pymc_extras.inference.pathfinder.pathfinder import fit_pathfinder

    with in_pymc(arguments["dim"], counted):
        found = fit_pathfinder(concurrent=None, progressbar=False, display_summary=False, random_seed=seed)
    k_hat = float(found.sample_stats["pareto_k"])
    return by_draws(arguments, found.posterior["z"].values.reshape(-1, arguments["dim"]), "" if k_hat < 0.7 else f"k-hat {k_hat:.2f}")


def dadvi(arguments: dict[str, Any], counted: Counted, seed: int) -> dict[str, Any]:
    """DADVI of pymc-extras with its default settings, but by gradients alone. Its word is yes if the optimum was found."""
    from pymc_extras.inference.dadvi.dadvi import fit_dadvi

    with in_pymc(arguments["dim"], counted):
        found = fit_dadvi(optimizer_method="L-BFGS-B", progressbar=False, random_seed=seed)
    reasons = "" if bool(found.optimizer_result["success"]) else "no optimum"
    return by_draws(arguments, found.posterior["z"].values.reshape(-1, arguments["dim"]), reasons)


def in_jax(dim: int, counted: Counted) -> Callable[[Any], Any]:
    """The density as a function of JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    shapes = jax.ShapeDtypeStruct((), np.float64), jax.ShapeDtypeStruct((dim,), np.float64)

    def called(z: Any) -> Any:
        return jax.pure_callback(lambda z: tuple(map(np.float64, counted.at(np.asarray(z)))), shapes, z, vmap_method="sequential")

    log_density = jax.custom_vjp(lambda z: called(z)[0])
    log_density.defvjp(called, lambda slope, change: (change * slope,))
    return log_density


def in_pymc(dim: int, counted: Counted) -> Any:
    """A model of PyMC whose density is this one."""
    import pymc as pm
    import pytensor.tensor as pt
    from pytensor.graph.op import Op

    class Slope(Op):
        gufunc_signature = "(d)->(d)"
        itypes, otypes = [pt.dvector], [pt.dvector]

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = counted.at(inputs[0])[1]

    class Density(Op):
        gufunc_signature = "(d)->()"
        itypes, otypes = [pt.dvector], [pt.dscalar]

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = np.asarray(counted.log_density(inputs[0][None])[0])

        def L_op(self, inputs: Any, outputs: Any, changes: Any) -> Any:  # noqa: N802: the name that PyTensor calls
            return [changes[0] * Slope()(inputs[0])]

    with pm.Model() as model:
        pm.Potential("density", Density()(pm.Flat("z", shape=int(dim))))
    return model


def by_chains(arguments: dict[str, Any], z: np.ndarray, divergences: int) -> dict[str, Any]:
    """Answer of chains, ``(chains, draws, dim)``. Their word is yes if every R-hat is below 1.01 and no step diverged."""
    named = reported(arguments, z.reshape(-1, z.shape[2]))
    shaped = {name: values.reshape(z.shape[0], -1) for name, values in columns(named).items()}
    r_hat, ess = diagnosed(shaped)
    reasons = "" if r_hat < 1.01 and divergences == 0 else f"R-hat {r_hat:.3f}, {divergences} divergences"
    return answer(named, len(z) * z.shape[1], reasons, "chains", ess)


def by_draws(arguments: dict[str, Any], z: np.ndarray, reasons: str) -> dict[str, Any]:
    """Answer of independent draws."""
    return answer(reported(arguments, z), len(z), reasons, "draws", float(len(z)))


def answer(named: dict[str, np.ndarray], count: int, reasons: str, way: str, ess: float) -> dict[str, Any]:
    weights = np.full(count, 1 / count)
    return {"draws": named, "weights": weights, "word": "no" if reasons else "yes", "way": way, "reasons": reasons, "ess": ess}


def reported(arguments: dict[str, Any], z: np.ndarray) -> dict[str, np.ndarray]:
    """Parameters by name at points on the unconstrained scale."""
    if arguments.get("transform") is not None:
        return arguments["transform"](z)
    return {name: z[:, i] for i, name in enumerate(arguments["names"])}


def diagnosed(shaped: dict[str, np.ndarray]) -> tuple[float, float]:
    """Largest R-hat and smallest effective sample size of the numbers that vary."""
    import arviz

    varying = [x for x in shaped.values() if np.ptp(x) > 1e-10 * max(1.0, abs(x.mean()))]
    return max(float(arviz.rhat(x)) for x in varying), min(float(arviz.ess(x)) for x in varying)


METHODS: dict[str, Callable[[dict[str, Any], Counted, int], dict[str, Any]]] = {
    "mcsa": lambda arguments, counted, seed: fit(arguments, counted, seed, True),
    "mcsa density": lambda arguments, counted, seed: fit(arguments, counted, seed, False),
    "nutpie": nutpie,
    "nutpie flow": nutpie_flow,
    "walnutpie": walnuts,
    "blackjax microcanonical": microcanonical,
    "pathfinder": pathfinder,
    "dadvi": dadvi,
}


def run(arguments: dict[str, Any], method: str, seed: int) -> dict[str, Any]:
    """A run of a method with its counts and seconds of processor time."""
    counted = Counted(arguments)
    start = time.process_time()
    found = METHODS[method](arguments, counted, seed)
    return found | {"seconds": time.process_time() - start, "densities": counted.densities, "gradients": counted.gradients}
