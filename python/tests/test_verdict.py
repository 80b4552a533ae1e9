"""The verdict as an object, and hints and warnings of calls."""

import json
import warnings
from pathlib import Path

import mcsa
import numpy as np
import pytest
from mcsa.verdict import RULE, Objection
from targets import gaussian, slope


@pytest.fixture(scope="module")
def wrong():
    return mcsa.fit(gaussian, 2, lambda z: 2.0 * slope(z), names=["a", "b"], seed=3)


def test_a_yes_and_a_no(wrong):
    right = mcsa.fit(gaussian, 2, slope, seed=3)
    assert right.verdict.ok and right.verdict and right.verdict.objections == () and str(right.verdict).startswith("yes")
    assert not wrong.verdict.ok and not wrong.verdict and str(wrong.verdict).startswith("no")
    assert right.ok is True and wrong.ok is False


def test_the_rule_is_that_of_the_library():
    source = Path(__file__).parents[2] / "mcsa/src/posterior/rule.rs"
    assert f"number: {RULE}," in source.read_text()


def test_an_objection_has_kind_parameter_and_numbers(wrong):
    found = next(objection for objection in wrong.verdict.objections if objection.kind == "gradient")
    assert found.parameter in ("a", "b") and found.numbers.keys() == {"given", "by_differences"}
    assert abs(found.numbers["given"] / found.numbers["by_differences"] - 2.0) < 1e-3
    assert str(found) == found.text and f"- {found.text}" in str(wrong.verdict)
    # A result wraps the words, which are long.
    printed = repr(wrong)
    assert all(objection.text in " ".join(printed.split()) for objection in wrong.verdict.objections)
    assert max(map(len, printed[printed.index("Reliable") :].split("\n"))) <= 120


def test_an_objection_to_the_whole_fit_has_no_parameter():
    stopped = mcsa.fit(gaussian, 2, seed=1, evaluations=100)
    assert not stopped.ok and any(objection.parameter is None for objection in stopped.verdict.objections)


def test_words_in_place_of_numbers_are_read():
    fields = json.dumps({"witness": "mixing", "name": "tau", "r_hat": "inf"})
    found = Objection.read(fields, "chains disagree")
    assert (found.kind, found.parameter, found.numbers) == ("mixing", "tau", {"r_hat": np.inf})
    check = Objection.read(json.dumps({"witness": "unverified", "check": "tails", "by_time": True}), "not verified")
    assert check.parameter is None and check.numbers == {"check": "tails", "by_time": True}


def test_far_starts_give_no_warnings():
    def log_density(z):
        return z[:, 0] - np.exp(z[:, 0]) - np.exp(np.exp(z[:, 1])) + z[:, 1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mcsa.fit(log_density, 2, seed=1, draws=200, starts=20)
        mcsa.ascend(log_density, 2, steps=50)
    # Counterexample: outside a fit the same function warns.
    with pytest.warns(RuntimeWarning, match="overflow"):
        log_density(np.full((1, 2), 100.0))


@pytest.mark.parametrize(
    "function",
    [lambda z: -0.5 * float(z @ z), lambda z: -0.5 * np.sum(z**2), lambda z: -0.5 * z[0] ** 2 - z[1] ** 2],
)
def test_a_function_of_one_point_gets_a_hint(function):
    with pytest.raises(Exception) as caught:
        mcsa.fit(function, 2)
    assert any("vectorized=False" in note for note in caught.value.__notes__)
    assert mcsa.fit(function, 2, vectorized=False, seed=1, draws=200, starts=5).draws.shape == (200, 2)


@pytest.mark.parametrize("function", [lambda z: 1 / 0, lambda z: None, lambda z: "one", lambda z: z**2, lambda z: np.zeros((len(z), 1))])
def test_other_faults_get_none(function):
    """Counterexample: functions that fail for one point, too."""
    with pytest.raises(Exception) as caught:
        mcsa.fit(function, 2)
    assert not getattr(caught.value, "__notes__", [])


def test_a_fault_of_a_later_batch_gets_none():
    calls = 0

    def log_density(z):
        nonlocal calls
        calls += 1
        if calls == 20:
            raise OSError("power failed")
        return -0.5 * (z**2).sum(axis=-1)

    with pytest.raises(OSError) as caught:
        mcsa.fit(log_density, 2)
    assert not getattr(caught.value, "__notes__", [])
