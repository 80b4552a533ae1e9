"""Fits of chosen parts."""

import inspect
import os
import re
import signal
from pathlib import Path

import mcsa
import mcsa.ascent
import numpy as np
import pytest
from targets import MEAN, SD, gaussian, slope

#: Methods of models with terms, of which `test_terms.py` has the tests.
OF_TERMS = ("minibatched", "sl-dais")

def near(result):
    """The mean within 0.3 standard deviations, the standard deviation within 30 %: weighted draws of a q that is near enough."""
    return bool((abs(result.mean - MEAN) < 0.3 * SD).all() and (abs(result.sd / SD - 1.0) < 0.3).all())


@pytest.mark.parametrize("method", [name for name in mcsa.ascent.METHODS if name not in OF_TERMS])
def test_methods_by_name(method):
    if method in ("hmc", "rws"):
        method = {"kind": method, "step_size": 0.3}
    result = mcsa.ascend(gaussian, 2, slope, method=method, mean=[0.5, -1.0], scale=[1.0, 2.0], rate=0.02, steps=3_000)
    assert near(result), result


@pytest.mark.parametrize("kernel", mcsa.ascent.KERNELS)
def test_kernels_by_name(kernel):
    result = mcsa.ascend(gaussian, 2, slope, kernel=kernel, mean=[0.5, -1.0], scale=[1.0, 2.0], rate=0.02, steps=3_000)
    assert near(result), result


@pytest.mark.parametrize("family", mcsa.ascent.FAMILIES)
@pytest.mark.parametrize("method", ["pmcsa", "elbo"])
def test_families_by_name(family, method):
    result = mcsa.ascend(gaussian, 2, slope, method=method, family=family, scale=[1.0, 2.0], steps=2_000)
    assert result.draws.shape == (4000, 2) and near(result), result


@pytest.mark.parametrize("optimizer", mcsa.ascent.OPTIMIZERS)
def test_optimizers_by_name(optimizer):
    rate = {"sgd": 0.02, "momentum": 0.005, "nesterov": 0.005, "ada-grad": 0.1}.get(optimizer, 0.01)
    result = mcsa.ascend(gaussian, 2, optimizer=optimizer, rate=rate, mean=[0.5, -1.0], scale=[1.0, 2.0], steps=2_000)
    assert near(result), result


def test_an_ascent_has_no_checks():
    family = {"kind": "low-rank", "rank": 2}
    result = mcsa.ascend(mcsa.models.eight_schools(), method="jsa", family=family, steps=300, seed=5)
    assert not result.ok and "no check was run" in str(result.verdict) and result.verdict.objections == ()
    assert result.family and result.evaluations["density"] >= 3_000
    assert len(result.summary()) == 10 and "k-hat" in repr(result)


def test_words_are_those_of_the_program():
    """Names and default settings, against the lists of the program's sources, where these are there."""
    program = Path(__file__).parents[2] / "bench-suite"
    if not program.is_dir():
        pytest.skip("the sources of the program are not there")
    catalogue = program / "catalogue/src"

    def listed(file, start):
        text = (catalogue / file).read_text()
        text = text[text.index(start) : text.index("];", text.index(start))]
        rows = re.findall(r'\(\s*"([a-z-]+)",\s*"([^"]*)"', text)
        return {name: {key: float(value) for key, value in re.findall(r"(\w+) = ([\d.]+)", settings)} for name, settings in rows}

    theirs = listed("method.rs", "pub const ALL")
    # Of the methods on minibatches the command line has one in experiments, where batches are larger.
    ours = {name: settings for name, settings in mcsa.ascent.METHODS.items() if name not in OF_TERMS}
    assert {name: theirs.get(name) for name in ours} == ours
    absent = {"msc-prior", "ep", "smc", "nuts-cs", "hmcecs"}
    assert set(theirs) - set(mcsa.ascent.METHODS) == absent
    rules = re.findall(r"^    (\w+)\(\w+, \w+State\),$", (catalogue / "optimizer.rs").read_text(), re.MULTILINE)
    assert tuple(re.sub("(?<!^)(?=[A-Z])", "-", rule).lower() for rule in rules) == mcsa.ascent.OPTIMIZERS
    models = listed("target.rs", "pub const ALL")
    # Data that experiments prepare for logistic regressions, and cases of the verdict's experiment.
    assert set(models) - set(mcsa.models.MODELS) == {"synthetic-logistic", "subset-logistic", "case"}
    for name in ("diagonal-gaussian", "wishart-gaussian"):
        parameters = inspect.signature(mcsa.models.MODELS[name]).parameters
        assert models[name] == {key: parameters[key].default for key in models[name]}


def test_equal_bits_of_models_and_callables():
    model = mcsa.models.banana(width=1.0, bend=0.1)
    ours = mcsa.ascend(model, steps=200, seed=3)
    theirs = mcsa.ascend(model.log_density, 2, steps=200, seed=3)
    assert np.array_equal(ours.draws, theirs.draws)


def test_a_saved_ascent_goes_on_with_the_same_bits(tmp_path):
    path = tmp_path / "ascent"
    whole = mcsa.ascend(gaussian, 2, slope, method="hmc", steps=1_500)
    state = mcsa.Ascent(gaussian, 2, slope, method="hmc")
    state.run(700)
    state.save(path)
    again = mcsa.Ascent(gaussian, 2, slope, method="hmc", checkpoint=path)
    assert again.step == 700 and np.array_equal(again.run(1_500).draws, whole.draws)
    assert mcsa.Ascent(gaussian, 2, slope, method="hmc", checkpoint=path).step == 1_500
    with pytest.raises(ValueError, match="other settings"):
        mcsa.Ascent(gaussian, 2, slope, method="pmcsa", checkpoint=path)
    pmcsa = tmp_path / "pmcsa"
    mcsa.ascend(gaussian, 2, steps=100, checkpoint=pmcsa)
    with pytest.raises(ValueError):
        mcsa.ascend(lambda z: gaussian(z) + 1.0, 2, steps=200, checkpoint=pmcsa)


def test_an_exception_leaves_the_steps_before_it():
    whole = mcsa.ascend(gaussian, 2, steps=3_000)
    calls, is_dying = 0, True

    def dying(z):
        nonlocal calls
        calls += 1
        if is_dying and calls > 1_700:
            raise OSError("power failed")
        return gaussian(z)

    state = mcsa.Ascent(dying, 2)
    with pytest.raises(OSError, match="power failed") as caught:
        state.run(3_000)
    assert any(entry.name == "dying" for entry in caught.traceback)
    assert state.step == 1_000
    is_dying = False
    assert np.array_equal(state.run(3_000).draws, whole.draws)


def test_an_interrupt_gives_what_there_is():
    calls = 0

    def interrupted(z):
        nonlocal calls
        calls += 1
        if calls == 1_500:
            os.kill(os.getpid(), signal.SIGINT)
        return gaussian(z)

    state = mcsa.Ascent(interrupted, 2)
    with pytest.warns(RuntimeWarning, match="interrupted at step"):
        early = state.run(3_000)
    assert early.draws.shape == (4000, 2) and 1_000 < state.step < 3_000
    assert np.array_equal(state.run(3_000).draws, mcsa.ascend(gaussian, 2, steps=3_000).draws)


def test_a_divergence_is_told():
    with pytest.warns(RuntimeWarning, match="ended at step"):
        mcsa.ascend(gaussian, 2, slope, method="elbo", optimizer="sgd", rate=1e6, steps=2_000)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"method": "nuts-cs"}, "no method 'nuts-cs'; there are pmcsa, jsa"),
        ({"method": {"chains": 3}}, "no method None"),
        ({"method": {"kind": "pmcsa", "walkers": 3}}, "unknown field `walkers`"),
        ({"method": {"kind": "pmcsa", "chains": 0}}, "chain|lane"),
        ({"method": {"kind": "pmcsa", "chains": -1}}, "chains|invalid"),
        ({"method": "jsa", "kernel": "hmc"}, "for the method pmcsa alone"),
        ({"method": "stl", "family": "student-t"}, "stl is for Gaussian families"),
        ({"kernel": "gibbs"}, "no kernel 'gibbs'"),
        ({"kernel": {"kind": "hmc", "step_size": -1.0}}, "step"),
        ({"family": "cauchy"}, "no family 'cauchy'"),
        ({"family": {"kind": "student-t", "freedom": -2.0}}, "dof is -2"),
        ({"optimizer": "lbfgs"}, "no optimizer 'lbfgs'"),
        ({"rate": -0.1}, "rate"),
        ({"mean": [0.0, 0.0, 0.0]}, r"mean has shape \(3,\)"),
        ({"mean": [0.0, np.nan]}, "NaN|finite|mean"),
        ({"scale": 0.0}, "scale"),
        ({"steps": 0}, "steps is 0"),
    ],
)
def test_wrong_parts(parts, words):
    with pytest.raises(ValueError, match=words):
        mcsa.ascend(gaussian, 2, slope, **{"steps": 10, **parts})


def test_methods_that_need_a_gradient():
    for parts in ({"method": "elbo"}, {"method": "hmc"}, {"kernel": "nuts"}):
        with pytest.raises(ValueError, match="needs a gradient"):
            mcsa.ascend(gaussian, 2, **parts, steps=10)


@pytest.mark.parametrize("steps", [200, 400])
def test_a_checkpoint_of_another_target_is_an_error(steps, tmp_path):
    def normal(scale):
        return {"log_density": lambda z: -0.5 * ((z / scale) ** 2).sum(axis=1), "dim": 2, "gradient": lambda z: -z / scale**2}

    options = {"method": "elbo", "checkpoint": str(tmp_path / "fit"), "seed": 1}
    mcsa.ascend(**normal(1.0), **options, steps=200)
    mcsa.ascend(**normal(1.0 + 1e-9), **options, steps=200)
    with pytest.raises(ValueError, match="another target"):
        mcsa.ascend(**normal(2.0), **options, steps=steps)


def test_an_exception_leaves_the_checkpoint_of_the_steps_before_it(tmp_path):
    calls = 0

    def fails_late(z):
        nonlocal calls
        calls += 1
        if calls > 2_500:
            raise OSError("the density is gone")
        return gaussian(z)

    options = {"checkpoint": str(tmp_path / "fit"), "seed": 1}
    with pytest.raises(OSError, match="is gone"):
        mcsa.ascend(fails_late, 2, steps=5_000, **options)
    again = mcsa.Ascent(gaussian, 2, **options)
    assert again.step == 2_000
    plain = mcsa.ascend(gaussian, 2, steps=3_000, seed=1)
    assert np.array_equal(again.run(3_000).draws, plain.draws)
