"""Tutorials: they run, their answers are the exact ones, and their pictures are there."""

import runpy
import sys
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parents[1] / "tutorial"


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
