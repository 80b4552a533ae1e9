"""Log densities of other packages."""

import mcsa
import numpy as np
import pytest

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def test_jax():
    pytest.importorskip("jax", reason="JAX is not installed")
    import jax.numpy as jnp

    def log_density(z):
        return -0.5 * jnp.sum((z - 1.0) ** 2)

    result = mcsa.fit(**mcsa.from_jax(log_density), dim=3, seed=1)
    assert result.ok and np.allclose(result.mean, 1.0, atol=0.1)
    by_numpy = mcsa.fit(lambda z: -0.5 * ((z - 1.0) ** 2).sum(axis=1), 3, lambda z: 1.0 - z, seed=1)
    assert np.allclose(result.draws, by_numpy.draws, atol=1e-6)


def test_jax_is_compiled_for_few_sizes():
    pytest.importorskip("jax", reason="JAX is not installed")
    traced = []

    def log_density(p):
        traced.append(p)
        return -0.5 * (p["a"] ** 2 + (p["b"] ** 2).sum())

    density = mcsa.from_jax(log_density)["log_density"]
    for count in range(1, 65):
        p = {"a": np.arange(count), "b": np.ones((count, 2))}
        assert np.array_equal(density(p), -0.5 * (np.arange(count) ** 2 + 2.0)), count
    assert len(traced) == 4  # 1, 8, 16, 64
    assert density({"a": np.arange(5000), "b": np.ones((5000, 2))}).shape == (5000,)


def test_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def log_density(z):
        return -0.5 * ((torch.from_numpy(z) - 1.0) ** 2).sum(dim=1)

    def gradient(z):
        at = torch.from_numpy(z).requires_grad_()
        values = -0.5 * ((at - 1.0) ** 2).sum(dim=1)
        return values.detach(), torch.autograd.grad(values.sum(), at)[0]

    result = mcsa.fit(log_density, 3, gradient, seed=1)
    by_numpy = mcsa.fit(lambda z: -0.5 * ((z - 1.0) ** 2).sum(axis=1), 3, lambda z: 1.0 - z, seed=1)
    assert result.ok and np.allclose(result.draws, by_numpy.draws, atol=1e-6)
    single = mcsa.fit(lambda z: log_density(z).to(torch.float32), 3, seed=1)
    assert np.allclose(single.mean, 1.0, atol=0.2)
    with pytest.raises(RuntimeError, match="requires grad|detach"):
        mcsa.fit(lambda z: -0.5 * (torch.from_numpy(z).requires_grad_() ** 2).sum(dim=1), 3)


def test_pymc():
    pm = pytest.importorskip("pymc", reason="PyMC is not installed")
    pytest.importorskip("nutpie", reason="nutpie is not installed")
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        errors = pm.Data("errors", ERRORS, dims="school")
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfCauchy("tau", 5.0)
        raw = pm.Normal("raw", 0.0, 1.0, dims="school")
        theta = pm.Deterministic("theta", mu + tau * raw, dims="school")
        pm.Normal("y", theta, errors, observed=EFFECTS, dims="school")
    result = mcsa.fit(**mcsa.from_pymc(model), seed=1)
    summary, native = result.summary(), mcsa.fit(mcsa.models.eight_schools(), seed=1).summary()
    assert result.ok
    for name in ("mu", "tau"):
        assert abs(summary[name]["mean"] - native[name]["mean"]) < 0.1 * native[name]["sd"]
    assert "theta[H]" in summary.names and "tau_log__" not in summary.names
    # Objections name coordinates as the table names entries.
    assert mcsa.from_pymc(model)["names"] == ["mu", "tau", *(f"raw[{school}]" for school in "ABCDEFGH")]
    pytest.importorskip("arviz", reason="ArviZ is not installed")
    data = result.to_arviz()
    theta = (data["posterior"] if "posterior" in data else data.posterior)["theta"]
    assert theta.dims == ("chain", "draw", "school")


def test_what_is_no_posterior_of_pymc():
    pm = pytest.importorskip("pymc", reason="PyMC is not installed")
    pytest.importorskip("nutpie", reason="nutpie is not installed")
    for words, parameter in (("no parameters", None), (r"discrete parameters \(k\)", "k")):
        with pm.Model() as model:
            rate = pm.Poisson(parameter, 3.0) if parameter else 3.0
            pm.Normal("y", rate, 1.0, observed=[1.0, 2.0])
        with pytest.raises(ValueError, match=words):
            mcsa.from_pymc(model)


def test_data_of_pymc_may_be_shared():
    pm = pytest.importorskip("pymc", reason="PyMC is not installed")
    pytest.importorskip("nutpie", reason="nutpie is not installed")
    with pm.Model() as model:
        y = pm.Data("data", EFFECTS)
        mu = pm.Normal("mu", 0.0, 5.0)
        pm.Normal("y", mu, 10.0, observed=y)
    result = mcsa.fit(**mcsa.from_pymc(model), seed=1)
    assert abs(result.summary()["mu"]["mean"] - np.sum(EFFECTS) / (len(EFFECTS) + 4.0)) < 0.5
    assert np.array_equal(mcsa.from_pymc(model)["observed"]["y"], EFFECTS)


def test_the_prior_of_a_pymc_model():
    pm = pytest.importorskip("pymc", reason="PyMC is not installed")
    pytest.importorskip("nutpie", reason="nutpie is not installed")
    with pm.Model() as model:
        tau = pm.HalfNormal("tau", 2.0)
        p = pm.Beta("p", 2.0, 3.0, shape=2)
        mu = pm.Normal("mu", p[0], tau)
        pm.Normal("y", mu * p[1], 1.0, observed=np.array([0.3, 1.2, -0.4]))
    given = mcsa.from_pymc(model, prior=True)
    draw, log_density = given["prior"]
    z = draw(np.random.default_rng(1), 2_000)
    # Posterior less prior is the likelihood, at every point; coordinates in another order are another prior.
    likelihood = given["log_likelihood"](z[:5])["y"].sum(axis=1)
    assert np.allclose(given["log_density"](z[:5]) - log_density(z[:5]), likelihood, atol=1e-10)
    assert not np.allclose(given["log_density"](z[:5]) - log_density(z[:5, ::-1]), likelihood, atol=1e-3)
    # Means of the prior, within 5 standard errors: false alarm below 3e-6.
    values = given["transform"](z)
    for name, mean, sd in (("tau", 2.0 * np.sqrt(2.0 / np.pi), 1.21), ("p", 0.4, 0.2)):
        assert np.all(np.abs(values[name].mean(axis=0) - mean) < 5.0 * sd / np.sqrt(2_000))
    assert mcsa.fit(**given, seed=1).ok


def test_names_of_other_coordinates():
    """A variable with another number of coordinates, or in another order, has plain indices."""
    pm = pytest.importorskip("pymc", reason="PyMC is not installed")
    pytest.importorskip("nutpie", reason="nutpie is not installed")
    with pm.Model(coords={"side": ["left", "right"]}) as model:
        pm.HalfNormal("s", dims="side")
        pm.Dirichlet("w", np.ones(3))
        pm.Normal("e", shape=(2, 2))
    given = mcsa.from_pymc(model)
    assert given["names"] == ["s[left]", "s[right]", "w[0]", "w[1]", "e[0,0]", "e[0,1]", "e[1,0]", "e[1,1]"]
    assert mcsa.ascend(**given, steps=10, draws=200).summary().names[-1] == "w[2]"
