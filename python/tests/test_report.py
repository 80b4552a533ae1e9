"""Tables, pages of notebooks, and pictures of a result."""

import sys

import mcsa
import numpy as np
import pytest
from targets import gaussian, slope


@pytest.fixture(scope="module")
def result():
    return mcsa.fit(
        gaussian,
        2,
        slope,
        seed=1,
        transform=lambda z: {"mu": z[:, 0], "theta": z},
        dims={"theta": ["side"]},
        coords={"side": ["<left>", "right"]},
    )


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_labels_stand_in_the_table(result):
    assert result.summary().names == ["mu", "theta[<left>]", "theta[right]"]
    assert abs(result.summary()["theta[right]"]["mean"] + 2.0) < 0.3
    # Without labels of the right side the index stands there.
    labels = mcsa.result.Labels(dims={"theta": ["side"], "x": ["a"]}, coords={"side": ["A"]})
    assert labels.entry("theta", (0,)) == "theta[A]" and labels.entry("theta", (1,)) == "theta[1]"
    assert labels.entry("x", (0, 1)) == "x[0,1]" and labels.entry("mu", ()) == "mu"


def test_pages_of_notebooks(result):
    page = result.summary()._repr_html_()
    assert page.count("<tr>") == 4 and "theta[&lt;left&gt;]" in page and "<left>" not in page
    page = result._repr_html_()
    assert "log evidence" in page and "Reliable: yes" in page and page.count("<table>") == 1
    no = mcsa.fit(gaussian, 2, lambda z: 2.0 * slope(z), seed=3)
    assert "Reliable: no<br>" in no._repr_html_() and all(found.text.split(":")[0] in no._repr_html_() for found in no.verdict.objections)


def test_draws_as_a_table(result):
    pytest.importorskip("pandas", reason="pandas is not installed")
    table, draws = result.to_pandas(), result.to_pandas(resample=False)
    assert list(table.columns) == result.summary().names == list(draws.columns)
    assert np.array_equal(draws["theta[right]"], result.draws[:, 1])
    assert np.array_equal(table["theta[right]"], result.resampled()[:, 1])
    assert abs(table["mu"].mean() - result.mean[0]) < 0.02


def test_margins(result, pyplot):
    axes = result.plot()
    assert [axis.get_title() for axis in axes] == result.summary().names
    assert axes[0].figure.get_suptitle() == ""
    assert [axis.get_title() for axis in result.plot("mu")] == ["mu"]
    assert [axis.get_title() for axis in result.plot(["theta"])] == ["theta[<left>]", "theta[right]"]
    with pytest.raises(ValueError, match="no parameter 'thet'; there are mu, theta"):
        result.plot(["thet"])
    unchecked = mcsa.ascend(gaussian, 2, steps=100, draws=200)
    assert unchecked.plot()[0].figure.get_suptitle() == "verdict: no"
    # A model of the library is drawn on the scale of its parameters.
    tau = mcsa.fit(mcsa.models.eight_schools(), seed=1, draws=400).plot("tau")[0]
    assert tau.get_xlim()[0] > -1.0 and tau.get_xlim()[1] > 5.0
    many = mcsa.ascend(lambda z: -0.5 * (z**2).sum(axis=1), 20, steps=10, draws=200)
    assert len(many.plot()) == 12 and len(many.plot(["z[19]"])) == 1


def test_pairs(result, pyplot):
    axes = result.plot_pair()
    assert axes.shape == (3, 3) and axes[2, 0].get_xlabel() == "mu" and axes[2, 0].get_ylabel() == "theta[right]"
    assert len(axes[2, 0].lines) == 1 and len(axes[2, 0].lines[0].get_xdata()) == 1000


def test_checks(result, pyplot):
    left, right = result.plot_checks()
    assert f"k-hat {result.k_hat:.2f}" in left.get_title() and right.get_title() == "verdict: yes"
    no = mcsa.fit(gaussian, 2, lambda z: 2.0 * slope(z), seed=3)
    left, right = no.plot_checks()
    assert right.get_title() == "verdict: no" and "gradient" in left.figure.get_supxlabel()


def test_pictures_without_matplotlib(result, monkeypatch):
    """Nothing else needs it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert repr(result) and result._repr_html_()
    for draw in (result.plot, result.plot_pair, result.plot_checks):
        with pytest.raises(ImportError, match="pictures need matplotlib: pip install matplotlib"):
            draw()


def test_labels_of_a_model_of_the_library():
    result = mcsa.fit(mcsa.models.eight_schools(), dims={"theta": ["school"]}, coords={"school": list("ABCDEFGH")}, seed=1)
    assert "theta[C]" in result.summary().names and "theta[2]" not in result.summary().names
    plain = mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 2, dims={"z": ["side"]}, coords={"side": ["left", "right"]}, seed=1)
    assert plain.summary().names == ["z[left]", "z[right]"]


def test_simulated_data():
    result = mcsa.fit(lambda z: -0.5 * (z[:, 0] - 3.0) ** 2, 1, names=["mu"], seed=1)
    y = result.predict(lambda p, rng: rng.normal(p["mu"][:, None], 1.0, size=(len(p["mu"]), 5)), count=2_000, seed=4)
    assert y.shape == (2_000, 5) and abs(y.mean() - 3.0) < 0.15 and abs(y.std() - np.sqrt(2)) < 0.1
    given = mcsa.fit(
        lambda z: -0.5 * (z[:, 0] - 3.0) ** 2, 1, generated=lambda z, seed: {"y": np.random.default_rng(seed).normal(z[:, 0])}, seed=1
    )
    first, again, other = (given.generated(seed=seed)["y"] for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other) and abs(first.mean() - 3.0) < 0.15
    assert result.generated() == {}


def test_simulated_data_are_those_of_the_parameters(tmp_path):
    schools = mcsa.fit(mcsa.models.eight_schools(), seed=1)
    declared = mcsa.fit(lambda p: -p["a"].sum(axis=1), parameters={"a": mcsa.positive(2)}, seed=1)
    assert declared.family != "chains", "its weights differ"
    declared.save(tmp_path / "declared")
    for result, name in ((schools, "tau"), (declared, "a"), (mcsa.load(tmp_path / "declared"), "a")):
        drawn = result.predict(lambda p, rng: p[name])  # noqa: B023
        values = result.parameters()[name]
        mean, sd = result.weights @ values, np.sqrt(result.weights @ (values - result.weights @ values) ** 2)
        assert drawn.min() > 0.0 and (np.abs(drawn.mean(axis=0) - mean) < 0.1 * sd).all()
        assert len(result.predict(lambda p, rng: p[name], count=10)) == 10  # noqa: B023


def test_functions_may_work_in_place():
    def transform(z):
        z[:, 1] = np.exp(z[:, 1])
        return {"mu": z[:, 0], "sigma": z[:, 1]}

    result = mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 2, transform=transform, log_likelihood=lambda z: z.__imul__(2.0), seed=1)
    before = result.draws.copy()
    assert repr(result) == repr(result) and len(result.loo().pointwise) == 2
    result.parameters()["mu"] += 100.0
    assert np.array_equal(result.draws, before) and abs(result.summary()["mu"]["mean"]) < 0.1


def test_draws_without_weight_have_no_moments():
    result = mcsa.ascend(lambda z: np.where(z[:, 0] > 50.0, -z[:, 0], -np.inf), 1, steps=100)
    assert np.isnan(result.mean).all() and np.isnan(result.sd).all() and np.isnan(result.summary().mean).all()
    assert "-" in repr(result)


def test_values_that_are_no_numbers_have_no_quantiles(pyplot):
    with np.errstate(invalid="ignore"):
        result = mcsa.fit(lambda z: -0.5 * z[:, 0] ** 2, 1, transform=lambda z: {"root": np.sqrt(z[:, 0]), "z": z[:, 0]}, seed=1)
        assert np.isnan(result.summary()["root"]["50%"]) and abs(result.summary()["z"]["50%"]) < 0.1
        assert "far out" not in repr(result) and len(result.plot()) == 2


def test_progress_of_an_ascent_has_the_whole_length(capsys):
    mcsa.ascend(lambda z: -0.5 * (z**2).sum(axis=1), 1, steps=11_000, progress=True)
    words = capsys.readouterr().err
    assert "of 11000" in words and "of 10000" not in words


def test_families_of_ascents_are_words():
    assert mcsa.ascend(lambda z: -0.5 * (z**2).sum(axis=1), 2, steps=50).family == "mean-field"
