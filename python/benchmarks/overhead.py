"""Time of a pMCSA step with callables of several packages, as a ratio to the model in Rust.

    python overhead.py

Ten chains, mean-field Gaussian. The target is a Gaussian in ten dimensions, or eight schools where a Stan library is given by
MCSA_STAN. The least of seven runs of 20,000 steps counts: the others had company. Ratios, not seconds, are to be compared.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcsa
import numpy as np

DIM, STEPS, RUNS = 10, 20_000, 7


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


def step(*target: Any) -> float:
    """Microseconds per step."""
    best = np.inf
    for _ in range(RUNS):
        ascent = mcsa.Ascent(*target, method="pmcsa", family="mean-field", draws=100)
        ascent._climbing.run(200)
        begun = time.perf_counter()
        ascent._climbing.run(200 + STEPS)
        best = min(best, time.perf_counter() - begun)
    return 1e6 * best / STEPS


def table(title: str, native: float, others: dict[str, tuple[Any, ...]]) -> None:
    """Prints microseconds and ratios."""
    print(f"{title}: Rust {native:.1f} us a step")
    for name, target in others.items():
        found = step(*target)
        print(f"  {name:20} {found:6.1f} us   {found / native:5.1f}   {found - native:+.1f} us")


if __name__ == "__main__":
    rust = step(mcsa.models.standard_gaussian(DIM))
    table(f"Gaussian, d = {DIM}", rust, {name: (f, DIM) for name, f in gaussian_callables().items()})
    schools = {}
    library = Path(os.environ.get("MCSA_STAN", ".")) / "eight_schools.so"
    if library.exists():
        data = {
            "schools": 8,
            "effects": [28, 8, -3, 7, -1, 1, 18, 12],
            "errors": [15, 10, 16, 11, 9, 11, 10, 18],
        }
        schools["Stan"] = (mcsa.from_stan(library, data)["log_density"], 10)
    try:
        import pymc as pm

        with pm.Model() as model:
            mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
            eta = pm.Normal("eta", 0.0, 1.0, shape=8)
            errors = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
            effects = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
            pm.Normal("y", mu + tau * eta, errors, observed=effects)
        schools["PyMC by nutpie"] = (mcsa.from_pymc(model)["log_density"], 10)
    except ImportError:
        pass
    if schools:
        table("Eight schools", step(mcsa.models.eight_schools()), schools)
