"""Log densities of other packages as targets of :func:`mcsa.fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np

from .result import Labels

__all__ = ["from_jax", "from_pymc"]


class Functions(TypedDict):
    """Log density and gradient of batches."""

    log_density: Callable[[Any], Any]
    gradient: Callable[[Any], Any]


#: Sizes of batches for which a JAX function is compiled: one point, the chains, the ascents, draws; beyond them multiples of the last.
_SIZES = (1, 8, 16, 64, 256, 1024, 4096)


def _size(count: int) -> int:
    return next((size for size in _SIZES if count <= size), -(-count // _SIZES[-1]) * _SIZES[-1])


def from_jax(function: Callable[[Any], Any]) -> Functions:
    """Log density and gradient from a JAX function of one point: of an array ``(dim,)``, ``mcsa.fit(**mcsa.from_jax(f), dim=3)``, or of
    declared parameters by name, ``mcsa.fit(**mcsa.from_jax(f), parameters={"mu": mcsa.real(), "sigma": mcsa.positive()})``.

    The function is compiled for a few sizes of a batch, to which others are filled up. Numbers have double precision whatever the setting
    of JAX.
    """
    import jax

    def compiled(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        batch = jax.jit(jax.vmap(f))

        def call(z: Any) -> Any:
            count = len(jax.tree.leaves(z)[0])
            more = _size(count) - count
            with jax.enable_x64(True):
                found = batch(jax.tree.map(lambda rows: np.concatenate([rows, np.repeat(rows[:1], more, axis=0)]), z) if more else z)
            return jax.tree.map(lambda rows: np.asarray(rows)[:count], found)

        return call

    return {"log_density": compiled(function), "gradient": compiled(jax.value_and_grad(function))}


def from_pymc(model: Any, *, prior: bool = False) -> dict[str, Any]:
    """Arguments of :func:`mcsa.fit` from a PyMC model: log density and gradient on PyMC's unconstrained scale, the map to its variables,
    log likelihood and data.

    ``mcsa.fit(**mcsa.from_pymc(model))``. Needs ``pymc``, ``nutpie`` and ``numba``: nutpie compiles the log density with its gradient.
    With ``prior=True`` the fit begins at draws of the prior, too, which PyMC compiles in some seconds; no variable may then be improper.
    """
    import numba
    import nutpie

    if not model.free_RVs:
        raise ValueError("the model has no parameters: all its variables are observed")
    if discrete := [variable.name for variable in model.free_RVs if variable.dtype.startswith(("int", "uint", "bool"))]:
        raise ValueError(f"discrete parameters ({', '.join(discrete)}) have no density: sum over them, as pymc_extras.marginalize does")
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

    # Data of `pm.Data` are shared variables, which have a value in place of `data`.
    constants = {variable.name: model.rvs_to_values[variable] for variable in model.observed_RVs}
    observed = {name: np.asarray(found.data if hasattr(found, "data") else found.eval()) for name, found in constants.items()}
    terms: list[Any] = []

    def log_likelihood(z: np.ndarray) -> dict[str, np.ndarray]:
        if not terms:
            parts = model.logp(vars=model.observed_RVs, sum=False)
            terms.append(model.compile_fn(parts, inputs=model.value_vars, on_unused_input="ignore", point_fn=False))
        by_name = expanded_by_name(z)
        points = zip(*(by_name[variable.name] for variable in model.value_vars), strict=True)
        found = [terms[0](*point) for point in points]
        return {name: np.array([row[k] for row in found]) for k, name in enumerate(observed)}

    coords: dict[str, Sequence[Any]] = {name: list(index) for name, index in compiled.coords.items() if name != "unconstrained_parameter"}
    dims = {name: list(dims) for name, dims in compiled.dims.items() if not name.endswith("__")}
    return {
        "log_density": lambda z: densities(z, joint_data),
        "gradient": lambda z: gradients(z, joint_data),
        "dim": int(compiled.n_dim),
        "names": _coordinates(model, compiled, Labels(dims=dims, coords=coords)),
        "transform": transform,
        "dims": {
            **{str(name): list(dims) for name, dims in model.named_vars_to_dims.items() if name in observed},
            **dims,
        },
        "coords": coords,
        "log_likelihood": log_likelihood,
        "observed": observed,
        **({"prior": _prior(model)} if prior else {}),
    }


def _prior(model: Any) -> tuple[Callable[[np.random.Generator, int], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    """Draws of the free variables and their log density, on the unconstrained scale."""
    import pymc

    unconstrained = []
    for variable in model.free_RVs:
        transform = model.rvs_to_transforms[variable]
        unconstrained.append(variable if transform is None else transform.forward(variable, *variable.owner.inputs))
    density = model.compile_logp(vars=model.free_RVs)
    shapes = {name: np.shape(value) for name, value in model.initial_point().items()}

    def draw(generator: np.random.Generator, count: int) -> np.ndarray:
        found = pymc.draw(unconstrained, draws=count, random_seed=generator)
        return np.concatenate([np.reshape(part, (count, -1)) for part in found], axis=1)

    def log_density(z: np.ndarray) -> np.ndarray:
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
        parts = zip(shapes.items(), np.split(z, ends[:-1], axis=1), strict=True)
        by_name = {name: part.reshape(len(z), *shape) for (name, shape), part in parts}
        return np.array([density({name: part[i] for name, part in by_name.items()}) for i in range(len(z))])

    return draw, log_density


def _coordinates(model: Any, compiled: Any, labels: Labels) -> list[str]:
    """Names of the unconstrained coordinates as tables spell them: those of the entries of a variable, where it has as many."""
    variables = {value.name: variable.name for value, variable in model.values_to_rvs.items()}
    shapes = {name: tuple(map(int, shape)) for name, _, shape in zip(*compiled.shape_info, strict=True)}
    found: list[str] = []
    for value, shape in shapes.items():
        if len(found) < compiled.n_dim:
            name = variables[value]
            spelled = labels if shape == shapes[name] else Labels()
            found += [spelled.entry(name, index) for index in np.ndindex(shape)]
    return found


def _compiled(function: Any) -> tuple[Any, tuple[np.ndarray, ...]]:
    """Compiled part of a PyTensor function, and the values of its shared variables, which are its further arguments."""
    return function.vm.jit_fn, tuple(np.asarray(variable.get_value()) for variable in function.get_shared())
