"""Log densities of other packages as targets of :func:`mcsa.fit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["from_jax", "from_pymc"]


def from_jax(function: Callable[[Any], Any]) -> dict[str, Callable[[np.ndarray], Any]]:
    """Log density and gradient from a JAX function of one point ``(dim,)``: ``mcsa.fit(**mcsa.from_jax(f), dim=3)``.

    The function is compiled for each size of a batch. Numbers have double precision whatever the setting of JAX.
    """
    import jax

    def compiled(f: Callable[[Any], Any]) -> Callable[[np.ndarray], Any]:
        batch = jax.jit(jax.vmap(f))

        def call(z: np.ndarray) -> Any:
            with jax.enable_x64(True):
                return jax.tree.map(np.asarray, batch(z))

        return call

    return {"log_density": compiled(function), "gradient": compiled(jax.value_and_grad(function))}


def from_pymc(model: Any) -> dict[str, Any]:
    """Arguments of :func:`mcsa.fit` from a PyMC model: log density and gradient on PyMC's unconstrained scale, the map to its variables,
    log likelihood and data.

    ``mcsa.fit(**mcsa.from_pymc(model))``. Needs ``pymc``, ``nutpie`` and ``numba``: nutpie compiles the log density with its gradient.
    """
    import numba
    import nutpie

    compiled = nutpie.compile_pymc_model(model)
    joint, joint_data = _compiled(compiled.logp_func)
    expand, expand_data = _compiled(compiled.expand_func)
    expanded = compiled.n_expanded

    @numba.njit
    def densities(z: np.ndarray, data: tuple[np.ndarray, ...]) -> np.ndarray:
        out = np.empty(len(z))
        for i in range(len(z)):
            out[i : i + 1] = joint(z[i], *data)[0]
        return out

    @numba.njit
    def gradients(z: np.ndarray, data: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        out, slopes = np.empty(len(z)), np.empty(z.shape)
        for i in range(len(z)):
            value, slope = joint(z[i], *data)
            out[i : i + 1], slopes[i] = value, slope
        return out, slopes

    @numba.njit
    def values(z: np.ndarray, data: tuple[np.ndarray, ...]) -> np.ndarray:
        out = np.empty((len(z), expanded))
        for i in range(len(z)):
            out[i] = expand(z[i], *data)[0]
        return out

    def expanded_by_name(z: np.ndarray) -> dict[str, np.ndarray]:
        joined = values(z, expand_data)
        return {
            name: joined[:, part].reshape(len(z), *map(int, shape))
            for name, part, shape in zip(*compiled.shape_info, strict=True)
        }

    def transform(z: np.ndarray) -> dict[str, np.ndarray]:
        return {name: found for name, found in expanded_by_name(z).items() if not name.endswith("__")}

    observed = {variable.name: np.asarray(model.rvs_to_values[variable].data) for variable in model.observed_RVs}
    terms: list[Any] = []

    def log_likelihood(z: np.ndarray) -> dict[str, np.ndarray]:
        if not terms:
            parts = model.logp(vars=model.observed_RVs, sum=False)
            terms.append(model.compile_fn(parts, inputs=model.value_vars, on_unused_input="ignore", point_fn=False))
        by_name = expanded_by_name(z)
        points = zip(*(by_name[variable.name] for variable in model.value_vars), strict=True)
        found = [terms[0](*point) for point in points]
        return {name: np.array([row[k] for row in found]) for k, name in enumerate(observed)}

    coords = {name: list(index) for name, index in compiled.coords.items() if name != "unconstrained_parameter"}
    return {
        "log_density": lambda z: densities(z, joint_data),
        "gradient": lambda z: gradients(z, joint_data),
        "dim": compiled.n_dim,
        "names": [str(name) for name in compiled.coords["unconstrained_parameter"]],
        "transform": transform,
        "dims": {
            **{str(name): list(dims) for name, dims in model.named_vars_to_dims.items() if name in observed},
            **{name: list(dims) for name, dims in compiled.dims.items() if not name.endswith("__")},
        },
        "coords": coords,
        "log_likelihood": log_likelihood,
        "observed": observed,
    }


def _compiled(function: Any) -> tuple[Any, tuple[np.ndarray, ...]]:
    """Compiled part of a PyTensor function, and the values of its shared variables, which are its further arguments."""
    return function.vm.jit_fn, tuple(np.asarray(variable.get_value()) for variable in function.get_shared())
