"""Errors of draws against what is known of a case."""

import math

import numpy as np


def moments(draws, weights=None):
    """Mean and standard deviation of each coordinate; `draws` has a row per draw."""
    if weights is None:
        return draws.mean(axis=0), draws.std(axis=0)
    mean = weights @ draws
    return mean, np.sqrt(weights @ (draws - mean) ** 2)


def quantiles(draws, levels, weights=None):
    """Quantiles at the levels, a row per coordinate.

    Equal weights: linear interpolation between order statistics. Weights: the first draw, in increasing order, at which the
    cumulated weight reaches the level.
    """
    if weights is None:
        return np.quantile(draws, levels, axis=0).T
    order = np.argsort(draws, axis=0, kind="stable")
    found = []
    for k in range(draws.shape[1]):
        cumulated = np.cumsum(weights[order[:, k]])
        place = np.minimum(np.searchsorted(cumulated, levels), len(cumulated) - 1)
        found.append(draws[order[place, k], k])
    return np.asarray(found)


def errors(draws, known, weights=None):
    """Errors of mean, standard deviation and quantiles, in posterior standard deviations.

    answer_error: max |mean - truth| / sd. spread_error: max |log(sd / truth)|. wasserstein: mean over coordinates of the mean over
    levels 5, 10, .., 95 % of |difference of quantiles| / sd.
    """
    mean, sd = moments(draws, weights)
    with np.errstate(divide="ignore"):
        spread_error = np.abs(np.log(sd / known.sds)).max()
    found = quantiles(draws, known.levels, weights)
    return {
        "answer_error": (np.abs(mean - known.means) / known.sds).max(),
        "spread_error": spread_error,
        "wasserstein": (np.abs(found - known.quantiles) / known.sds[:, None]).mean(),
    }


def weigh(log_weights):
    """Normalised weights, their effective number, and the log of their mean."""
    largest = log_weights.max()
    weights = np.exp(log_weights - largest)
    total = weights.sum()
    log_mean = largest + math.log(total / len(weights))
    return weights / total, total**2 / (weights**2).sum(), log_mean
