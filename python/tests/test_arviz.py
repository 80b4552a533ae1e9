"""Results in ArviZ and as Zarr archives."""

import json
import warnings

import mcsa
import mcsa.arviz
import numpy as np
import pytest


def labelled_fit():
    """A regression with a log likelihood, labels of sides, and a parameter on another scale."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 2))
    y = x @ [1.0, -0.5] + rng.normal(size=40)

    def terms(z):
        return -0.5 * ((y - z[:, :2] @ x.T) * np.exp(-np.clip(z[:, 2:], -50.0, 50.0))) ** 2 - z[:, 2:] - 0.5 * np.log(2 * np.pi)

    return mcsa.fit(
        lambda z: terms(z).sum(axis=1) - 0.5 * (z**2).sum(axis=1),
        3,
        transform=lambda z: {"weights": z[:, :2], "noise": np.exp(z[:, 2])},
        dims={"weights": ["feature"], "y": ["row"]},
        coords={"feature": ["age", "größe"], "row": np.arange(1, 41)},
        log_likelihood=terms,
        observed={"y": y},
        seed=1,
    )


@pytest.fixture(scope="module")
def result():
    return labelled_fit()


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50, 2))
    return mcsa.fit(mcsa.models.linear_regression(x, x.sum(axis=1) + rng.normal(size=50), noise_scale=1.0), seed=1)


@pytest.fixture(scope="module")
def schools():
    return mcsa.fit(mcsa.models.eight_schools(), seed=1)


def variable(fitted):
    """The first variable of the posterior."""
    return next(iter(mcsa.arviz.groups(fitted, resample=True).groups["posterior"]))


def numbers(path):
    shape = json.loads((path / "zarr.json").read_text())["shape"]
    return np.fromfile(next(file for file in (path / "c").rglob("*") if file.is_file()), dtype="<f8").reshape(shape)


def test_an_archive_needs_no_package(result, tmp_path):
    result.to_zarr(tmp_path / "fit.zarr", resample=False)
    place = tmp_path / "fit.zarr"
    assert np.array_equal(numbers(place / "posterior/weights")[0], result.draws[:, :2])
    assert np.array_equal(numbers(place / "posterior/noise")[0], np.exp(result.draws[:, 2]))
    assert np.array_equal(numbers(place / "sample_stats/log_q")[0], result.log_q)
    assert numbers(place / "log_likelihood/y").shape == (1, 4000, 40)
    metadata = json.loads((place / "posterior/weights/zarr.json").read_text())
    assert metadata["dimension_names"] == ["chain", "draw", "feature"]
    whole = json.loads((place / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
    assert whole["sample_stats"]["attributes"]["verdict"] == whole["posterior"]["attributes"]["verdict"]
    # It may be replaced, anything else may not.
    result.to_zarr(place)
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="no Zarr archive"):
        result.to_zarr(tmp_path / "other")


def test_sides_are_checked(schools, tmp_path):
    def with_labels(**labels):
        return mcsa.fit(mcsa.models.eight_schools(), seed=1, **labels)

    with pytest.raises(ValueError, match="dims names 2 sides of mu"):
        with_labels(dims={"mu": ["a", "b"]}).to_zarr(tmp_path / "a")
    with pytest.raises(ValueError, match="labels of school"):
        with_labels(dims={"y": ["school"]}, coords={"school": "ABC"}).to_zarr(tmp_path / "a")
    with pytest.raises(ValueError, match="the side draw has"):
        with_labels(dims={"y": ["draw"]}).to_zarr(tmp_path / "a")
    with pytest.raises(TypeError, match="callable"):
        with_labels(log_likelihood=np.zeros(3))
    with pytest.raises(ValueError, match="log_likelihood gave y the shape"):
        with_labels(log_likelihood=lambda z: np.zeros((3, 2))).to_zarr(tmp_path / "a")
    with pytest.raises(TypeError, match="transform gave ndarray; expected a dict"):
        with_labels(transform=lambda z: z).summary()
    assert not (tmp_path / "a").exists()


def version():
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
    return arviz, int(arviz.__version__.split(".")[0])


def test_arviz_1_reads_archives_and_trees_without_a_warning(result, regression, tmp_path):
    """summary, loo and loo_approximate_posterior on files written by Rust and on trees."""
    az, major = version()
    if major < 1:
        pytest.skip("ArviZ 1.x is not installed")
    pytest.importorskip("zarr", reason="zarr is not installed")
    import arviz_stats

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fitted, name in ((result, "noise"), (regression, variable(regression))):
            path = tmp_path / f"{name}.zarr"
            fitted.to_zarr(path)
            trees = az.from_zarr(path), fitted.to_arviz()
            fitted.to_zarr(path.with_suffix(".weighted"), resample=False)
            weighted = az.from_zarr(path.with_suffix(".weighted")), fitted.to_arviz(resample=False)
            found = []
            for tree, draws in zip(trees, weighted, strict=True):
                table = az.summary(tree, var_names=[name], round_to="none")
                first = name if name == "noise" else fitted.summary().names[0]
                assert abs(float(table["mean"].iloc[0]) - fitted.summary()[first]["mean"]) < 0.1 * fitted.summary()[first]["sd"]
                loo = az.loo(tree)
                stats = draws["sample_stats"]
                approximate = arviz_stats.loo_approximate_posterior(draws, log_p=stats["log_p"], log_q=stats["log_q"])
                assert abs(loo.elpd - approximate.elpd) < 0.5
                assert tree["posterior"].attrs["verdict"] == ("yes" if fitted.ok else "no")
                assert set(tree.children) == {"posterior", "sample_stats", "log_likelihood", "observed_data"}
                found.append((table["mean"].iloc[0], loo.elpd, approximate.elpd))
            assert found[0] == found[1]
    tree = az.from_zarr(tmp_path / "noise.zarr")
    assert list(tree["posterior"]["feature"].values) == ["age", "größe"]
    assert tree["posterior"]["weights"].dims == ("chain", "draw", "feature")
    assert list(tree["observed_data"]["row"].values) == list(range(1, 41))


def test_arviz_0_reads_results_without_a_warning(result, regression):
    az, major = version()
    if major >= 1:
        pytest.skip("ArviZ 0.x is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fitted, name in ((result, "noise"), (regression, variable(regression))):
            data = fitted.to_arviz()
            table = az.summary(data, var_names=[name], round_to=None)
            first = name if name == "noise" else fitted.summary().names[0]
            assert abs(table["mean"].iloc[0] - fitted.summary()[first]["mean"]) < 0.1 * fitted.summary()[first]["sd"]
            assert np.isfinite(az.loo(data).elpd_loo)
            assert data.posterior.attrs["verdict"] == ("yes" if fitted.ok else "no")
            assert data.observed_data["y"].ndim == 1


def test_draws_of_q_keep_their_weights(schools):
    version()
    data = schools.to_arviz(resample=False)
    stats = data["sample_stats"] if "sample_stats" in data else data.sample_stats
    assert np.array_equal(np.asarray(stats["log_q"])[0], schools.log_q)
    assert np.array_equal(np.asarray(stats["log_weight"])[0], schools.log_weights)
