"""Leave-one-out cross-validation and comparison of fits."""

import mcsa
import numpy as np
import pytest

Y = np.array([-0.3, 0.4, 1.2, 0.9, 2.1, 1.8, 3.3, 2.6])
LINE = np.stack([np.ones(8), np.linspace(-1.0, 1.0, 8)], axis=1)
NOISE, PRIOR = 0.5, 1.0


def fitted(x=LINE, y=Y, **options):
    return mcsa.fit(mcsa.models.linear_regression(x, y, noise_scale=NOISE, prior_scale=PRIOR), seed=1, **options)


def log_normal(y, mean, variance):
    return -0.5 * ((y - mean) ** 2 / variance + np.log(2 * np.pi * variance))


def exact(x, y):
    """Log evidence, and the log density of each datum given the others."""

    def posterior(kept):
        covariance = np.linalg.inv(x[kept].T @ x[kept] / NOISE**2 + np.eye(x.shape[1]) / PRIOR**2)
        return covariance @ x[kept].T @ y[kept] / NOISE**2, covariance

    def predicted(i, kept):
        mean, covariance = posterior(kept)
        return log_normal(y[i], x[i] @ mean, x[i] @ covariance @ x[i] + NOISE**2)

    everything = np.arange(len(y))
    chain = sum(predicted(i, everything[:i]) for i in everything)
    return chain, np.array([predicted(i, np.delete(everything, i)) for i in everything])


def test_loo_has_its_closed_form():
    loo = fitted().loo()
    _, pointwise = exact(LINE, Y)
    # 4,000 draws give each density to about 0.01.
    np.testing.assert_allclose(loo.pointwise, pointwise, atol=0.03)
    assert loo.elpd == pytest.approx(pointwise.sum(), abs=0.05)
    assert loo.error == pytest.approx(np.sqrt(8) * pointwise.std(ddof=1), abs=0.03)
    assert loo.unreliable == 0 and loo.limit == 0.7 and (loo.k_hat < 0.7).all()
    assert loo.names[:2] == ["y[0]", "y[1]"]
    # Twin: the density with the datum itself is larger.
    with_itself = fitted()
    likelihood = np.log(with_itself.weights @ np.exp(with_itself.log_likelihood()["y"]))
    assert likelihood.sum() - loo.elpd == pytest.approx(loo.p_loo)
    assert loo.p_loo > 1.0


def test_an_outlier_raises_its_k():
    y = Y.copy()
    y[7] = 7.0
    usual, outlying = fitted().loo(), fitted(y=y).loo()
    assert outlying.unreliable == 1 and outlying.k_hat[7] > 0.7 > outlying.k_hat[:7].max()
    assert usual.k_hat[7] < 0.7
    assert "1 of 8" in repr(outlying) and "<td>1 of 8</td>" in outlying._repr_html_()


def test_models_are_compared():
    line, mean = fitted(), fitted(x=LINE[:, :1])
    found = mcsa.compare({"mean": mean, "line": line})
    assert found.names == ["line", "mean"] and len(found) == 2
    (log_line, loo_line), (log_mean, loo_mean) = exact(LINE, Y), exact(LINE[:, :1], Y)
    row = found["mean"]
    assert row["difference"] == pytest.approx(log_mean - log_line, abs=5 * row["difference_error"] + 1e-3)
    assert row["elpd_difference"] == pytest.approx((loo_mean - loo_line).sum(), abs=0.1)
    assert row["elpd_difference_error"] == pytest.approx(np.sqrt(8) * (loo_mean - loo_line).std(ddof=1), abs=0.1)
    assert found["line"]["probability"] == pytest.approx(1 / (1 + np.exp(log_mean - log_line)), abs=1e-3)
    assert found["line"]["elpd_difference"] == 0.0 == found["line"]["elpd_difference_error"]
    head, first, second = repr(found).split("\n")
    assert head.split()[:2] == ["log", "evidence"] and first.split()[0] == "line" and second.split()[0] == "mean"
    assert found._repr_html_().count("<tr>") == 3
    # Results in a list have numbers as names.
    assert mcsa.compare([mean, line]).names == ["result 1", "result 0"]


def test_data_of_one_name_belong_together():
    def fitted_in(order, mean):
        def log_likelihood(z):
            terms = {"a": -0.5 * (z[:, :1] - 1.0) ** 2, "b": -0.5 * (z[:, 1:] - mean) ** 2}
            return {name: terms[name] for name in order}

        return mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 2, log_likelihood=log_likelihood, seed=1)

    first = fitted_in("ab", 3.0)
    same, turned = (mcsa.compare({"first": first, "other": fitted_in(order, 3.1)}) for order in ("ab", "ba"))
    assert np.array_equal(same.elpd_difference_error, turned.elpd_difference_error)


def test_a_table_of_pandas():
    pytest.importorskip("pandas")
    line = fitted()
    table = mcsa.compare({"line": line}).to_pandas()
    assert table.loc["line", "probability"] == 1.0 and "elpd" in table.columns
    assert list(line.loo().to_pandas().columns) == ["elpd", "k_hat"]


def test_a_no_is_an_error_with_its_name():
    line, cut = fitted(), fitted(evaluations=200)
    with pytest.raises(ValueError, match="short: its verdict is no"):
        mcsa.compare({"line": line, "short": cut})
    with pytest.raises(ValueError, match="result 1: its verdict is no"):
        mcsa.compare([line, cut])
    with pytest.raises(ValueError, match="nothing to compare"):
        mcsa.compare([])
    with pytest.raises(ValueError, match="few: it has 7 data, and line has 8"):
        mcsa.compare({"line": line, "few": fitted(x=LINE[:7], y=Y[:7])})


def test_without_a_likelihood_the_evidence_alone_is_compared():
    plain = mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 1, seed=1)
    with pytest.raises(ValueError, match="log_likelihood"):
        plain.loo()
    found = mcsa.compare({"plain": plain, "line": fitted()})
    assert found.elpd is None and "elpd" not in found["plain"] and "elpd" not in repr(found)


def test_a_saved_result_has_the_same_loo(tmp_path):
    line = fitted()
    line.save(tmp_path / "line.npz")
    saved = mcsa.load(tmp_path / "line.npz")
    np.testing.assert_array_equal(saved.loo().pointwise, line.loo().pointwise)
    assert mcsa.compare([saved])["result 0"]["elpd"] == line.loo().elpd


def test_arviz_agrees():
    arviz = pytest.importorskip("arviz")
    if int(arviz.__version__.split(".")[0]) >= 1:
        pytest.skip("ArviZ 1.x has LOO of weighted draws elsewhere")
    line = fitted()
    found = arviz.loo(line.to_arviz(), pointwise=True)
    # Resampled draws have more noise.
    assert float(found.elpd_loo) == pytest.approx(line.loo().elpd, abs=0.1)
    assert float(found.p_loo) == pytest.approx(line.loo().p_loo, abs=0.1)


def test_other_data_and_other_types_are_errors():
    def model(y):
        return mcsa.fit(lambda z: -0.5 * z[:, 0] ** 2, 1, log_likelihood=lambda z: -0.5 * (y - z) ** 2, observed={"y": y}, seed=1)

    one, other = model(np.array([1.0, 2.0])), model(np.array([1.0, 3.0]))
    with pytest.raises(ValueError, match="other data"):
        mcsa.compare([one, other])
    assert len(mcsa.compare([one, one])) == 2
    with pytest.raises(TypeError, match="one result"):
        mcsa.compare(one)
    with pytest.raises(TypeError, match="result 1 is a int"):
        mcsa.compare([one, 3])
