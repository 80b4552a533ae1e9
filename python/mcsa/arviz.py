"""Results as data of ArviZ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .result import Result


def to_arviz(result: Result, *, resample: bool = True) -> Any:
    """Groups ``posterior`` and ``sample_stats`` (``log_p``, ``log_q``, ``log_weight``), with the verdict among the attributes."""
    import arviz

    log_p, log_q, log_weight = result.log_p, result.log_q, result.log_weights
    named = result.parameters()
    if resample:
        # Systematic resampling keeps copies side by side, in the order of the draws.
        copies = result._fitted.copies(len(log_p), 1)
        named = {name: values[copies] for name, values in named.items()}
        log_p, log_q = log_p[copies], log_q[copies]
        log_weight = np.full(len(log_p), -np.log(len(log_p)))
    stats = {"log_p": log_p, "log_q": log_q, "log_weight": log_weight}
    groups = {
        "posterior": {name: values[np.newaxis] for name, values in named.items()},
        "sample_stats": {name: values[np.newaxis] for name, values in stats.items()},
    }
    log, error = result.log_evidence
    attributes = {
        "inference_library": "mcsa",
        "verdict": "yes" if result.ok else "no",
        "verdict_words": result.verdict,
        "k_hat": result.k_hat,
        "effective_sample_size": result.sample_size,
        "log_evidence": log,
        "log_evidence_error": error,
        "resampled": int(resample),
    }
    labels = {"dims": dict(result._labels.dims), "coords": dict(result._labels.coords)}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups, attrs={"posterior": attributes}, **labels)
    return arviz.from_dict(**groups, posterior_attrs=attributes, **labels)
