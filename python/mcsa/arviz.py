"""Results as data of ArviZ, and as Zarr archives."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._mcsa import write_zarr

if TYPE_CHECKING:
    from .result import Result


class Groups(NamedTuple):
    """Variables of each group, with the sides of every variable and labels along the sides."""

    groups: dict[str, dict[str, np.ndarray]]
    attributes: dict[str, Any]
    dims: dict[str, list[str]]
    coords: dict[str, list[Any]]


#: Groups whose variables begin with the sides chain and draw.
_DRAWN = ("posterior", "sample_stats", "log_likelihood")


def groups(result: Result, resample: bool) -> Groups:
    """The groups ``posterior``, ``sample_stats``, and, where they are known, ``log_likelihood`` and ``observed_data``."""
    count, labels = len(result.draws), result._labels
    # Systematic resampling keeps copies side by side, in the order of the draws.
    chosen = np.array(result._fitted.copies(count, 1)) if resample else np.arange(count)
    even = np.full(count, -np.log(count))
    stats = {
        "log_p": result.log_p[chosen],
        "log_q": result.log_q[chosen],
        "log_weight": even if resample else result.log_weights,
    }
    posterior = {name: values[chosen] for name, values in _grouped(result.parameters()).items()}
    found = {"posterior": posterior, "sample_stats": stats}
    likelihood = result.log_likelihood()
    if likelihood:
        found["log_likelihood"] = {name: values[chosen] for name, values in likelihood.items()}
    if labels.observed:
        found["observed_data"] = {name: np.asarray(values) for name, values in labels.observed.items()}
    log, error = result.log_evidence
    attributes = {
        "inference_library": "mcsa",
        "verdict": "yes" if result.ok else "no",
        "verdict_words": result.verdict,
        "family": result.family,
        "k_hat": result.k_hat,
        "effective_sample_size": result.sample_size,
        "evaluations": sum(result.evaluations.values()),
        "log_evidence": log,
        "log_evidence_error": error,
        "resampled": int(resample),
    }
    dims = {name: list(sides) for name, sides in labels.dims.items()}
    for group, variables in found.items():
        for name, values in variables.items():
            sides = values.ndim - (group in _DRAWN)
            named = dims.setdefault(name, [f"{name}_dim_{k}" for k in range(sides)])
            if len(named) != sides:
                raise ValueError(f"dims names {len(named)} sides of {name}, which has {sides}")
    coords = {name: list(values) for name, values in labels.coords.items()}
    return Groups(found, attributes, dims, coords)


def to_arviz(result: Result, *, resample: bool = True) -> Any:
    """The groups as an ``InferenceData`` of ArviZ 0.x or a ``DataTree`` of 1.x, the verdict among the attributes."""
    import arviz

    found, attributes, dims, coords = groups(result, resample)
    data = {
        group: {name: values[np.newaxis] if group in _DRAWN else values for name, values in variables.items()}
        for group, variables in found.items()
    }
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(
            data, attrs={"posterior": attributes, "sample_stats": attributes}, dims=dims, coords=coords
        )
    attrs = {"posterior_attrs": attributes, "sample_stats_attrs": attributes}
    return arviz.from_dict(**data, **attrs, dims=dims, coords=coords)


def to_zarr(result: Result, path: str | os.PathLike[str], *, resample: bool = True) -> None:
    """The groups as a Zarr archive, version 3 of the format, written without any package of Python."""
    found, attributes, dims, coords = groups(result, resample)
    archive = []
    for group, variables in found.items():
        leading = ["chain", "draw"] if group in _DRAWN else []
        sizes: dict[str, int] = {}
        arrays = []
        for name, values in variables.items():
            values = np.asarray(values)[np.newaxis] if leading else np.asarray(values)
            sides = leading + dims[name]
            for side, size in zip(sides, values.shape, strict=True):
                if sizes.setdefault(side, size) != size:
                    raise ValueError(f"the side {side} has {sizes[side]} and {size} entries")
            numbers = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
            arrays.append((name, list(values.shape), sides, numbers))
        labels = [_labels(side, size, coords) for side, size in sizes.items()]
        own = attributes if group in ("posterior", "sample_stats") else {"inference_library": "mcsa"}
        archive.append((group, json.dumps(_finite(own)), labels + arrays))
    write_zarr(os.fspath(path), archive)


def _labels(side: str, size: int, coords: dict[str, list[Any]]) -> tuple[str, list[int], list[str], Any]:
    """Labels along a side, as an array of the archive."""
    values: Any = np.asarray(coords.get(side, np.arange(size)))
    if values.shape != (size,):
        raise ValueError(f"coords has {len(values)} labels of {side}, which has {size} entries")
    if values.dtype.kind in "iu":
        values = values.astype(np.int64)
    elif values.dtype.kind == "f":
        values = values.astype(np.float64)
    else:
        values = [str(value) for value in values]
    return side, [size], [side], values


def _finite(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes as JSON, which knows neither NaN nor infinities."""
    return {
        name: str(value) if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in attributes.items()
    }


def _grouped(parameters: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Parameters named ``theta[0]``, ``theta[1]``, ... as one variable ``theta``; slashes are no part of a name."""
    found: dict[str, Any] = {}
    for name, values in parameters.items():
        stem, _, index = name.removesuffix("]").partition("[")
        stem = (stem if index.isdigit() else name).replace("/", "_").replace("\\", "_")
        if not index.isdigit():
            found[stem] = values
        elif isinstance(found.get(stem, []), list) and int(index) == len(found.get(stem, [])):
            found.setdefault(stem, []).append(values)
        else:
            found[name] = values
    return {name: np.stack(values, axis=1) if isinstance(values, list) else values for name, values in found.items()}
