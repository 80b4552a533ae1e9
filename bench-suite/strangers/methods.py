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


def fit(arguments: dict[str, Any], counted: Counted, seed: int, with_gradient: bool) -> dict[str, Any]:
    """``mcsa.fit`` with default options."""
    import mcsa

    given = arguments | {"log_density": counted.log_density, "gradient": counted.gradient if with_gradient else None}
    result = mcsa.fit(**given, seed=seed)
    return {
        "draws": result.parameters(), "weights": result.weights, "word": "yes" if result.ok else "no",
        "way": result.family, "reasons": " | ".join(result.objections), "ess": result.sample_size,
    }


def nutpie(arguments: dict[str, Any], counted: Counted, seed: int, chains: int = 4, draws: int = 1_000, **settings: Any) -> dict[str, Any]:
    """nutpie with its default settings. Its word is yes if every R-hat is below 1.01 and no step diverged."""
    import nutpie as package
    from nutpie.compiled_pyfunc import from_pyfunc

    dim = arguments["dim"]

    def make_log_density() -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        def log_density(z: np.ndarray) -> tuple[float, np.ndarray]:
            values, slopes = counted.gradient(z[None])
            if not (np.isfinite(values[0]) and np.isfinite(slopes).all()):
                return -np.inf, np.zeros(dim)
            return float(values[0]), slopes[0]

        return log_density

    def make_expand(*_: Any) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        return lambda z: {"z": np.asarray(z)}

    model = from_pyfunc(dim, make_log_density, make_expand, [np.dtype("float64")], [(dim,)], ["z"])
    trace = package.sample(model, draws=draws, chains=chains, cores=1, seed=seed, progress_bar=False, **settings)
    z = trace.posterior["z"].values
    divergences = int(trace.sample_stats["diverging"].values.sum())
    named = reported(arguments, z.reshape(-1, dim))
    shaped = {name: values.reshape(z.shape[0], -1) for name, values in columns(named).items()}
    r_hat, ess = diagnosed(shaped)
    word = "yes" if r_hat < 1.01 and divergences == 0 else "no"
    count = z.shape[0] * z.shape[1]
    return {
        "draws": named, "weights": np.full(count, 1 / count), "word": word, "way": "chains",
        "reasons": "" if word == "yes" else f"R-hat {r_hat:.3f}, {divergences} divergences", "ess": ess,
    }


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
}


def run(arguments: dict[str, Any], method: str, seed: int) -> dict[str, Any]:
    """A run of a method with its counts and seconds."""
    counted = Counted(arguments)
    start = time.perf_counter()
    found = METHODS[method](arguments, counted, seed)
    return found | {"seconds": time.perf_counter() - start, "densities": counted.densities, "gradients": counted.gradients}
