"""Models with one likelihood term per datum, and SL-DAIS."""

import warnings

import mcsa
import numpy as np
import pytest

X = np.stack([np.ones(400), np.linspace(-1, 1, 400)], axis=1)
Y = X @ [0.5, -1.0] + np.sin(37.0 * np.arange(400))


def log_prior(z):
    return -0.5 * z @ z, -z


def log_likelihood(z, rows):
    rest = Y[rows] - X[rows] @ z
    return -0.5 * rest**2, rest[:, None] * X[rows]


def model(**parts):
    return mcsa.Terms(2, 400, **{"log_prior": log_prior, "log_likelihood": log_likelihood, **parts})


def moments():
    """Mean and standard deviations in closed form: a linear regression with standard normal errors and weights."""
    covariance = np.linalg.inv(np.eye(2) + X.T @ X)
    return covariance @ X.T @ Y, np.sqrt(np.diag(covariance))


PATHS = {"kind": "sl-dais", "points": 40, "batch": 40}
BOUND = {"kind": "minibatched", "samples": 4, "batch": 40}


@pytest.mark.parametrize(("method", "family"), [(PATHS, "mean-field"), (PATHS, "full-rank"), (BOUND, "full-rank")])
def test_minibatches_reach_the_posterior(method, family):
    result = mcsa.ascend(model(), method=method, family=family, steps=4_000, rate=0.01, seed=1)
    mean, sd = moments()
    assert result.k_hat < 0.5
    assert np.abs((result.mean - mean) / sd).max() < 0.1 and np.abs(result.sd / sd - 1).max() < 0.1
    # Twin: a likelihood whose gradient has another sign goes elsewhere.
    wrong = model(log_likelihood=lambda z, rows: (log_likelihood(z, rows)[0], -log_likelihood(z, rows)[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        away = mcsa.ascend(wrong, method=method, family=family, steps=1_000, rate=0.01, seed=1)
    assert not away.k_hat < 0.7


def test_a_step_takes_as_many_terms_as_a_batch():
    seen = []
    watched = model(log_likelihood=lambda z, rows: (seen.append(len(rows)), log_likelihood(z, rows))[1])
    ascent = mcsa.Ascent(watched, method=BOUND, family="low-rank", draws=1)
    ascent.run(10)
    assert seen.count(40) == 4 * 10 and set(seen) == {40, 400}


@pytest.mark.parametrize("method", [PATHS, BOUND])
def test_a_run_in_pieces_has_the_same_draws(method, tmp_path):
    whole = mcsa.ascend(model(), method=method, steps=400, seed=2)
    first = mcsa.Ascent(model(), method=method, seed=2, checkpoint=tmp_path / "state")
    first.run(150)
    first.save(tmp_path / "state")
    again = mcsa.ascend(model(), method=method, steps=400, seed=2, checkpoint=tmp_path / "state")
    assert np.array_equal(whole.draws, again.draws) and np.array_equal(whole.weights, again.weights)


def test_any_fit_takes_a_model_of_terms():
    result = mcsa.fit(model(names=["intercept", "slope"]), seed=1)
    mean, sd = moments()
    assert result.ok and np.abs((result.mean - mean) / sd).max() < 0.1
    assert result.summary().names == ["intercept", "slope"]
    assert result.loo().elpd < 0.0


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ({"method": PATHS | {"points": 401}}, ValueError, "401 data: the target has 400"),
        ({"method": PATHS | {"points": 0}}, ValueError, "subset of 0"),
        ({"method": PATHS | {"batch": 500}}, ValueError, "500"),
        ({"method": PATHS | {"walkers": 3}}, ValueError, "unknown field `walkers`"),
        ({"method": PATHS, "family": "student-t"}, ValueError, "mean-field and full-rank"),
        ({"method": PATHS, "kernel": "hmc"}, ValueError, "no kernel"),
        ({"method": BOUND, "kernel": "hmc"}, ValueError, "no kernel"),
        ({"method": BOUND | {"batch": 401}}, ValueError, "401 rows a batch, the target has 400"),
        ({"method": BOUND | {"points": 3}}, ValueError, "unknown field `points`"),
    ],
)
def test_wrong_paths(parts, error, words):
    with pytest.raises(error, match=words):
        mcsa.ascend(model(), steps=10, **parts)


def test_minibatches_need_terms():
    for method in (PATHS, BOUND):
        with pytest.raises(ValueError, match="mcsa.Terms"):
            mcsa.ascend(lambda z: -0.5 * (z**2).sum(axis=1), 2, method=method, steps=10)


def test_terms_bring_what_a_model_brings():
    prior = (lambda generator, n: generator.normal(size=(n, 2)), lambda z: -0.5 * (z**2).sum(axis=1))
    for given in ({"dim": 2}, {"names": ["a", "b"]}, {"prior": prior}):
        with pytest.raises(TypeError, match="a model brings its own"):
            mcsa.fit(model(), **given)
    with pytest.raises(TypeError, match="must be callable"):
        model(log_likelihood=None)


def test_overflow_far_out_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rate = mcsa.Terms(1, 3, log_prior=lambda z: (-z[0], -np.ones(1)), log_likelihood=lambda z, rows: (z[0] - np.exp(z[0] * (1 + rows)), np.ones((len(rows), 1))))
        rate.log_likelihood(np.array([[1e3]]))


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda z, rows: log_likelihood(z, rows)[0], TypeError, "pair"),
        (lambda z, rows: (log_likelihood(z, rows)[0][1:], log_likelihood(z, rows)[1]), ValueError, "shape"),
        (lambda z, rows: 1 / 0, ZeroDivisionError, "zero"),
    ],
)
def test_errors_of_callables_are_raised(wrong, error, words):
    with pytest.raises(error, match=words):
        mcsa.ascend(model(log_likelihood=wrong), method=PATHS, steps=10)
