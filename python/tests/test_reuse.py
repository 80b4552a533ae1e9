"""Answers used again: as the start of another fit, and as the prior of further data."""

import mcsa
import numpy as np
import pytest

NOISE, PRIOR = 0.7, 2.0
X = np.stack([np.ones(20), np.linspace(-1.0, 1.0, 20)], axis=1)
Y = X @ [0.5, 1.5] + NOISE * np.sin(1.7 * np.arange(20))
# 4,000 draws have means within 0.016 and standard deviations within 0.011 standard deviations: five of these.
MOST = 0.08


def model(rows):
    return mcsa.models.linear_regression(X[rows], Y[rows], noise_scale=NOISE, prior_scale=PRIOR)


def agrees(result, rows, most):
    covariance = np.linalg.inv(X[rows].T @ X[rows] / NOISE**2 + np.eye(2) / PRIOR**2)
    mean, sd = covariance @ X[rows].T @ Y[rows] / NOISE**2, np.sqrt(np.diag(covariance))
    return (abs(result.mean - mean) < most * sd).all() and (abs(result.sd - sd) < most * sd).all()


def test_a_fit_begins_at_another():
    earlier = mcsa.fit(model(slice(0, 18)), seed=1)
    cold, warm = mcsa.fit(model(slice(0, 20)), seed=1), mcsa.fit(model(slice(0, 20)), seed=1, start_from=earlier)
    assert warm.ok and cold.ok and agrees(warm, slice(0, 20), MOST)
    assert sum(warm.evaluations.values()) < sum(cold.evaluations.values())
    # Twin: the earlier answer is another.
    assert not agrees(earlier, slice(0, 20), MOST)


def test_a_saved_result_is_the_same_start(tmp_path):
    earlier = mcsa.fit(model(slice(0, 18)), seed=1)
    earlier.save(tmp_path / "earlier.npz")
    saved = mcsa.load(tmp_path / "earlier.npz")
    results = [mcsa.fit(model(slice(0, 20)), seed=1, start_from=start) for start in (earlier, saved)]
    np.testing.assert_array_equal(results[0].draws, results[1].draws)
    z = earlier.draws[:5]
    np.testing.assert_array_equal(saved.as_prior().log_density(z), earlier.as_prior().log_density(z))


def test_another_dimension_is_an_error():
    earlier = mcsa.fit(model(slice(0, 18)), seed=1)
    with pytest.raises(ValueError, match="start from an earlier fit"):
        mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 3, start_from=earlier)


def test_a_posterior_is_a_prior():
    first = mcsa.fit(model(slice(0, 12)), seed=1)
    prior = first.as_prior()

    def posterior(y):
        return lambda z: prior.log_density(z) - 0.5 * (((y - z @ X[12:].T) / NOISE) ** 2).sum(axis=1)

    def slope(z):
        return prior.gradient(z) + ((Y[12:] - z @ X[12:].T) / NOISE**2) @ X[12:]

    for gradient in (None, slope):
        second = mcsa.fit(posterior(Y[12:]), 2, gradient, prior=prior, seed=2)
        assert second.ok and agrees(second, slice(0, 20), 2 * MOST)
        # Twin: the further data alone.
        assert not agrees(second, slice(12, 20), 2 * MOST)
    other = mcsa.fit(posterior(np.ones(8)), 2, seed=2)
    assert not agrees(other, slice(0, 20), 2 * MOST)


def test_a_posterior_of_declared_parameters_is_a_prior_of_them():
    coin = {"p": mcsa.unit()}

    def tosses(heads, tails):
        def log_likelihood(p):
            return heads * np.log(p["p"]) + tails * np.log1p(-p["p"])

        return log_likelihood, lambda p: {"p": heads / p["p"] - tails / (1 - p["p"])}

    def is_beta(result, heads, tails):  # the posterior after a uniform prior
        mean = (heads + 1) / (heads + tails + 2)
        return abs(result.summary().mean[0] - mean) < 0.005

    first = mcsa.fit(*tosses(12, 4)[:1], gradient=tosses(12, 4)[1], parameters=coin, seed=1)
    more, slope = tosses(8, 4)
    for gradient in (None, slope, lambda p: (more(p), slope(p))):
        second = mcsa.fit(more, gradient=gradient, parameters=coin, prior=first.as_prior(), start_from=first, seed=2)
        assert second.ok and second.summary().names == ["p"] and is_beta(second, 20, 8)
        # Twin: the further data alone.
        assert not is_beta(second, 8, 4)
    with pytest.raises(TypeError, match="as_prior"):
        mcsa.fit(more, parameters=coin, prior=(lambda generator, n: generator.normal(size=(n, 1)), lambda z: -0.5 * z[:, 0] ** 2))


def test_draws_of_a_prior_have_its_moments():
    first = mcsa.fit(model(slice(0, 12)), seed=1)
    prior = first.as_prior()
    drawn = prior.draw(np.random.default_rng(1), 10_000)
    assert drawn.shape == (10_000, 2)
    assert (abs(drawn.mean(axis=0) - first.mean) < 5 * first.sd / 100).all()
    assert (abs(drawn.std(axis=0) / first.sd - 1) < 0.05).all()
    # The gradient is that of the density.
    step = 1e-5
    z = drawn[:4]
    shifts = step * np.eye(2)
    slopes = np.stack([(prior.log_density(z + s) - prior.log_density(z - s)) / (2 * step) for s in shifts], axis=1)
    np.testing.assert_allclose(prior.gradient(z), slopes, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="3 coordinates; the prior has 2"):
        prior.log_density(np.zeros((1, 3)))


def test_a_no_is_no_prior():
    with pytest.raises(ValueError, match="verdict is no"):
        mcsa.fit(model(slice(0, 12)), seed=1, evaluations=200).as_prior()


def test_an_ascent_is_no_start_but_the_fit_is_made():
    ascended = mcsa.ascend(model(slice(0, 12)), seed=1)
    plain, started = (mcsa.fit(model(slice(0, 12)), seed=1, start_from=start) for start in (None, ascended))
    np.testing.assert_array_equal(plain.draws, started.draws)
