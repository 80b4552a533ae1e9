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
    "diagonal-gaussian": ((3,), {}),
    "wishart-gaussian": ((3,), {"freedom": 8.0, "seed": 5}),
    "gaussian": ((np.zeros(2), np.eye(2)), {}),
    "student": ((np.zeros(2), np.ones(2)), {"freedom": 4.0}),
    "skew-normal": ((), {}),
    "banana": ((), {"width": 1.0, "bend": 0.2}),
    "funnel": ((3,), {"scale": 1.0}),
    "moons": ((), {}),
    "modes": ((2,), {"distance": 4.0, "share": 0.3}),
    "mixture": (([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]], [np.eye(2), np.eye(2)]), {}),
    "eight-schools": ((), {}),
    "radon": (([0, 0, 1, 2, 2, 1, 0, 1, 2, 0, 1, 2], LABELS, Y), {}),
    "stock-volatility": ((Y,), {}),
    "fx-volatility": ((Y,), {}),
    "hierarchical-logistic": ((X, LABELS), {}),
    "logistic": ((X, LABELS), {"prior_scale": 2.0}),
    "probit": ((X, LABELS), {}),
    "poisson": ((X, LABELS + 2.0), {}),
    "linear": ((X, Y), {"noise_scale": 1.0}),
    "student-regression": ((X, Y), {}),
    "local-regression": ((X, Y), {}),
    "sparse-process": ((X, LABELS, X[:3]), {"length": 2.0}),
    "gp-classification": ((X, LABELS), {}),
    "neural-regression": ((X, Y), {"hidden": 2}),
    "robust-gp": ((X, Y), {}),
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


@pytest.mark.parametrize("name", ["logistic", "probit", "poisson"])
def test_features_in_single_precision_are_kept(name):
    narrow, z = X.astype(np.float32), RNG.normal(size=(4, 2))
    kept, widened = (mcsa.models.by_name(name, x, LABELS) for x in (narrow, narrow.astype(float)))
    assert np.array_equal(kept.log_density(z), widened.log_density(z))
    assert not np.array_equal(kept.log_density(z), mcsa.models.by_name(name, X, LABELS).log_density(z))


def test_local_precisions_are_those_of_student_errors():
    """Both forms of the regression have the same posterior of the weights: means within 0.3 standard deviations."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(25, 1))
    y = 0.7 * x[:, 0] + 0.4 * rng.standard_t(4.0, size=25)
    local = mcsa.models.local_regression(x, y)
    assert local.dim == 1 + 1 + 25 and local.num_data is None
    found = mcsa.fit(local, seed=1)
    noise = np.exp((found.weights @ found.draws)[1])
    known = mcsa.fit(mcsa.models.student_regression(x, y, scale=float(noise), freedom=4.0), seed=1)
    assert abs(found.mean[0] - known.mean[0]) < 0.3 * known.sd[0]


def test_a_sparse_process_at_its_data_is_dense():
    """With the data as inducing points and whitened values ``e`` the log density is that of ``u = L e``."""
    x = np.linspace(-2.0, 2.0, 6)[:, None]
    labels = np.array([0, 0, 1, 0, 1, 1])
    model = mcsa.models.sparse_process(x, labels, x, length=0.7)
    assert model.dim == 6 and model.num_data == 6
    factor = np.linalg.cholesky(np.exp(-0.5 * ((x - x.T) / 0.7) ** 2) + 1e-6 * np.eye(6))
    z = RNG.normal(size=(4, 6))
    odds = z @ factor.T
    terms = labels * odds - np.logaddexp(0.0, odds)
    assert np.allclose(model.log_likelihood(z), terms, atol=1e-4)
    responses = mcsa.models.sparse_process(x, x[:, 0], x, scale=0.3, freedom=4.0)
    assert np.isfinite(responses.log_density(z)).all() and responses.num_data == 6


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
        (lambda m: m.student_regression(X, Y, scale=1.0), ValueError, "both, or neither"),
        (lambda m: m.wishart_gaussian(5, freedom=3.0), ValueError, "above the dimension less one"),
        (lambda m: m.diagonal_gaussian(10**9), ValueError, "dim"),
        (lambda m: m.local_regression(X, Y, freedom=0.0), ValueError, "freedom"),
        (lambda m: m.sparse_process(X, Y, X[:3]), ValueError, "label"),
        (lambda m: m.sparse_process(X, LABELS, X[:3, :1]), ValueError, "inducing"),
        (lambda m: m.sparse_process(X, LABELS, X[:3], length=-1.0), ValueError, "length"),
        (lambda m: m.sparse_process(X, LABELS, X[:3], length=[1.0, 1.0, 1.0]), ValueError, "lengths"),
        (lambda m: m.sparse_process(X, Y, X[:3], scale=0.3, freedom=2.0), ValueError, "freedom"),
        (lambda m: m.sparse_process(X, Y, X[:3], scale=0.3), ValueError, "both, or neither"),
        (lambda m: m.banana(width=-1.0, bend=0.0), ValueError, "width"),
        (lambda m: m.funnel(-1), ValueError, "dim is -1, expected at least 0"),
        (lambda m: m.standard_gaussian(-1), ValueError, "dim is -1"),
        (lambda m: m.diagonal_gaussian(3, seed=2**64), ValueError, r"seed is 18446744073709551616, expected less than 2\*\*64"),
        (lambda m: m.logistic_regression(np.ma.masked_greater(X, X.min()), LABELS), ValueError, "x has masked entries"),
        (lambda m: m.linear_regression(X, np.ma.masked_greater(Y, Y.min()), noise_scale=1.0), ValueError, "y has masked entries"),
        (lambda m: m.standard_gaussian(2).log_density(np.zeros((3, 3))), ValueError, "points have 3 coordinates"),
        (lambda m: m.standard_gaussian(2).log_density(np.zeros(2)), TypeError, "arg|dim|ndarray"),
    ],
)
def test_wrong_data(make, error, words):
    with pytest.raises(error, match=words):
        make(mcsa.models)
