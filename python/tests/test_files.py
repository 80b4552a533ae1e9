"""Results and states in files."""

import mcsa
import mcsa.arviz
import numpy as np
import pytest


def gaussian(z):
    return -0.5 * ((z - [1.0, -2.0]) ** 2 / [0.25, 9.0]).sum(axis=1)


def slope(z):
    return -(z - [1.0, -2.0]) / [0.25, 9.0]


def test_a_saved_result_is_the_same(tmp_path):
    path = tmp_path / "result"
    result = mcsa.fit(
        gaussian,
        2,
        slope,
        seed=1,
        transform=lambda z: {"both": np.exp(z), "first": z[:, 0]},
        dims={"both": ["side"]},
        coords={"side": ["left", "right"]},
        log_likelihood=lambda z: np.stack([z[:, 0]] * 3, axis=1),
        observed={"y": np.arange(3.0)},
    )
    result.save(path)
    loaded = mcsa.load(path)
    assert repr(loaded) == repr(result)
    for name in ("draws", "log_p", "log_q", "log_weights", "mean", "sd"):
        assert np.array_equal(getattr(loaded, name), getattr(result, name))
    for name in ("ok", "verdict", "objections", "k_hat", "sample_size", "log_evidence", "log_evidence_bounds", "evaluations"):
        assert getattr(loaded, name) == getattr(result, name)
    assert np.array_equal(loaded.resampled(50, seed=3), result.resampled(50, seed=3))
    assert np.array_equal(loaded.parameters()["both"], result.parameters()["both"])
    assert np.array_equal(loaded.log_likelihood()["y"], result.log_likelihood()["y"])
    for name in ("starts", "mean", "covariance"):
        assert np.array_equal(loaded.handover()[name], result.handover()[name])
    ours, theirs = (mcsa.arviz.groups(fitted, resample=True) for fitted in (result, loaded))
    assert ours[1:] == theirs[1:] and ours.groups.keys() == theirs.groups.keys()
    for group, variables in ours.groups.items():
        assert variables.keys() == theirs.groups[group].keys()
        assert all(np.array_equal(values, theirs.groups[group][name]) for name, values in variables.items()), group
    # A loaded result can be saved again.
    loaded.save(path)
    assert repr(mcsa.load(path)) == repr(result)


def test_an_ascent_can_be_saved_too(tmp_path):
    result = mcsa.ascend(gaussian, 2, steps=500)
    result.save(tmp_path / "result")
    loaded = mcsa.load(tmp_path / "result")
    assert repr(loaded) == repr(result) and not loaded.ok
    with pytest.raises(ValueError, match="nothing to hand over"):
        loaded.handover()


def test_damaged_and_foreign_files(tmp_path):
    path = tmp_path / "result"
    with pytest.raises(FileNotFoundError):
        mcsa.load(path)
    mcsa.fit(gaussian, 2, slope, draws=200, seed=1).save(path)
    whole = path.read_bytes()
    for bytes_ in (b"", b"text", whole[: len(whole) // 2], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        path.write_bytes(bytes_)
        with pytest.raises(ValueError, match="no result of mcsa"):
            mcsa.load(path)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match="no result of mcsa"):
        mcsa.load(tmp_path / "other.npz")
    np.savez(tmp_path / "objects.npz", text=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="no result of mcsa"):
        mcsa.load(tmp_path / "objects.npz")


def test_an_interrupted_fit_resumes_with_the_same_bits(tmp_path):
    path = tmp_path / "fit"
    whole = mcsa.fit(gaussian, 2, slope, seed=4, draws=700)
    state = mcsa.Fit(gaussian, 2, slope, seed=4, draws=700)

    class Enough(Exception):
        pass

    def stop(text):
        if text.startswith("climb"):
            raise Enough

    with pytest.raises(Enough):
        state._fitting.run(stop)
    assert state.stage == "climb"
    state.save(path)
    assert mcsa.Fit.load(path, gaussian, 2, slope).stage == "climb"
    resumed = mcsa.resume(path, gaussian, 2, slope)
    assert np.array_equal(resumed.draws, whole.draws) and resumed.verdict == whole.verdict
    with pytest.raises(ValueError, match="target"):
        mcsa.resume(path, lambda z: 2.0 * gaussian(z), 2, slope)
    with pytest.raises(ValueError):
        mcsa.resume(path, lambda z: -0.5 * (z**2).sum(axis=1), 3)
    with pytest.raises(ValueError, match="there is no file"):
        mcsa.resume(tmp_path / "none", gaussian, 2, slope)
    path.write_text("text")
    with pytest.raises(ValueError, match="cannot use"):
        mcsa.resume(path, gaussian, 2, slope)
