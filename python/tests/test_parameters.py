"""Declared parameters: transforms, log-Jacobians, slopes, and fits."""

import mcsa
import numpy as np
import pytest
from mcsa.parameters import Declared

SETS = {
    "a": mcsa.real((2, 2)),
    "s": mcsa.positive(),
    "p": mcsa.unit(2),
    "b": mcsa.interval(-1.0, 3.0),
    "w": mcsa.simplex(4),
    "c": mcsa.ordered(3),
    "R": mcsa.correlation(3),
}


def points(declared, count=5, seed=1):
    return np.random.default_rng(seed).normal(size=(count, declared.dim))


def test_values_lie_in_their_sets():
    declared = Declared(SETS)
    assert declared.dim == 4 + 1 + 2 + 1 + 3 + 3 + 3
    values, log_jacobian = declared.at(3.0 * points(declared))
    assert {name: value.shape for name, value in values.items()} == {
        "a": (5, 2, 2), "s": (5,), "p": (5, 2), "b": (5,), "w": (5, 4), "c": (5, 3), "R": (5, 3, 3),
    }  # fmt: skip
    assert log_jacobian.shape == (5,)
    assert (values["s"] > 0).all() and ((values["p"] > 0) & (values["p"] < 1)).all() and ((values["b"] > -1) & (values["b"] < 3)).all()
    assert (values["w"] > 0).all() and np.allclose(values["w"].sum(axis=1), 1.0) and (np.diff(values["c"]) > 0).all()
    assert np.array_equal(values["R"], values["R"].transpose(0, 2, 1)) and (np.linalg.eigvalsh(values["R"]) > 0).all()
    one, log_one = declared.at(3.0 * points(declared)[0])
    assert np.array_equal(one["R"], values["R"][0]) and log_one == log_jacobian[0]


def determining(values, declared):
    """The numbers that determine the others, one point per row."""
    return np.stack([values[name][(slice(None), *index)] for name, index in declared.coordinates()], axis=1)


@pytest.mark.parametrize("name", SETS)
def test_log_jacobians_are_log_determinants(name):
    declared = Declared({name: SETS[name]})
    z, step = points(declared, 1), 1e-5
    moved = np.concatenate([z + step * np.eye(declared.dim), z - step * np.eye(declared.dim)])
    ahead, behind = np.split(determining(declared.values(moved), declared), 2)
    expected = np.linalg.slogdet((ahead - behind) / (2 * step))[1]
    assert abs(declared.at(z)[1][0] - expected) < 1e-7
    # Counterexample: that of another point.
    if name not in ("a",):
        assert abs(declared.at(z + 0.1)[1][0] - expected) > 1e-4


def density(values):
    """A function of all of them that has a slope everywhere."""
    return sum(np.sin(value + k).reshape(len(value), -1).sum(axis=1) for k, value in enumerate(values.values()))


def slopes(values):
    return {name: np.cos(value + k) for k, (name, value) in enumerate(values.items())}


def test_gradients_are_those_of_differences():
    declared = Declared(SETS)
    log_density, gradient = declared.log_density(density), declared.gradient(slopes)
    pair = declared.gradient(lambda values: (density(values), slopes(values)))
    z, step = points(declared), 1e-5 * np.eye(declared.dim)
    differences = np.stack([(log_density(z + h) - log_density(z - h)) / 2e-5 for h in step], axis=1)
    assert np.allclose(gradient(z), differences, atol=1e-7)
    values, at = pair(z)
    assert np.array_equal(values, log_density(z)) and np.array_equal(at, gradient(z))
    # Counterexample: slopes of another function.
    wrong = declared.gradient(lambda values: {name: -slope for name, slope in slopes(values).items()})
    assert not np.allclose(wrong(z), differences, atol=1e-2)


def test_jax_gives_the_same_slopes():
    jax = pytest.importorskip("jax", reason="JAX is not installed")

    def of_one(values):
        return sum(jax.numpy.sin(values[name] + k).sum() for k, name in enumerate(SETS))

    functions, declared = mcsa.from_jax(of_one), Declared(SETS)
    z = points(declared)
    assert np.allclose(declared.log_density(functions["log_density"])(z), declared.log_density(density)(z), rtol=1e-13)
    values, at = declared.gradient(functions["gradient"])(z)
    assert np.allclose(values, declared.log_density(density)(z), rtol=1e-13)
    assert np.allclose(at, declared.gradient(slopes)(z), rtol=1e-12, atol=1e-13)


Y = np.random.default_rng(3).normal(2.0, 1.5, size=40)


def normal(p):
    """Normal data with unknown mean and scale; prior ``1 / scale``."""
    error = (Y - p["mu"][..., np.newaxis]) / p["sigma"][..., np.newaxis]
    return -0.5 * (error**2).sum(axis=-1) - (len(Y) + 1) * np.log(p["sigma"])


def normal_slopes(p):
    error = (Y - p["mu"][..., np.newaxis]) / p["sigma"][..., np.newaxis]
    return {"mu": error.sum(axis=-1) / p["sigma"], "sigma": ((error**2).sum(axis=-1) - len(Y) - 1) / p["sigma"]}


NORMAL = {"mu": mcsa.real(), "sigma": mcsa.positive()}


def test_a_fit_of_declared_parameters():
    """The posterior of sigma^2 is a scaled inverse chi-squared one with 39 degrees of freedom."""
    by_density = mcsa.fit(normal, parameters=NORMAL, seed=1)
    with_gradient = mcsa.fit(normal, None, normal_slopes, parameters=NORMAL, seed=1)
    by_hand = mcsa.fit(lambda z: normal({"mu": z[:, 0], "sigma": np.exp(z[:, 1])}) + z[:, 1], 2, seed=1)
    square = 39 * Y.var(ddof=1)
    for result in (by_density, with_gradient):
        assert result.ok and result.summary().names == ["mu", "sigma"]
        assert abs(result.summary()["mu"]["mean"] - Y.mean()) < 0.02
        assert abs(result.weights @ result.parameters()["sigma"] ** 2 - square / 37) < 0.1
        assert (result.parameters()["sigma"] > 0).all()
    assert np.allclose(by_density.draws, by_hand.draws, atol=1e-9)
    # Counterexample: without the Jacobian the answer is another one.
    without = mcsa.fit(lambda z: normal({"mu": z[:, 0], "sigma": np.exp(z[:, 1])}), 2, seed=1)
    assert not np.allclose(without.draws, by_hand.draws, atol=1e-3)


def test_a_function_of_one_point():
    def one(p):
        assert np.ndim(p["mu"]) == 0
        return normal(p)

    batch = mcsa.fit(normal, None, normal_slopes, parameters=NORMAL, seed=1)
    points = mcsa.fit(one, None, normal_slopes, parameters=NORMAL, seed=1, vectorized=False)
    assert np.allclose(batch.draws, points.draws, atol=1e-12)
    with pytest.raises(Exception) as caught:
        mcsa.fit(lambda p: -0.5 * float(p["mu"] @ p["mu"]), parameters={"mu": mcsa.real(2)})
    assert "vectorized=False" in "".join(caught.value.__notes__)


def test_tables_and_objections_have_the_names_of_entries():
    parameters = {"theta": mcsa.real(2), "w": mcsa.simplex(3), "R": mcsa.correlation(2)}
    result = mcsa.fit(
        lambda p: -0.5 * (p["theta"] ** 2).sum(axis=1) + np.log(p["w"]).sum(axis=1),
        None,
        lambda p: {"theta": p["theta"], "w": 1.0 / p["w"], "R": np.zeros_like(p["R"])},
        parameters=parameters,
        dims={"theta": ["school"]},
        coords={"school": ["A", "B"]},
        seed=1,
    )
    names = result.summary().names
    assert names == ["theta[A]", "theta[B]", "w[0]", "w[1]", "w[2]", "R[1,0]"]
    (gradient,) = [objection for objection in result.verdict.objections if objection.kind == "gradient"]
    assert gradient.parameter in ("theta[A]", "theta[B]") and gradient.parameter in gradient.text
    assert result.parameters()["R"].shape == (4000, 2, 2)
    assert np.allclose(result.mean[:2], 0.0, atol=0.1) and abs(result.summary()["w[2]"]["mean"] - 1 / 3) < 0.02


def test_sides_of_an_unknown_parameter_are_an_error():
    with pytest.raises(TypeError, match=r"no parameter 'mus' \(did you mean 'mu'\?\); the parameters and data are mu, sigma, y"):
        mcsa.fit(normal, parameters=NORMAL, dims={"y": ["row"], "mus": ["group"]}, observed={"y": Y})


def test_other_functions_take_parameters_too(tmp_path):
    result = mcsa.fit(
        normal,
        parameters=NORMAL,
        transform=lambda p: {"mu": p["mu"], "variance": p["sigma"] ** 2},
        log_likelihood=lambda p: -0.5 * ((Y - p["mu"][:, np.newaxis]) / p["sigma"][:, np.newaxis]) ** 2,
        seed=1,
    )
    assert result.summary().names == ["mu", "variance"] and result.log_likelihood()["y"].shape == (4000, 40)
    matrix = mcsa.fit(lambda p: -(p["x"] ** 2), parameters={"x": mcsa.real(), "R": mcsa.correlation(3)}, seed=1, draws=200)
    for fitted in (result, matrix):
        fitted.save(tmp_path / "result")
        assert repr(mcsa.load(tmp_path / "result")) == repr(fitted)


def test_a_fit_in_a_file_goes_on(tmp_path):
    whole = mcsa.fit(normal, parameters=NORMAL, seed=2, draws=300)
    mcsa.Fit(normal, parameters=NORMAL, seed=2, draws=300).save(tmp_path / "fit")
    resumed = mcsa.resume(tmp_path / "fit", normal, parameters=NORMAL)
    assert np.array_equal(resumed.draws, whole.draws)
    ascended = mcsa.ascend(normal, parameters=NORMAL, steps=200)
    assert set(ascended.parameters()) == {"mu", "sigma"}


def test_points_out_of_range_lie_outside_the_support():
    declared = Declared(NORMAL)
    log_density = declared.log_density(normal)
    with np.errstate(all="ignore"):
        assert log_density(np.array([[0.0, -800.0]]))[0] == -np.inf
        # NaN of the density itself is no matter of range.
        nowhere = declared.log_density(lambda p: np.full(len(p["mu"]), np.nan))
        assert np.isnan(nowhere(np.zeros((1, 2)))[0])
        # Nor is it of a real number that is far from 0, as that of a bounded parameter is.
        assert np.isnan(nowhere(np.array([[800.0, 0.0]]))[0]) and nowhere(np.array([[0.0, 800.0]]))[0] == -np.inf


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"parameters": {}}, ValueError, "parameters is empty"),
        ({"parameters": {"mu": 3}}, TypeError, "'mu' is a int; expected mcsa.real"),
        ({"parameters": {"mu": mcsa.real}}, TypeError, "'mu' is a function"),
        ({"parameters": NORMAL, "dim": 2}, TypeError, "bring their own dimension"),
        ({"parameters": NORMAL, "names": ["a", "b"]}, TypeError, "bring their own dimension"),
        ({"parameters": {"b": mcsa.interval(2.0, 1.0)}}, ValueError, '"b": no interval from 2 to 1'),
        ({"parameters": {"w": mcsa.simplex(1)}}, ValueError, "no free coordinate"),
        ({"parameters": {"a": mcsa.real(10**12)}}, ValueError, "a parameter|1000000000000"),
        ({"parameters": {"R": mcsa.correlation(10**12)}}, ValueError, "1000000000000"),
        ({}, TypeError, "dim, the number of unconstrained coordinates, is missing; or give parameters"),
    ],
)
def test_wrong_declarations(given, error, words):
    with pytest.raises(error, match=words):
        mcsa.fit(normal, **given)


def test_wrong_shapes():
    with pytest.raises(ValueError, match="sides must be at least 1"):
        mcsa.real(0)
    with pytest.raises(TypeError):
        mcsa.simplex(2.5)
    # A scalar is no batch, though a sum with the log-Jacobian has its shape.
    with pytest.raises(ValueError, match=r"shape \(\); expected"):
        mcsa.fit(lambda p: 0.0, parameters=NORMAL)
    for gradient, error, words in [
        (lambda p: {"mu": p["mu"]}, TypeError, "gradient gave mu; expected a dict of slopes of mu, sigma"),
        (lambda p: p["mu"], TypeError, "gradient gave ndarray"),
        (lambda p: {"mu": p["mu"], "sigma": 1.0}, ValueError, r"gradient gave sigma the shape \(\); expected"),
    ]:
        with pytest.raises(error, match=words):
            mcsa.fit(normal, None, gradient, parameters=NORMAL)


def test_calibration_of_declared_parameters():
    def simulate(rng):
        drawn = {"rate": rng.gamma(2.0), "p": rng.uniform(size=2)}
        return drawn, (rng.poisson(drawn["rate"], size=3), rng.binomial(5, drawn["p"]))

    def log_density(p, data):
        counts, heads = data
        rate = p["rate"][:, np.newaxis]
        of_heads = (heads * np.log(p["p"]) + (5 - heads) * np.log1p(-p["p"])).sum(axis=1)
        return np.log(p["rate"]) - p["rate"] + (counts * np.log(rate) - rate).sum(axis=1) + of_heads

    options = {"parameters": {"rate": mcsa.positive(), "p": mcsa.unit(2)}, "draws": 1000, "starts": 5, "level": 1e-4, "bias": 1.5, "factor": 5.0}
    found = mcsa.calibrate(simulate, log_density, data_sets=50, **options)
    assert found.ok and found.names == ["rate", "p[0]", "p[1]", "log density"], found
    # Counterexample: a density with another prior and data that count three times.
    wrong = mcsa.calibrate(simulate, lambda p, data: 4.0 * log_density(p, data), data_sets=200, **options)
    assert wrong.conclusion == "wrong", wrong
    with pytest.raises(ValueError, match="other parameters than rate, p"):
        mcsa.calibrate(lambda rng: (np.zeros(3), None), log_density, **options)


def test_calibration_with_an_earlier_posterior_as_the_prior():
    first = mcsa.fit(lambda p: -0.5 * p["a"] ** 2 - 0.5 * (p["a"] - 1.0) ** 2, parameters={"a": mcsa.real()}, seed=1)
    prior = first.as_prior()

    def simulate(rng):
        a = prior.draw(rng, 1)[0, 0]
        return {"a": a}, a + rng.normal()

    def log_likelihood(p, y):
        return -0.5 * (p["a"] - y) ** 2

    options = {"parameters": {"a": mcsa.real()}, "prior": prior, "draws": 1000, "starts": 5, "level": 1e-4, "bias": 1.5, "factor": 5.0}
    found = mcsa.calibrate(simulate, log_likelihood, data_sets=50, **options)
    assert found.ok, found
    wrong = mcsa.calibrate(simulate, lambda p, y: 9.0 * log_likelihood(p, y), data_sets=200, **options)
    assert wrong.conclusion == "wrong", wrong


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_moments_that_do_not_exist_are_not_shown(seed):
    """A half-Cauchy has no mean, an inverse gamma of shape 1.5 no variance, though their logarithms have all moments; a gamma has both."""

    def numbers(log_density):
        result = mcsa.fit(lambda p: log_density(p["t"]), parameters={"t": mcsa.positive()}, seed=seed)
        assert result.ok
        return result.summary()["t"], repr(result)

    cauchy, words = numbers(lambda t: -np.log1p(t**2))
    assert np.isnan([cauchy["mean"], cauchy["error"], cauchy["sd"]]).all() and "use the quantiles" in words
    assert abs(cauchy["50%"] - 1.0) < 0.1 and abs(cauchy["5%"] - np.tan(0.025 * np.pi)) < 0.02
    gamma, words = numbers(lambda t: 3 * np.log(t) - t)
    assert abs(gamma["mean"] - 4.0) < 0.15 and abs(gamma["sd"] - 2.0) < 0.15 and "quantiles" not in words
    inverse, words = numbers(lambda t: -2.5 * np.log(t) - 1 / t)
    assert np.isnan(inverse["sd"]) and "use the quantiles" in words


def test_a_function_of_one_point_of_parameters_gets_a_hint():
    y = np.arange(5.0)

    def log_density(p):
        return -0.5 * (((y - p["mu"]) / p["s"]) ** 2).sum() - 5 * np.log(p["s"])

    with pytest.raises(ValueError, match="shape") as error:
        mcsa.fit(log_density, parameters={"mu": mcsa.real(), "s": mcsa.positive()})
    assert "vectorized=False" in error.value.__notes__[0]
