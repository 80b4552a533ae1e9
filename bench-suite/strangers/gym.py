"""Targets of inference_gym that bring their truth and need no download, through JAX. Versions: ``requirements-gym.txt``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stranger import Known, Stranger, columns

# Targets whose constants are single numbers, so that their densities are.
SINGLE = {"gym-brownian", "gym-lorenz-bridge", "gym-lorenz-bridge-unknown-scales", "gym-stochastic-volatility-small", "gym-stochastic-volatility"}
TARGETS: dict[str, Callable[[Any], Any]] = {
    "gym-brownian-unknown-scales": lambda t: t.BrownianMotionUnknownScalesMissingMiddleObservations(),
    "gym-brownian": lambda t: t.BrownianMotionMissingMiddleObservations(),
    "gym-item-response": lambda t: t.SyntheticItemResponseTheory(),
    "gym-log-gaussian-cox": lambda t: t.SyntheticLogGaussianCoxProcess(),
    "gym-lorenz-bridge": lambda t: t.ConvectionLorenzBridge(),
    "gym-lorenz-bridge-unknown-scales": lambda t: t.ConvectionLorenzBridgeUnknownScales(),
    "gym-stochastic-volatility-small": lambda t: t.VectorizedStochasticVolatilitySP500Small(),
    "gym-stochastic-volatility": lambda t: t.VectorizedStochasticVolatilitySP500(),
}


def strangers() -> Iterator[Stranger]:
    for name, make in TARGETS.items():
        target = _Target(name, make)
        yield Stranger(name, "inference_gym", target.arguments, target.reference)


class _Target:
    """A target: its density on R^d, and the sample transformations whose moments are published."""

    def __init__(self, name: str, make: Callable[[Any], Any]) -> None:
        self._name, self._make = name, make

    def _model(self) -> Any:
        import jax

        jax.config.update("jax_enable_x64", self._name not in SINGLE)
        import inference_gym.using_jax as gym

        return self._make(gym.targets)

    def arguments(self) -> dict[str, Any]:
        model = self._model()
        import jax
        import jax.numpy as jnp
        from jax import tree_util as tree

        bijectors = model.default_event_space_bijector
        leaves, structure = tree.tree_flatten(model.event_shape, is_leaf=lambda shape: hasattr(shape, "as_list") or isinstance(shape, tuple) and all(isinstance(n, int) for n in shape))
        maps = tree.tree_flatten(bijectors, is_leaf=lambda b: hasattr(b, "inverse"))[0]
        inner = [tuple(b.inverse_event_shape(shape)) for b, shape in zip(maps, leaves)]
        sizes = [int(np.prod(shape)) for shape in inner]
        ends = np.cumsum(sizes)

        def parts(z: Any) -> list[Any]:
            return [z[end - size : end].reshape(shape) for size, end, shape in zip(sizes, ends, inner)]

        def joined(z: Any) -> tuple[Any, Any]:
            raw = parts(z)
            values = [b.forward(x) for b, x in zip(maps, raw)]
            jacobian = sum(jnp.sum(b.forward_log_det_jacobian(x, event_ndims=x.ndim)) for b, x in zip(maps, raw))
            return tree.tree_unflatten(structure, values), jacobian

        def log_density(z: Any) -> Any:
            values, jacobian = joined(z)
            return model.unnormalized_log_prob(values) + jacobian

        def report(z: Any) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for name, transformation in model.sample_transformations.items():
                values = transformation(joined(z)[0])
                # The truth of a path is one array, its values are one for each time.
                if isinstance(transformation.ground_truth_mean, np.ndarray):
                    leaves = tree.tree_leaves(values)
                    values = leaves[0] if len(leaves) == 1 else jnp.stack(leaves)
                found |= _by_name(name, values)
            return found

        reported = jax.jit(jax.vmap(report))

        def transform(z: np.ndarray) -> dict[str, np.ndarray]:
            return {name: np.asarray(x, float) for name, x in reported(jnp.asarray(z)).items()}

        batch = jax.jit(jax.vmap(log_density))
        slopes = jax.jit(jax.vmap(jax.value_and_grad(log_density)))
        return {
            "log_density": lambda z: np.asarray(batch(jnp.asarray(z)), float),
            "gradient": lambda z: tuple(np.asarray(x, float) for x in slopes(jnp.asarray(z))),
            "dim": int(ends[-1]),
            "names": [f"z[{i}]" for i in range(int(ends[-1]))],
            "transform": transform,
        }

    def reference(self) -> dict[str, Known]:
        found: dict[str, Known] = {}
        for name, transformation in self._model().sample_transformations.items():
            if transformation.ground_truth_mean is None or transformation.ground_truth_standard_deviation is None:
                continue
            means, sds = (columns({key: np.asarray(x, float)[None] for key, x in _by_name(name, truth).items()})
                          for truth in (transformation.ground_truth_mean, transformation.ground_truth_standard_deviation))
            found |= {key: Known(float(mean[0]), float(sds[key][0]), (np.nan,) * 3) for key, mean in means.items()}
        return found | (_brownian_scales() if self._name == "gym-brownian-unknown-scales" else {})


def _brownian_scales() -> dict[str, Known]:
    """Moments of the two scales of the Brownian motion, whose published ones are off by up to 0.3 standard deviations.

    Given the scales the observations y are normal with covariance ``s^2 min(t, u) + r^2 I``, so that paths are integrated out in closed
    form; what is left is a sum over a grid of ``log s`` and ``log r``, both with priors N(0, 4).
    """
    from inference_gym.internal.datasets import brownian_motion_missing_middle_observations as data

    y = np.asarray(data.OBSERVED_LOC, float)
    times = 1.0 + np.flatnonzero(np.isfinite(y))
    variances, vectors = np.linalg.eigh(np.minimum.outer(times, times))
    squares = (vectors.T @ y[np.isfinite(y)]) ** 2
    log_s, log_r = np.linspace(-8, 2, 401)[:, None], np.linspace(-16, 2, 901)[None]
    log_p = -(log_s**2 + log_r**2) / 8
    for variance, square in zip(variances, squares):
        total = np.exp(2 * log_s) * variance + np.exp(2 * log_r)
        log_p = log_p - 0.5 * np.log(total) - 0.5 * square / total
    weights = np.exp(log_p - log_p.max())
    found = {}
    for name, scales in (("innovation", np.exp(log_s)), ("observation", np.exp(log_r))):
        mean = float((weights * scales).sum() / weights.sum())
        sd = float(np.sqrt((weights * (scales - mean) ** 2).sum() / weights.sum()))
        found[f"identity.{name}_noise_scale"] = Known(mean, sd, (np.nan,) * 3)
    return found


def _by_name(name: str, values: Any) -> dict[str, Any]:
    """Arrays of a structure, by the name of the structure and their place in it."""
    from jax import tree_util as tree

    return {name + re.sub(r"\W+", ".", tree.keystr(path)).rstrip("."): x for path, x in tree.tree_flatten_with_path(values)[0]}
