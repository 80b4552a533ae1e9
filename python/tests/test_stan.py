"""Stan programs, against models of the library. Libraries are those in the folder that MCSA_STAN names, or compiled by mcsa.stan.compile."""

import json
import os
import subprocess
import sys
from pathlib import Path

import mcsa
import numpy as np
import pytest
from mcsa.stan import compile

SOURCES = Path(__file__).parents[2] / "stan"
DATA = {"schools": 8, "effects": [28, 8, -3, 7, -1, 1, 18, 12], "errors": [15, 10, 16, 11, 9, 11, 10, 18]}


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The library of a program by name."""

    def found(name):
        if folder := os.environ.get("MCSA_STAN"):
            path = Path(folder) / f"{name}.so"
            if not path.exists():
                pytest.skip(f"there is no {path}")
            return path
        if compile.folder() is None or not SOURCES.is_dir():
            pytest.skip("neither MCSA_STAN nor the package httpstan is there to compile Stan programs")
        path = tmp_path_factory.getbasetemp() / f"{name}.so"
        done = subprocess.run([sys.executable, compile.__file__, SOURCES / f"programs/{name}.stan", path], capture_output=True, text=True)
        if done.returncode == 2:
            pytest.skip(f"no Stan program can be compiled: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        return path

    return found


def test_eight_schools(library):
    arguments = mcsa.from_stan(library("eight_schools"), DATA)
    model = mcsa.models.eight_schools()
    z = np.random.default_rng(1).normal(size=(7, 10))
    values, slopes = arguments["gradient"](z)
    assert np.array_equal(values, arguments["log_density"](z))
    assert np.ptp(values - model.log_density(z)) < 1e-10
    step = 1e-6 * np.eye(10)
    for i in range(10):
        difference = (arguments["log_density"](z + step[i]) - arguments["log_density"](z - step[i])) / 2e-6
        assert np.allclose(slopes[:, i], difference, atol=1e-6)
    # Not contiguous, and of another type.
    assert np.array_equal(arguments["log_density"](np.asfortranarray(z)), values)
    assert np.allclose(arguments["log_density"](z.astype(np.float32)), values, atol=1e-4)
    result = mcsa.fit(**arguments, seed=1)
    native = mcsa.fit(model, seed=1).summary()
    assert result.ok
    for name in ("mu", "tau"):
        assert abs(result.summary()[name]["mean"] - native[name]["mean"]) < 0.15 * native[name]["sd"]
    theta = result.parameters()["theta"]
    assert theta.shape == (4000, 8)
    z = result.draws
    assert np.allclose(theta, z[:, :1] + np.exp(z[:, 1:2]) * z[:, 2:])


def test_a_logistic_regression(library, tmp_path):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(30, 2)), rng.integers(0, 2, size=30)
    data = {"rows": 30, "features": 2, "x": x, "y": y, "prior_scale": 2.0}
    arguments = mcsa.from_stan(library("logistic_regression"), data)
    assert arguments["names"] == ["weights[0]", "weights[1]"]
    z = rng.normal(size=(5, 2))
    model = mcsa.models.logistic_regression(x, y, prior_scale=2.0)
    assert np.ptp(arguments["log_density"](z) - model.log_density(z)) < 1e-10
    file = tmp_path / "data.json"
    file.write_text(json.dumps({name: np.asarray(value).tolist() for name, value in data.items()}))
    for given in (file, file.read_text()):
        assert np.array_equal(mcsa.from_stan(library("logistic_regression"), given)["log_density"](z), arguments["log_density"](z))


def test_points_one_at_a_time(library):
    """A library of BridgeStan has no functions of batches; its numbers have the same bits."""
    arguments = mcsa.from_stan(library("eight_schools"), DATA)
    program = arguments["log_density"].__self__
    z = np.random.default_rng(2).normal(size=(6, 10))
    z[3] = np.nan
    expected = arguments["gradient"](z)
    densities = arguments["log_density"](z)
    assert program._takes_batches and np.isfinite(densities[:3]).all()
    program._takes_batches = False
    for found, whole in ((arguments["gradient"](z), expected), ((arguments["log_density"](z),), (densities,))):
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, whole, strict=True))
    for wrong in (z[:, :9], z[0]):
        with pytest.raises(ValueError, match="points have shape"):
            arguments["log_density"](wrong)


def test_a_program_is_compiled_beside_itself(library, tmp_path, monkeypatch):
    library("eight_schools")
    monkeypatch.setattr(compile, "folder", lambda: None)
    program = tmp_path / "coin.stan"
    program.write_text("data { int heads; } parameters { real<lower=0, upper=1> p; } model { heads ~ binomial(8, p); }")
    monkeypatch.setitem(sys.modules, "bridgestan", None)
    with pytest.raises(ImportError, match="httpstan"):
        mcsa.from_stan(program, {"heads": 6})
    monkeypatch.undo()
    if compile.folder() is None:
        pytest.skip("the package httpstan is not there to compile a program")
    result = mcsa.fit(**mcsa.from_stan(program, {"heads": 6}), seed=1)
    # Beta(7, 3): 4000 weighted draws.
    assert result.ok and abs(result.summary()["p"]["mean"] - 0.7) < 0.02 and (tmp_path / "coin_model.so").exists()
    program.write_text("parameters { real p } model { }")
    with pytest.raises(compile.CannotCompile, match="stanc failed"):
        mcsa.from_stan(program)


def test_wrong_libraries_and_data(library, tmp_path):
    with pytest.raises(FileNotFoundError, match="no Stan program"):
        mcsa.from_stan(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(ValueError, match="no library of BridgeStan"):
        mcsa.from_stan(tmp_path / "text.so")
    path = library("eight_schools")
    for data in (None, "{", {**DATA, "schools": 9}, {**DATA, "errors": [-1] * 8}):
        with pytest.raises(ValueError, match="does not accept these data"):
            mcsa.from_stan(path, data)
    with pytest.raises(TypeError, match="data hold a set"):
        mcsa.from_stan(path, {"schools": {8}})
    with pytest.raises(FileNotFoundError):
        mcsa.from_stan(path, tmp_path / "none.json")


def test_names_of_arrays():
    from mcsa.stan.program import _arrays

    values = np.arange(14.0).reshape(2, 7)
    found = _arrays(["a", "b.1.1", "b.2.1", "b.1.2", "b.2.2", "t:1", "z.real"], values)
    assert found["b"].shape == (2, 2, 2) and found["a"].shape == (2,)
    assert np.array_equal(found["b"][0], [[1.0, 3.0], [2.0, 4.0]])
    assert set(found) == {"a", "b", "t:1", "z.real"}


def test_the_command_line_fits_a_program(library, tmp_path, capsys):
    from mcsa.__main__ import main

    data = tmp_path / "data.json"
    data.write_text(json.dumps(DATA))
    program, draws = str(library("eight_schools")), tmp_path / "draws.csv"
    assert main(["fit", program, str(data), "--draws", "1000", "--csv", str(draws), "--save", str(tmp_path / "fit.npz")]) == 0
    assert "Reliable: yes" in capsys.readouterr().out
    header, *rows = draws.read_text().splitlines()
    names = header.split(",")
    assert names[:3] == ["mu", "tau", "eta[0]"] and "repeated[7]" in names and "log_lik[0]" not in names and len(rows) == 1000
    assert mcsa.load(tmp_path / "fit.npz").ok
    # Without ArviZ the option is an error before anything is run; with it there is a file with the posterior and the generated quantities.
    try:
        import arviz
    except ImportError:
        with pytest.raises(SystemExit) as absent:
            main(["fit", program, str(data), "--arviz", str(tmp_path / "fit.nc")])
        assert absent.value.code == 2 and "pip install arviz" in capsys.readouterr().err
    else:
        assert main(["fit", program, str(data), "--draws", "1000", "--arviz", str(tmp_path / "fit.nc")]) == 0
        found = arviz.from_netcdf(str(tmp_path / "fit.nc"))
        assert "eta" in found["posterior"] and "repeated" in found["posterior_predictive"]
    # A budget that does not suffice is a no; a wrong program and a folder that is not there are errors.
    assert main(["fit", program, str(data), "--evaluations", "500"]) == 3
    assert main(["fit", str(tmp_path / "none.stan")]) == 1
    assert "there is no Stan program" in capsys.readouterr().err
    with pytest.raises(SystemExit) as wrong:
        main(["fit", program, str(data), "--csv", str(tmp_path / "none" / "draws.csv")])
    assert wrong.value.code == 2


def test_generated_quantities(library):
    result = mcsa.fit(**mcsa.from_stan(library("eight_schools"), DATA), seed=1)
    first, again, other = (result.generated(seed=seed)["repeated"] for seed in (1, 1, 2))
    assert first.shape == (4000, 8) and np.array_equal(first, again) and not np.array_equal(first, other)
    theta = result._by_name_at(result.resampled())["theta"]
    assert np.allclose((first - theta).std(axis=0), DATA["errors"], rtol=0.08)  # 4000 draws: seven standard errors
    # The log likelihood of the program is that of the model.
    loo, native = result.loo(), mcsa.fit(mcsa.models.eight_schools(), seed=1).loo()
    assert abs(loo.elpd - native.elpd) < 0.3
    pytest.importorskip("arviz")
    assert result.to_arviz()["posterior_predictive"]["repeated"].shape == (1, 4000, 8)
