"""Results as data of ArviZ."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .result import Result


class Groups(NamedTuple):
    """Variables of each group, with the sides of every variable and labels along the sides."""

    groups: dict[str, dict[str, np.ndarray]]
    attributes: dict[str, Any]
    dims: dict[str, list[str]]
    coords: dict[str, list[Any]]


#: Groups whose variables begin with the sides chain and draw.
_DRAWN = ("posterior", "sample_stats", "log_likelihood", "posterior_predictive")


def groups(result: Result, resample: bool) -> Groups:
    """The groups ``posterior``, ``sample_stats``, and, where they are known, ``log_likelihood``, ``posterior_predictive`` and ``observed_data``."""
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
    if resample and (generated := result.generated()):
        found["posterior_predictive"] = generated
    if labels.observed:
        found["observed_data"] = dict(labels.observed)
    log, error = result.log_evidence
    attributes = {
        "inference_library": "mcsa",
        "verdict": "yes" if result.ok else "no",
        "verdict_words": str(result.verdict),
        "family": result.family,
        "k_hat": result.k_hat,
        "effective_sample_size": result.sample_size,
        "evaluations": sum(result.evaluations.values()),
        "log_evidence": log,
        "log_evidence_error": error,
        "resampled": int(resample),
    }
    coords = {name: list(values) for name, values in labels.coords.items()}
    renamed = _names([name for variables in found.values() for name in variables], labels.dims)
    found = {group: {renamed[name]: values for name, values in variables.items()} for group, variables in found.items()}
    dims = {renamed.get(name, name): list(sides) for name, sides in labels.dims.items()}
    taken = {*renamed.values(), *(side for sides in dims.values() for side in sides)}
    for group, variables in found.items():
        sizes = {"chain": 1, "draw": count} if group in _DRAWN else {}
        for name, values in variables.items():
            shape = values.shape[group in _DRAWN :]
            if name not in dims:
                dims[name] = [_free(f"{name}_dim_{k}", taken) for k in range(len(shape))]
            named = dims[name]
            if len(named) != len(shape):
                raise ValueError(f"dims names {len(named)} sides of {name}, which has {len(shape)}")
            for side, size in zip(named, shape, strict=True):
                if sizes.setdefault(side, size) != size:
                    raise ValueError(f"the side {side} has {sizes[side]} and {size} entries")
                if side in coords and len(coords[side]) != size:
                    raise ValueError(f"coords has {len(coords[side])} labels of {side}, which has {size} entries")
    return Groups(found, attributes, dims, coords)


def _chains(result: Result) -> int:
    """Number of chains of the draws, which stand chain after chain; draws of q are one. Resampling leaves draws of equal weight as they are."""
    ends = result._fitted.handover[0] if result.family == "chains" and result._fitted.handover else ()
    return len(ends) if len(ends) and len(result.draws) % len(ends) == 0 else 1


def to_arviz(result: Result, *, resample: bool = True) -> Any:
    """The groups as an ``InferenceData`` of ArviZ 0.x or a ``DataTree`` of 1.x, the verdict among the attributes."""
    import arviz

    found, attributes, dims, coords = groups(result, resample)
    chains = _chains(result)
    data: dict[str, Any] = {
        group: {name: values.reshape(chains, -1, *values.shape[1:]) if group in _DRAWN else values for name, values in variables.items()}
        for group, variables in found.items()
    }
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(
            data, attrs={"posterior": attributes, "sample_stats": attributes}, dims=dims, coords=coords
        )
    attrs: dict[str, Any] = {"posterior_attrs": attributes, "sample_stats_attrs": attributes}
    return arviz.from_dict(**data, **attrs, dims=dims, coords=coords)


def _grouped(parameters: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Parameters named ``theta[0]``, ``theta[1]``, ... as one variable ``theta``, where no other parameter has this name."""
    found: dict[str, Any] = {}
    for name, values in parameters.items():
        entry = re.fullmatch(r"(.+)\[([0-9]+)\]", name)
        stem, index = (entry[1], entry[2]) if entry and entry[1] not in parameters else (name, "")
        if index == str(len(found.get(stem, []))):
            found.setdefault(stem, []).append(values)
        else:
            found[name] = values
    return {name: np.stack(values, axis=1) if isinstance(values, list) else values for name, values in found.items()}


def _names(names: list[str], dims: dict[str, list[str]]) -> dict[str, str]:
    """Names of variables for ArviZ and its files, which are distinct, have no slash, and are not those of sides."""
    sides = {"chain", "draw", *(side for sides in dims.values() for side in sides)}
    is_kept = {name: name not in sides and not {"/", "\\"} & set(name) for name in names}
    taken = {*sides, *(name for name in names if is_kept[name])}
    return {name: name if kept else _free(re.sub(r"[/\\]", "_", name), taken) for name, kept in is_kept.items()}


def _free(name: str, taken: set[str]) -> str:
    """The name, with underscores behind it if it is taken; now it is."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
