"""Results in ArviZ."""

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


def test_groups_need_no_package(result):
    groups, attributes, dims, coords = mcsa.arviz.groups(result, resample=False)
    assert np.array_equal(groups["posterior"]["weights"], result.draws[:, :2])
    assert np.array_equal(groups["posterior"]["noise"], np.exp(result.draws[:, 2]))
    assert np.array_equal(groups["sample_stats"]["log_q"], result.log_q)
    assert groups["log_likelihood"]["y"].shape == (4000, 40) and groups["observed_data"]["y"].shape == (40,)
    assert dims["weights"] == ["feature"] and coords["feature"] == ["age", "größe"]
    assert attributes["verdict"] == ("yes" if result.ok else "no")


def test_sides_are_checked():
    def groups_with(**labels):
        return mcsa.arviz.groups(mcsa.fit(mcsa.models.eight_schools(), seed=1, **labels), resample=True)

    with pytest.raises(ValueError, match="dims names 2 sides of mu"):
        groups_with(dims={"mu": ["a", "b"]})
    with pytest.raises(ValueError, match="labels of school"):
        groups_with(dims={"y": ["school"]}, coords={"school": "ABC"})
    with pytest.raises(ValueError, match="the side draw has"):
        groups_with(dims={"y": ["draw"]})
    with pytest.raises(TypeError, match="callable"):
        groups_with(log_likelihood=np.zeros(3))
    with pytest.raises(ValueError, match="log_likelihood gave y the shape"):
        groups_with(log_likelihood=lambda z: np.zeros((3, 2)))
    with pytest.raises(TypeError, match="transform gave ndarray; expected a dict"):
        mcsa.fit(mcsa.models.eight_schools(), seed=1, transform=lambda z: z).summary()


@pytest.mark.parametrize(
    ("names", "variables"),
    [
        (["a/b", "a_b"], ["a_b_", "a_b"]),
        (["a/b[0]", "a_b"], ["a_b_", "a_b"]),
        (["a/b", "a\\b"], ["a_b", "a_b_"]),
        (["chain", "draw"], ["chain_", "draw_"]),
        (["x[0]", "x_dim_0"], ["x", "x_dim_0"]),
        (["x[0]", "x"], ["x[0]", "x"]),
        (["x[²]", "y"], ["x[²]", "y"]),
        (["x[0]", "x[2]"], ["x", "x[2]"]),
        (["x[0]", "x[00]"], ["x", "x[00]"]),
        (["x[0]", "x[1]"], ["x"]),
    ],
)
def test_every_parameter_has_its_variable(names, variables):
    fitted = mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 2, names=names, seed=1, draws=200, starts=3)
    posterior, dims = (lambda found: (found.groups["posterior"], found.dims))(mcsa.arviz.groups(fitted, resample=False))
    assert list(posterior) == variables
    columns = np.concatenate([values.reshape(200, -1) for values in posterior.values()], axis=1)
    assert np.array_equal(columns, fitted.draws)
    sides = {side for name in posterior for side in dims[name]}
    assert not sides & {*posterior, "chain", "draw"}
    pytest.importorskip("arviz", reason="ArviZ is not installed")
    data = fitted.to_arviz()
    assert set(data["posterior"].data_vars) == set(variables)


def version():
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
    return arviz, int(arviz.__version__.split(".")[0])


def test_arviz_1_reads_results_without_a_warning(result, regression):
    """summary, loo and loo_approximate_posterior on trees."""
    az, major = version()
    if major < 1:
        pytest.skip("ArviZ 1.x is not installed")
    import arviz_stats

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fitted, name in ((result, "noise"), (regression, variable(regression))):
            tree, draws = fitted.to_arviz(), fitted.to_arviz(resample=False)
            table = az.summary(tree, var_names=[name], round_to="none")
            first = name if name == "noise" else fitted.summary().names[0]
            assert abs(float(table["mean"].iloc[0]) - fitted.summary()[first]["mean"]) < 0.1 * fitted.summary()[first]["sd"]
            loo = az.loo(tree)
            stats = draws["sample_stats"]
            approximate = arviz_stats.loo_approximate_posterior(draws, log_p=stats["log_p"], log_q=stats["log_q"])
            assert abs(loo.elpd - approximate.elpd) < 0.5
            assert tree["posterior"].attrs["verdict"] == ("yes" if fitted.ok else "no")
            assert set(tree.children) == {"posterior", "sample_stats", "log_likelihood", "observed_data"}
    tree = result.to_arviz()
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


def test_arviz_writes_results_to_files(result, tmp_path):
    """The attributes are plain enough for every format."""
    az, major = version()
    pytest.importorskip("h5netcdf", reason="h5netcdf is not installed")
    data = result.to_arviz()
    data.to_netcdf(tmp_path / "fit.nc")
    read = az.from_netcdf(tmp_path / "fit.nc")
    posterior = read["posterior"] if "posterior" in read else read.posterior
    assert np.array_equal(posterior["noise"], data["posterior"]["noise"])
    assert posterior.attrs["verdict_words"] == str(result.verdict)
    if major < 1:
        pytest.skip("ArviZ 0.x writes with older versions of zarr alone")
    pytest.importorskip("zarr", reason="zarr is not installed")
    data.to_zarr(tmp_path / "fit.zarr")
    assert (tmp_path / "fit.zarr").is_dir()


def test_draws_of_q_keep_their_weights(schools):
    version()
    data = schools.to_arviz(resample=False)
    stats = data["sample_stats"] if "sample_stats" in data else data.sample_stats
    assert np.array_equal(np.asarray(stats["log_q"])[0], schools.log_q)
    assert np.array_equal(np.asarray(stats["log_weight"])[0], schools.log_weights)


def test_draws_of_chains_stand_chain_by_chain():
    version()
    effects = np.array([2.8, 0.8, -0.3, 0.7, -0.1, 0.1, 1.8, 1.2])

    def log_density(p):  # a centred hierarchy, which no q follows
        tau = p["tau"][:, None]
        off = (p["theta"] - p["mu"][:, None]) / tau
        return -0.5 * (off**2 + (effects - p["theta"]) ** 2).sum(axis=1) - 8 * np.log(p["tau"]) - 0.5 * p["mu"] ** 2 - p["tau"] ** 2 / 2

    parameters = {"mu": mcsa.real(), "tau": mcsa.positive(), "theta": mcsa.real(8)}
    fitted = mcsa.fit(log_density, parameters=parameters, seed=1)
    assert fitted.family == "chains"
    theta = np.asarray(fitted.to_arviz()["posterior"]["theta"])
    assert theta.shape == (8, 500, 8)
    assert np.array_equal(theta.reshape(4000, 8), fitted.parameters()["theta"])
