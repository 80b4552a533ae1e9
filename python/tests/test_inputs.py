"""Bad input: a Python exception that says what is wrong, and no abort."""

import math
import multiprocessing
import threading
import time

import mcsa
import numpy as np
import pytest


def gaussian(z):
    return -0.5 * (z**2).sum(axis=1)


def slope(z):
    return -z


def both(arguments):
    """The ways in which a callable is used: a fit in one call, and an ascent."""
    for f, more in ((mcsa.fit, {"starts": 3}), (mcsa.ascend, {"steps": 50, "method": "elbo"})):
        yield lambda f=f, more=more: f(*arguments, **more)


@pytest.mark.parametrize(
    ("gradient", "error", "words"),
    [
        (lambda z: np.zeros((len(z), 3)), ValueError, r"shape \(\d+, 3\); expected"),
        (lambda z: np.zeros(len(z)), ValueError, "gradient returned an array of shape"),
        (lambda z: (gaussian(z), slope(z).T[:1]), ValueError, "gradient returned an array of shape"),
        (lambda z: (gaussian(z)[:-1], slope(z)), ValueError, "gradient returned an array of shape"),
        (lambda z: (gaussian(z), slope(z), slope(z)), (ValueError, TypeError), "gradient returned an array|inhomogeneous"),
        (lambda z: slope(z) + 1j, TypeError, "complex128; expected real numbers"),
        (lambda z: slope(z).astype(str), TypeError, "expected real numbers"),
        (lambda z: slope(z).astype("M8[s]"), TypeError, "expected real numbers"),
        (lambda z: None, TypeError, "expected real numbers"),
        (lambda z: {"gradient": slope(z)}, TypeError, "expected real numbers"),
        (lambda z: 1 / 0, ZeroDivisionError, "division"),
        (lambda: 0, TypeError, "positional argument"),
    ],
)
def test_wrong_gradients(gradient, error, words):
    for call in both((gaussian, 2, gradient)):
        with pytest.raises(error, match=words):
            call()


def test_batches_of_every_layout_serve():
    expected = mcsa.fit(gaussian, 3, slope, seed=1, draws=300).draws
    layouts = [
        lambda z: np.asfortranarray(slope(z)),
        lambda z: np.repeat(slope(z), 2, axis=0)[::2],
        lambda z: slope(z)[::-1][::-1],
        lambda z: slope(z).astype(">f8"),
        lambda z: slope(z).tolist(),
        lambda z: np.ma.array(slope(z)),
        lambda z: (np.ascontiguousarray(gaussian(z)), np.asfortranarray(slope(z))),
        lambda z: [*slope(z)],
    ]
    for layout in layouts:
        assert np.array_equal(mcsa.fit(gaussian, 3, layout, seed=1, draws=300).draws, expected)


def test_fields_of_packed_records_serve():
    def packed(values):
        records = np.zeros(len(values), np.dtype([("id", "i4"), ("before", "f8"), ("log_p", "f8")]))
        records["log_p"] = values
        return records["log_p"]

    expected = mcsa.fit(gaussian, 2, seed=1, draws=300).draws
    assert np.array_equal(mcsa.fit(lambda z: packed(gaussian(z)), 2, seed=1, draws=300).draws, expected)


@pytest.mark.parametrize("wrong", [str, lambda found: np.complex128(found + 1j), lambda _: None, lambda found: np.ma.array(found, mask=True)])
def test_points_that_give_no_number(wrong):
    with pytest.raises((TypeError, ValueError), match="dtype|masked"):
        mcsa.fit(lambda z: wrong(-0.5 * (z**2).sum()), 2, vectorized=False, seed=1)


def test_a_callable_may_change_its_batch():
    def wasteful(z):
        found = gaussian(z)
        z[:] = np.nan
        return found

    assert np.array_equal(mcsa.fit(wasteful, 2, seed=1).draws, mcsa.fit(gaussian, 2, seed=1).draws)


def test_points_outside_the_support():
    """-inf is outside, NaN is counted as such and told."""

    def half(outside):
        return lambda z: np.where(z[:, 0] > 0, -z[:, 0] - 0.5 * z[:, 1] ** 2, outside)

    for outside in (-np.inf, np.nan):
        result = mcsa.fit(half(outside), 2, seed=1)
        assert np.isfinite(result.mean).all() and abs(result.mean[0] - 1.0) < 0.3
    assert any(objection.kind == "non-finite" for objection in result.verdict.objections), result.verdict


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_densities_that_are_nowhere_finite(value):
    with pytest.raises(ValueError, match="finite" if not np.isnan(value) else "NaN"):
        mcsa.fit(lambda z: np.full(len(z), value), 2)


def test_gradients_that_are_not_finite():
    for value in (np.nan, np.inf):
        result = mcsa.fit(gaussian, 2, lambda z, value=value: np.full(z.shape, value), starts=3, seed=1)
        assert not result.ok and [objection.kind for objection in result.verdict.objections] == ["gradient"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"seed": -1}, ValueError, "seed is -1, expected at least 0"),
        ({"seed": 2**64}, ValueError, r"seed is 18446744073709551616, expected less than 2\*\*64"),
        ({"seed": 1.5}, TypeError, "seed is a float, expected a whole number"),
        ({"seed": "one"}, TypeError, "seed"),
        ({"draws": 10.5}, TypeError, "draws"),
        ({"draws": 10**15}, ValueError, "draws"),
        ({"draws": -1}, ValueError, "draws is -1"),
        ({"starts": 0}, ValueError, "starts is 0"),
        ({"evaluations": 0}, ValueError, "evaluations is 0, expected at least 1"),
        ({"share": 2.0}, ValueError, "share"),
        ({"share": float("nan")}, ValueError, "share"),
        ({"seconds": -1.0}, ValueError, "seconds"),
        ({"names": [1, 2]}, TypeError, "names"),
        ({"names": "ab c"}, (TypeError, ValueError), "names"),
        ({"checkpoint": "."}, ValueError, r"cannot use \.|cannot write \."),
        ({"sedd": 3}, TypeError, r"fit\(\) got an unexpected keyword argument 'sedd'"),
        ({"transform": 3}, TypeError, "transform"),
        ({"observed": {"y": np.ma.array([1.0, 2.0], mask=[True, False])}}, ValueError, "observed: y has masked entries"),
    ],
)
def test_wrong_options(options, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        mcsa.fit(gaussian, 2, **options)


def test_wrong_options_of_other_calls():
    with pytest.raises(TypeError, match="no option 'sedd'.*method, family, kernel"):
        mcsa.ascend(gaussian, 2, sedd=3)
    with pytest.raises(ValueError, match="seed is -1"):
        mcsa.ascend(gaussian, 2, seed=-1)
    with pytest.raises(TypeError, match="no option 'seed'; the options are parameters, vectorized"):
        mcsa.resume("none", gaussian, 2, seed=3)
    with pytest.raises(TypeError, match="no option 'dim2'"):
        mcsa.Fit(gaussian, 2, dim2=3)


@pytest.mark.parametrize("names", [["a", "a"], ["x[0]", "x[0]"]])
def test_two_parameters_of_one_name(names):
    for maker in (mcsa.fit, mcsa.ascend):
        with pytest.raises(ValueError, match=r"two parameters have the name"):
            maker(gaussian, 2, names=names)


def test_masked_arrays():
    """A masked entry has no number, and is not taken for the one behind the mask."""

    def masked(found):
        return np.ma.array(found, mask=np.arange(found.size).reshape(found.shape) == 0)

    with pytest.raises(ValueError, match="log_density returned a masked array"):
        mcsa.fit(lambda z: masked(gaussian(z)), 2)
    with pytest.raises(ValueError, match="gradient returned a masked array"):
        mcsa.fit(gaussian, 2, lambda z: masked(slope(z)))
    result = mcsa.fit(gaussian, 2, seed=1, draws=200, transform=lambda z: {"a": masked(z[:, 0])})
    with pytest.raises(ValueError, match="transform: a has masked entries"):
        result.summary()
    # Without a masked entry it is an array like any other.
    plain = mcsa.fit(lambda z: np.ma.array(gaussian(z)), 2, seed=1, draws=200)
    assert np.array_equal(plain.draws, result.draws)


@pytest.mark.parametrize("dim", [2.0, "2", None, np.array([2, 3])])
def test_wrong_dimensions(dim):
    with pytest.raises(TypeError, match="dim"):
        mcsa.fit(gaussian, dim)


@pytest.mark.parametrize(("dim", "words"), [(-1, "dim is -1"), (0, "dim is 0"), (10**9, "at most 11585"), (2**64, "less than")])
def test_dimensions_out_of_range(dim, words):
    with pytest.raises(ValueError, match=words):
        mcsa.fit(gaussian, dim)


def test_a_dimension_that_the_callable_does_not_have():
    with pytest.raises(ValueError, match="broadcast"):
        mcsa.fit(lambda z: gaussian(z - np.zeros(3)), 2)


def test_functions_of_one_point():
    with pytest.raises(ValueError, match="shape"):
        mcsa.fit(lambda z: z, 2, vectorized=False)
    with pytest.raises(ZeroDivisionError):
        mcsa.fit(lambda z: 1 / 0, 2, vectorized=False)


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda z: gaussian(z)[:-1], ValueError, "returned an array of shape"),
        (lambda z: gaussian(z).astype("M8[s]"), TypeError, "expected real numbers"),
        (lambda z: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_callables_that_fail_late(wrong, error, words):
    """After some hundred right batches; the exception is that of the first wrong one, and the callable is not called again."""
    for f, more in ((mcsa.fit, {}), (mcsa.ascend, {"steps": 3_000})):
        calls, failed = 0, 0

        def late(z):
            nonlocal calls, failed
            calls += 1
            if calls <= 300:
                return gaussian(z)
            failed += 1
            return wrong(z)

        with pytest.raises(error, match=words):
            f(late, 2, **more)
        assert failed == 1


def test_labels_that_fail():
    """Functions for reports raise where they are asked, and the result stays usable."""
    result = mcsa.fit(gaussian, 2, transform=lambda z: 1 / 0, log_likelihood=lambda z: 1 / 0, seed=1, draws=200)
    for use in (result.summary, result.parameters, result.log_likelihood, result.to_arviz, lambda: repr(result)):
        with pytest.raises((ZeroDivisionError, ImportError)):
            use()
    assert result.mean.shape == (2,) and result.resampled(5).shape == (5, 2)
    short = mcsa.fit(gaussian, 2, transform=lambda z: {"a": z[:-1]}, seed=1, draws=200)
    with pytest.raises(ValueError, match="transform gave a the shape"):
        short.summary()


def test_objects_after_a_failed_fit():
    state = mcsa.Fit(lambda z: 1 / 0, 2)
    with pytest.raises(ZeroDivisionError):
        state.run()
    for use in (state.run, lambda: state.stage, lambda: state.save("never")):
        with pytest.raises(RuntimeError, match="ended by an exception"):
            use()
    ascent = mcsa.Ascent(lambda z: 1 / 0, 2)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            ascent.run(10)
    with pytest.raises(ZeroDivisionError):
        ascent.result()
    assert ascent.step == 0 and "step 0" in repr(ascent)
    assert "ended by an exception" in repr(state)
    for broken in (mcsa.Fit, mcsa.Ascent):
        with pytest.raises(TypeError):
            broken(gaussian, "two")
        # An object whose constructor failed has no state; its methods say so by an ordinary exception.
        empty = broken.__new__(broken)
        with pytest.raises(AttributeError):
            empty.run()


def test_a_fit_in_use():
    """A callable that uses its own fit gets an exception, not a lock."""
    states = []

    def meddling(z):
        states[0].run(10)
        return gaussian(z)

    states.append(mcsa.Ascent(meddling, 2))
    with pytest.raises(RuntimeError, match="running in another thread"):
        states[0].run(10)
    states[0] = mcsa.Fit(lambda z: states[0].run() and None, 2)
    with pytest.raises(RuntimeError, match="running in another thread"):
        states[0].run()


def test_results_refuse_wrong_arguments():
    result = mcsa.fit(gaussian, 2, seed=1, draws=200)
    with pytest.raises(ValueError, match="count is -1"):
        result.resampled(-1)
    with pytest.raises(ValueError, match="seed is -1"):
        result.resampled(5, seed=-1)
    with pytest.raises(ValueError):
        result.resampled(10**18)
    with pytest.raises(ValueError, match="not in list"):
        result.summary()["none"]
    assert result.resampled(0).shape == (0, 2)
    assert result.draws is result.draws


def test_other_threads_run_during_a_fit_of_a_model():
    rng = np.random.default_rng(1)
    model = mcsa.models.hierarchical_logistic(rng.normal(size=(400, 8)), (rng.uniform(size=400) < 0.5).astype(float))
    thread = threading.Thread(target=lambda: mcsa.fit(model, seed=1, starts=10))
    thread.start()
    count = 0
    while thread.is_alive():
        time.sleep(0.001)
        count += 1
    # Held back until the end of each piece of work, it would count a few dozen at most.
    assert count > 50


def _mean(seed):
    return float(mcsa.fit(mcsa.models.eight_schools(), seed=seed, draws=500).mean[0])


def test_a_forked_process_says_that_it_lacks_threads():
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no processes are forked here")
    _mean(2)
    with multiprocessing.get_context("fork").Pool(1) as pool, pytest.raises(RuntimeError, match="spawn"):
        pool.apply(_mean, (2,))


def test_densities_that_join_points_are_errors():
    def joined(z):
        return -0.5 * ((z - z.mean(axis=0)) ** 2).sum(axis=1) - 0.5 * (z**2).sum(axis=1)

    with pytest.raises(ValueError, match="joins points"):
        mcsa.fit(joined, 2)
    with pytest.raises(ValueError, match="joins points"):
        mcsa.fit(lambda z: -0.5 * (z**2).sum() - z[:, 0], 2)
    # A random density is another fault, which the verdict has.
    generator = np.random.default_rng(1)
    noisy = mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1) + generator.normal(size=len(z)), 1, evaluations=20_000)
    assert any(objection.kind == "random" for objection in noisy.verdict.objections)


def test_far_starts_and_single_points_have_notes():
    with pytest.raises(OverflowError) as error:
        mcsa.fit(lambda z: z[0] - math.exp(z[0]), 1, vectorized=False)
    assert "far out" in error.value.__notes__[0]
    with pytest.raises(Exception, match="axis") as error:
        mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 2, vectorized=False)
    assert "vectorized=False" in error.value.__notes__[0]
    with pytest.raises(IndexError) as error:
        mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=-1), 2, lambda z: np.array([-z[0], -z[1]]))
    assert "vectorized=False" in error.value.__notes__[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"names": "ab"}, "names must be"),
        ({"names": [1, 2]}, "names must be"),
        ({"seconds": "1"}, "seconds is a str, expected a number"),
        ({"share": None}, "share is a NoneType"),
        ({"start_from": 3}, "start_from is a int, expected the result of a fit"),
        ({"dims": ["a"]}, "dims is a list, expected a dict"),
        ({"observed": 3}, "observed is a int"),
        ({"parameters": ["mu"]}, "parameters is a list"),
    ],
)
def test_options_of_the_wrong_type(given, words):
    with pytest.raises(TypeError, match=words):
        mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 2, **given)


def test_what_is_no_density():
    for given in (None, {"log_density": lambda z: -0.5 * (z**2).sum(axis=1), "dim": 2}):
        with pytest.raises(TypeError, match="must be callable.*from_pymc"):
            mcsa.fit(given, 2)
    with pytest.raises(TypeError, match="no option 'progress'"):
        mcsa.Fit(lambda z: -0.5 * (z**2).sum(axis=1), 2, progress=True)
