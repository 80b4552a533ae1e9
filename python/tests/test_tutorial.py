"""Tutorials: they run, their answers are the exact ones, and their pictures are there."""

import runpy
import sys
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parents[1] / "tutorial"


def test_a_poisson_regression(capsys):
    """Twenty lines from nothing to the verdict; the rates that made the data lie within three standard deviations."""
    pytest.importorskip("jax", reason="JAX is not installed")
    if not TUTORIALS.is_dir():
        pytest.skip("the sources of the package are not there")
    lines = (TUTORIALS / "poisson.py").read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) <= 20
    result = runpy.run_path(str(TUTORIALS / "poisson.py"))["result"]
    summary = result.summary()
    assert result.ok and summary.names[:4] == ["mu", "tau", "beta", "alpha[0]"] and len(summary) == 15
    for name, truth in (("mu", 0.5), ("tau", 0.4), ("beta", 0.3)):
        assert abs(summary[name]["mean"] - truth) < 3 * summary[name]["sd"]
    assert "Reliable: yes" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["eight_schools", "logistic_regression"])
def test_a_tutorial(name, tmp_path, monkeypatch):
    if not TUTORIALS.is_dir():
        pytest.skip("the sources of the package are not there")
    monkeypatch.syspath_prepend(TUTORIALS)
    monkeypatch.setattr(sys, "argv", [name, str(tmp_path)])
    found = runpy.run_path(str(TUTORIALS / f"{name}.py"))
    report = found["report"]
    # Weighted draws worth 1000 or more: five standard errors are 0.16 standard deviations.
    for key, (error, ratio) in report.items():
        if key == "log evidence":
            assert abs(error) < 5 * ratio + 0.01, key
        else:
            assert abs(error) < 0.16 and abs(ratio - 1.0) < 0.2, (key, error, ratio)
    assert all(result.ok for result in found["results"].values())
    if found["plt"] is not None:
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
