"""Pictures of a result. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .result import Result

__all__ = ["checks", "margins", "pairs", "pyplot"]

_MARGINS, _PAIRS, _POINTS = 12, 4, 1000


def pyplot() -> Any:
    """``matplotlib.pyplot``."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from error
    return pyplot


def _chosen(result: Result, names: Sequence[str] | None, most: int) -> tuple[list[str], np.ndarray]:
    """Names and draws of entries: those of these names or of parameters of these names, or the first."""
    all_names, values = result._flat(result.parameters())
    if names is None:
        places = list(range(min(most, len(all_names))))
    else:
        given = [names] if isinstance(names, str) else list(names)
        places = []
        if not given:
            raise ValueError("names is empty")
        for name in given:
            here = [i for i, entry in enumerate(all_names) if entry == name or entry.startswith(f"{name}[")]
            if not here:
                raise ValueError(f"there is no parameter {name!r}; there are {', '.join(all_names)}")
            places += here
    return [all_names[i] for i in places], values[:, places]


def _titled(result: Result, figure: Any) -> None:
    """A picture of draws that may not be used carries the word."""
    if not result.ok:
        figure.suptitle("verdict: no", color="tab:red")


def margins(result: Result, names: Sequence[str] | None) -> np.ndarray:
    """Weighted histograms."""
    chosen, values = _chosen(result, names, _MARGINS)
    columns = min(4, len(chosen))
    rows = -(-len(chosen) // columns)
    figure, axes = pyplot().subplots(rows, columns, figsize=(3.0 * columns, 2.2 * rows), squeeze=False, layout="constrained")
    for axis, name, draws, (has_mean, _) in zip(axes.flat, chosen, values.T, result._fitted.shown(values), strict=False):
        axis.hist(draws, 40, range=_range(draws, result.weights), weights=result.weights, density=True, color="tab:blue", alpha=0.6)
        if has_mean:
            axis.axvline(result.weights @ draws, color="black", linewidth=1.0)
        axis.set(title=name, yticks=[])
    for axis in axes.flat[len(chosen) :]:
        axis.remove()
    _titled(result, figure)
    return np.array(axes.flat[: len(chosen)])


def pairs(result: Result, names: Sequence[str] | None) -> np.ndarray:
    """Histograms on the diagonal, points of equal weight below it."""
    chosen, values = _chosen(result, names, _PAIRS)
    copies = np.random.default_rng(1).permutation(result._fitted.copies(len(values), 1))[:_POINTS]
    count, ranges = len(chosen), [_range(draws, result.weights) for draws in values.T]
    figure, axes = pyplot().subplots(count, count, figsize=(2.2 * count, 2.2 * count), squeeze=False, layout="constrained")
    for i, j in np.ndindex(count, count):
        axis = axes[i, j]
        if i < j:
            axis.remove()
            continue
        if i == j:
            axis.hist(values[:, i], 40, range=ranges[i], weights=result.weights, color="tab:blue", alpha=0.6)
            axis.set(xlim=ranges[i], yticks=[])
        else:
            axis.plot(values[copies, j], values[copies, i], ".", markersize=2.0, color="tab:blue", alpha=0.5)
            axis.set(xlim=ranges[j], ylim=ranges[i])
            axis.set(ylabel=chosen[i] if j == 0 else "")
        axis.set(xlabel=chosen[j] if i == count - 1 else "")
    _titled(result, figure)
    return np.asarray(axes)


def checks(result: Result) -> np.ndarray:
    """Weights by rank, and log p against log q."""
    figure, axes = pyplot().subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    weights = np.sort(result.weights)[::-1] * len(result.weights)
    axes[0].loglog(np.arange(1, len(weights) + 1), weights, color="tab:blue")
    axes[0].set_ylim(1e-3, 2.0 * max(weights[0], 1.0))
    axes[0].axhline(1.0, color="0.7", linewidth=1.0)
    k_hat, limit = result.k_hat, result._fitted.k_hat_threshold
    tail = "equal weights of chains" if result.family == "chains" else f"k-hat {k_hat:.2f} (limit {limit:.2f})"
    axes[0].set(xlabel="rank", ylabel="weight / mean weight", title=f"{tail}\neffective sample size {result.sample_size:.0f}")
    points = axes[1].scatter(result.log_q, result.log_p, 3.0, np.maximum(result.log_weights, result.log_weights.max() - 15.0))
    if np.isfinite(result.log_evidence[0]):
        at = float(result.log_q.mean())
        axes[1].axline((at, at + result.log_evidence[0]), slope=1.0, color="0.7", linewidth=1.0)
        # Draws of no weight far below the line would squeeze the others.
        low = max(result.log_p.min(), result.log_q.min() + result.log_evidence[0] - 20.0)
        axes[1].set_ylim(low - 1.0, result.log_p.max() + 1.0)
    if result.family != "chains":
        figure.colorbar(points, ax=axes[1], label="log weight")
    axes[1].set(xlabel="log q", ylabel="log p", title=f"verdict: {'yes' if result.ok else 'no'}")
    if not result.ok:
        texts = [objection.text for objection in result.verdict.objections] or [str(result.verdict)]
        words = "\n".join(texts[:3] + ([f"and {len(texts) - 3} more"] if len(texts) > 3 else []))
        figure.supxlabel(words, fontsize="small", color="tab:red", wrap=True)
    return np.asarray(axes)


def _range(draws: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Range with all but 0.2 % of the weight, so that a draw far out does not widen the picture."""
    is_finite = np.isfinite(draws)
    draws, weights = draws[is_finite], weights[is_finite]
    if not len(draws):
        return -0.5, 0.5
    order = np.argsort(draws)
    cumulated = np.cumsum(weights[order]) / max(weights.sum(), np.finfo(float).tiny)
    low, high = draws[order[np.minimum(np.searchsorted(cumulated, [0.001, 0.999]), len(draws) - 1)]]
    return (low, high) if low < high else (low - 0.5, high + 0.5)
