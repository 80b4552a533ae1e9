"""Models of the library by name."""

import mcsa
import numpy as np
import pytest

RNG = np.random.default_rng(1)
X = RNG.normal(size=(12, 2))
LABELS = (RNG.uniform(size=12) < 0.5).astype(float)
Y = RNG.normal(size=12)
DATA = {
    "standard-gaussian": ((3,), {}),
    "correlated-gaussian": ((3,), {"correlation": 0.5}),
    "gaussian": ((np.zeros(2), np.eye(2)), {}),
    "student": ((np.zeros(2), np.ones(2)), {"freedom": 4.0}),
    "skew-normal": ((), {}),
    "banana": ((), {"width": 1.0, "bend": 0.2}),
    "funnel": ((3,), {"scale": 1.0}),
    "many-well": ((2,), {}),
    "moons": ((), {}),
    "modes": ((2,), {"distance": 4.0, "share": 0.3}),
    "mixture": (([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]], [np.eye(2), np.eye(2)]), {}),
    "eight-schools": ((), {}),
    "radon": (([0, 0, 1, 2, 2, 1, 0, 1, 2, 0, 1, 2], LABELS, Y), {}),
    "stock-volatility": ((Y,), {}),
    "fx-volatility": ((Y,), {}),
    "hierarchical-logistic": ((X, LABELS), {}),
    "horseshoe-logistic": ((X, LABELS), {}),
    "logistic": ((X, LABELS), {"prior_scale": 2.0}),
    "probit": ((X, LABELS), {}),
    "linear": ((X, Y), {"noise_scale": 1.0}),
    "unknown-noise": ((X, Y), {}),
    "student-regression": ((X, Y), {}),
    "gp-classification": ((X, LABELS), {}),
    "neural-regression": ((X, Y), {"hidden": 2}),
    "robust-gp": ((X, Y), {}),
    "cox-process": ((np.array([[1, 0], [2, 1]]),), {}),
}


def test_every_model_has_data_here():
    assert set(DATA) == set(mcsa.models.MODELS)


@pytest.mark.parametrize("name", DATA)
def test_a_model_by_name(name):
    data, settings = DATA[name]
    model = mcsa.models.by_name(name, *data, **settings)
    z = RNG.normal(size=(5, model.dim)) * 0.3
    assert np.isfinite(model.log_density(z)).all() and str(model.dim) in repr(model)
    result = mcsa.fit(model, draws=200, starts=3, evaluations=20_000, seed=1)
    assert result.draws.shape == (200, model.dim) and np.isfinite(result.mean).all()
    if model.num_data is not None:
        terms = model.log_likelihood(z)
        assert terms.shape == (5, model.num_data) and np.isfinite(terms).all()
        assert set(result.log_likelihood()) == {"y"} == set(result._labels.observed)


def test_likelihood_terms_are_those_of_the_density():
    model = mcsa.models.logistic_regression(X, LABELS, prior_scale=2.0)
    z = RNG.normal(size=(4, 2))
    prior = -0.5 * (z**2).sum(axis=1) / 4.0 - 2 * np.log(2.0 * np.sqrt(2 * np.pi))
    assert np.allclose(model.log_likelihood(z).sum(axis=1) + prior, model.log_density(z), rtol=1e-12)
    with pytest.raises(ValueError, match="no likelihood terms"):
        mcsa.models.funnel(2).log_likelihood(z)


def test_sources_of_data_that_are_no_plain_arrays():
    plain = mcsa.models.logistic_regression(X, LABELS)
    z = RNG.normal(size=(4, 2))
    others = [
        (X.tolist(), LABELS.astype(bool)),
        (np.asfortranarray(X), LABELS.astype(np.int8)),
        (np.repeat(X, 2, axis=0)[::2], np.repeat(LABELS, 2)[::2]),
        (X.astype(">f8"), LABELS),
    ]
    for x, y in others:
        model = mcsa.models.logistic_regression(x, y)
        assert np.array_equal(model.log_density(z), plain.log_density(z))
        assert np.array_equal(model.log_density(np.asfortranarray(z)), plain.log_density(z))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda m: m.by_name("ising"), ValueError, "no model 'ising'; there are"),
        (lambda m: m.logistic_regression(X, LABELS[:5]), ValueError, "labels has length 5, expected 12"),
        (lambda m: m.logistic_regression(X, LABELS + 0.5), ValueError, "label"),
        (lambda m: m.logistic_regression(X, LABELS, prior_scale=-1.0), ValueError, "prior"),
        (lambda m: m.logistic_regression(X + 1j, LABELS), TypeError, "complex128; expected real numbers"),
        (lambda m: m.logistic_regression(np.array([["a", "b"]]), [1.0]), TypeError, "expected real numbers"),
        (lambda m: m.logistic_regression(np.where(X > 1, np.nan, X), LABELS), ValueError, "finite"),
        (lambda m: m.eight_schools([1.0], [1.0, 2.0]), ValueError, "errors has length 2, expected 1"),
        (lambda m: m.eight_schools([1.0], [0.0]), ValueError, "error is 0"),
        (lambda m: m.gaussian(np.zeros(2), -np.eye(2)), ValueError, "definite"),
        (lambda m: m.gaussian(np.zeros(2), np.eye(3)), ValueError, "covariance|length|3"),
        (lambda m: m.mixture([1.0], [[0.0], [1.0]], [np.eye(1)]), ValueError, "1 covariances for 2 means"),
        (lambda m: m.radon([0, -1], [0.0, 1.0], [1.0, 1.0]), ValueError, "whole numbers from 0 on"),
        (lambda m: m.radon([0.5, 1.0], [0.0, 1.0], [1.0, 1.0]), ValueError, "whole numbers from 0 on"),
        (lambda m: m.cox_process([[1, 2, 3]]), ValueError, "expected a square"),
        (lambda m: m.student_regression(X, Y, scale=1.0), ValueError, "both, or neither"),
        (lambda m: m.banana(width=-1.0, bend=0.0), ValueError, "width"),
        (lambda m: m.funnel(-1), OverflowError, "negative"),
        (lambda m: m.standard_gaussian(2).log_density(np.zeros((3, 3))), ValueError, "points have 3 coordinates"),
        (lambda m: m.standard_gaussian(2).log_density(np.zeros(2)), TypeError, "arg|dim|ndarray"),
    ],
)
def test_wrong_data(make, error, words):
    with pytest.raises(error, match=words):
        make(mcsa.models)
