"""Results and states in files."""

import contextlib
import json
import os
import stat
import threading
import time
import tracemalloc

import mcsa
import mcsa.arviz
import mcsa.files
import numpy as np
import pytest
from targets import gaussian, slope


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
    for name in ("ok", "verdict", "k_hat", "sample_size", "log_evidence", "log_evidence_bounds", "evaluations"):
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


def test_draws_of_chains_keep_their_sample_size(tmp_path):
    result = mcsa.fit(mcsa.models.funnel(5, scale=3.0), seed=1)
    result.save(tmp_path / "result")
    loaded = mcsa.load(tmp_path / "result")
    assert result.mixing["chains"] == 8 and 400 <= result.sample_size < 4_000 and np.isnan(result.k_hat)
    assert (loaded.mixing, loaded.sample_size, repr(loaded)) == (result.mixing, result.sample_size, repr(result))
    line = f"of 8 chains: effective sample size {result.sample_size:.0f} or more, R-hat {result.mixing['r_hat']:.3f} or less"
    assert line in repr(result)
    # Counterexample: an answer from q has no chains.
    by_q = mcsa.fit(gaussian, 2, slope, seed=1)
    assert by_q.mixing is None and by_q.k_hat < 0.7


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


@pytest.fixture(scope="module")
def schools():
    return mcsa.fit(mcsa.models.eight_schools(), seed=1, draws=200, starts=10)


def members(path):
    with np.load(path) as file:
        return dict(file)


def written(path, arrays):
    """A file of these members, with their checksum."""
    arrays = {name: np.asarray(values) for name, values in arrays.items() if name != "sha256"}
    np.savez(path.open("wb"), sha256=np.array(mcsa.files._checksum(arrays)), **arrays)
    return path


def with_text(arrays, **changes):
    text = json.loads(str(arrays["text"]))
    return {**arrays, "text": np.array(json.dumps({**text, **changes}))}


def test_a_changed_file_has_another_checksum(schools, tmp_path):
    schools.save(tmp_path / "result")
    arrays = members(tmp_path / "result")
    verdict = [not schools.ok, "yes: all is well", []]
    changes = [
        with_text(arrays, verdict=verdict),
        with_text(arrays, names=[*schools.summary().names[:-1], "other"]),
        {**arrays, "draws": arrays["draws"] + 1e-9},
        {**arrays, "log_p": arrays["log_p"][::-1]},
        {**arrays, "observed:y": arrays["observed:y"].astype(np.float32)},
        {name: values for name, values in arrays.items() if name != "observed:y"},
    ]
    for changed in changes:
        np.savez((tmp_path / "changed").open("wb"), **changed)
        with pytest.raises(ValueError, match="no result of mcsa.*checksum differs"):
            mcsa.load(tmp_path / "changed")
    np.savez((tmp_path / "same").open("wb"), **arrays)
    assert repr(mcsa.load(tmp_path / "same")) == repr(schools)


def test_parts_that_disagree(schools, tmp_path):
    """With a checksum of their own."""
    schools.save(tmp_path / "result")
    arrays = members(tmp_path / "result")
    assert repr(mcsa.load(written(tmp_path / "same", arrays))) == repr(schools)
    draws, names = arrays["draws"], schools.summary().names
    cases = [
        (with_text(arrays, names=names[:-1]), "values has shape"),
        (with_text(arrays, names=[*names, "one"]), "values has shape"),
        ({**arrays, "draws": draws[:, :5]}, "starts has shape"),
        ({**arrays, "draws": draws[:50]}, "values has shape"),
        ({**arrays, "log_q": arrays["log_q"][:-1]}, "log_q has shape"),
        ({**arrays, "numbers": arrays["numbers"][:-1]}, "numbers has shape"),
        ({**arrays, "covariance": arrays["covariance"][:2]}, "covariance has shape"),
        ({**arrays, "draws": np.where(draws == draws[0, 0], np.nan, draws)}, "draw is not finite"),
        ({**arrays, "draws": draws.astype(np.float32)}, "dtype float32"),
        ({**arrays, "log_likelihood:y": arrays["log_likelihood:y"][:7]}, "first side must be 200"),
        (with_text(arrays, verdict=[True, "yes", ["an objection"]]), "answer of the verdict"),
        (with_text(arrays, format="mcsa result 1"), "format is mcsa result 1"),
        ({**arrays, "extra": np.zeros(3)}, "members differ.*extra"),
        ({name: values for name, values in arrays.items() if name != "params"}, "members differ.*params"),
    ]
    for changed, words in cases:
        with pytest.raises(ValueError, match=f"no result of mcsa.*{words}"):
            mcsa.load(written(tmp_path / "changed", changed))


def test_a_small_file_stays_small_in_memory(schools, tmp_path):
    schools.save(tmp_path / "result")
    arrays = members(tmp_path / "result")
    # A compressed member of zeros; a file of an older version is compressed, too.
    np.savez_compressed((tmp_path / "zeros").open("wb"), **arrays, **{"observed:z": np.zeros(20_000_000)})
    assert (tmp_path / "zeros").stat().st_size < 2**20
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed, as those of older versions without a checksum"):
        mcsa.load(tmp_path / "zeros")
    # A header that states more entries than there are.
    whole = (tmp_path / "result").read_bytes()
    stated = f"({len(arrays['params'])},)".encode()
    forged = b"(9" + b"9" * (len(stated) - 4) + b",)"
    assert stated in whole
    (tmp_path / "forged").write_bytes(whole.replace(stated, forged))
    with pytest.raises(ValueError, match="no result of mcsa"):
        mcsa.load(tmp_path / "forged")
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


def test_arrays_of_objects_are_not_saved(tmp_path):
    result = mcsa.fit(gaussian, 2, draws=200, starts=3, seed=1, observed={"y": [None, "a"]})
    with pytest.raises(TypeError, match="observed:y has dtype object"):
        result.save(tmp_path / "result")
    assert list(tmp_path.iterdir()) == []


def savers():
    """All that write a file."""
    state = mcsa.Fit(gaussian, 2, slope, seed=4, draws=200)
    return {"result": mcsa.ascend(gaussian, 2, steps=50, draws=200).save, "fit": state.save, "ascent": mcsa.Ascent(gaussian, 2).save}


@pytest.mark.parametrize("name", ["result", "fit", "ascent"])
def test_a_link_is_kept(name, tmp_path):
    save = savers()[name]
    (tmp_path / "file").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() != b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.parametrize("name", ["result", "fit", "ascent"])
def test_a_device_and_a_pipe_stay_what_they_are(name, tmp_path):
    """They are written to, or refused by name."""
    save = savers()[name]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    thread = threading.Thread(target=lambda: drain(reader), daemon=True)
    thread.start()
    try:
        save(pipe)
    except ValueError as error:
        assert str(pipe) in str(error)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    device = tmp_path / "device"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
    except OSError:
        pytest.skip("a device cannot be made here")
    try:
        save(device)
    except ValueError as error:
        assert str(device) in str(error)
    assert stat.S_ISCHR(device.lstat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["device", "pipe"]


def drain(reader):
    """Reads a pipe for as long as the test takes."""
    while True:
        with contextlib.suppress(BlockingIOError):
            os.read(reader, 2**16)
        time.sleep(0.001)


def test_an_error_leaves_the_former_file(schools, tmp_path, monkeypatch):
    path = tmp_path / "result"
    schools.save(path)
    path.chmod(0o640)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            schools.save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    schools.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(IsADirectoryError):
        schools.save(tmp_path)
    # A pipe without a writer would be waited for.
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ValueError, match="no regular file"):
            mcsa.load(place)


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
