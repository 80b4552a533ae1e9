"""Time of a pMCSA step with callables of several packages, as a ratio to the model in Rust.

    python overhead.py

Ten chains, mean-field Gaussian. The target is a Gaussian in ten dimensions, and eight schools for PyMC and Stan (a library in the folder
that MCSA_STAN names, or the program where it can be compiled). Rust and the callables take turns of 1000 steps; a ratio is the median over
the turns of processor times, so that other processes count little. A ratio above its limit ends the benchmark with an error.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcsa
import numpy as np

DIM, STEPS, TURNS = 10, 1_000, 31
#: Largest ratio of each callable: about twice what was measured.
LIMITS = {
    "trivial callable": 2.5,
    "NumPy einsum": 6.0,
    "NumPy": 6.0,
    "numba": 3.5,
    "jax.jit(jax.vmap)": 15.0,
    "mcsa.from_jax": 18.0,
    "PyTorch": 18.0,
    "PyMC by nutpie": 5.0,
    "Stan": 9.0,
    "Stan, a point at a time": 18.0,
}


def gaussian_callables() -> dict[str, Callable[[np.ndarray], Any]]:
    """The same density by the packages that are installed."""
    constant = -0.5 * DIM * np.log(2 * np.pi)
    found: dict[str, Callable[[np.ndarray], Any]] = {
        "trivial callable": lambda z: z[:, 0],
        "NumPy einsum": lambda z: constant - 0.5 * np.einsum("ij,ij->i", z, z),
        "NumPy": lambda z: constant - 0.5 * (z**2).sum(axis=1),
    }
    try:
        import numba

        @numba.njit
        def batch(z: np.ndarray) -> np.ndarray:
            out = np.empty(len(z))
            for i in range(len(z)):
                total = 0.0
                for value in z[i]:
                    total += value * value
                out[i] = constant - 0.5 * total
            return out

        found["numba"] = batch
    except ImportError:
        pass
    try:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(jax.vmap(lambda z: constant - 0.5 * jnp.dot(z, z)))
        found["jax.jit(jax.vmap)"] = compiled
        bridge = mcsa.from_jax(lambda z: constant - 0.5 * jnp.dot(z, z))
        found["mcsa.from_jax"] = bridge["log_density"]
    except ImportError:
        pass
    try:
        import torch

        torch.set_num_threads(1)
        found["PyTorch"] = lambda z: (constant - 0.5 * (torch.from_numpy(z) ** 2).sum(dim=1)).numpy()
    except ImportError:
        pass
    return found


def turn(ascent: mcsa.Ascent) -> float:
    """Microseconds of the processor per step, in some steps more."""
    begun = time.process_time()
    ascent._state.run(ascent.step + STEPS)
    return 1e6 * (time.process_time() - begun) / STEPS


def table(title: str, native: mcsa.models.Model, others: dict[str, tuple[Any, ...]]) -> list[str]:
    """Prints microseconds and ratios; the callables that are above their limit."""

    def begun(*target: Any) -> mcsa.Ascent:
        ascent = mcsa.Ascent(*target, method="pmcsa", family="mean-field", draws=100)
        ascent._state.run(STEPS)
        return ascent

    rust, ascents = begun(native), {name: begun(*target) for name, target in others.items()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ascents}
    for _ in range(TURNS):
        for name, ascent in ascents.items():
            times[name].append((turn(rust), turn(ascent)))
    own = np.median([pair[0] for pairs in times.values() for pair in pairs])
    print(f"{title}: Rust {own:.1f} us a step")
    above = []
    for name, pairs in times.items():
        ratios = [theirs / ours for ours, theirs in pairs]
        low, ratio, high = np.quantile(ratios, [0.1, 0.5, 0.9])
        spread = f"[{low:.1f}, {high:.1f}]"
        print(f"  {name:24} {np.median([pair[1] for pair in pairs]):6.1f} us   {ratio:5.1f} {spread:14} limit {LIMITS[name]:g}")
        above += [name] if ratio > LIMITS[name] else []
    return above


def schools() -> dict[str, Callable[[np.ndarray], Any]]:
    """Eight schools by Stan and PyMC, if they are there."""
    effects, errors = [28.0, 8, -3, 7, -1, 1, 18, 12], [15.0, 10, 16, 11, 9, 11, 10, 18]
    found = {}
    library = Path(os.environ.get("MCSA_STAN", ".")) / "eight_schools.so"
    program = library if library.exists() else Path(__file__).parents[2] / "stan/programs/eight_schools.stan"
    data = {"schools": 8, "effects": effects, "errors": errors}
    try:
        found["Stan"] = mcsa.from_stan(program, data)["log_density"]
        slow = mcsa.from_stan(program, data)["log_density"]
        slow.__self__._takes_batches = False
        found["Stan, a point at a time"] = slow
    except (ImportError, RuntimeError, FileNotFoundError) as error:
        print(f"without Stan: {error}")
    try:
        import pymc as pm

        with pm.Model() as model:
            mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
            eta = pm.Normal("eta", 0.0, 1.0, shape=8)
            pm.Normal("y", mu + tau * eta, np.array(errors), observed=np.array(effects))
        found["PyMC by nutpie"] = mcsa.from_pymc(model)["log_density"]
    except ImportError as error:
        print(f"without PyMC: {error}")
    return found


if __name__ == "__main__":
    above = table(f"Gaussian, d = {DIM}", mcsa.models.standard_gaussian(DIM), {name: (f, DIM) for name, f in gaussian_callables().items()})
    if by_others := schools():
        above += table("Eight schools", mcsa.models.eight_schools(), {name: (f, 10) for name, f in by_others.items()})
    if above:
        sys.exit(f"above the limit: {', '.join(above)}")
