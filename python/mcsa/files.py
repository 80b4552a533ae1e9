"""Results in files: archives of NumPy (``.npz``) with a checksum."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shutil
import stat
import zipfile
from typing import Any

import numpy as np

from ._mcsa import FitResult
from .arguments import unmasked
from .result import Labels, Result

__all__ = ["load", "save"]

#: First words of a file; the number is the version of the format.
_FORMAT = "mcsa result 5"
#: Members of every file, beside ``text`` and ``sha256``.
_ARRAYS = ("draws", "values", "log_p", "log_q", "params", "log_evidence", "numbers", "starts", "mean", "covariance")
#: Beginnings of the names of further members: arrays by names of the user.
_NAMED = ("parameter:", "log_likelihood:", "observed:")
#: Kinds of entries that can be stored.
_KINDS = "biufcSUmM"


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Writes a result to a file."""
    fitted, labels = result._fitted, result._labels
    starts, mean, covariance = fitted.handover or (np.empty((0, 0)), [], np.empty((0, 0)))
    text = {
        "format": _FORMAT,
        "names": fitted.names,
        "verdict": fitted.verdict,
        "evaluations": fitted.evaluations,
        "family": fitted.family,
        "shape": fitted.shape,
        "sampled": fitted.sampled,
        "sample_size": fitted.sample_size,
        "dims": {name: list(sides) for name, sides in labels.dims.items()},
        "coords": {name: [_plain(value) for value in values] for name, values in labels.coords.items()},
        "below_diagonal": sorted(labels.below_diagonal),
        "has_numbers": fitted.numbers is not None,
        "has_handover": fitted.handover is not None,
    }
    arrays = {name: getattr(fitted, name) for name in ("draws", "values", "log_p", "log_q")}
    arrays |= {"params": np.array(fitted.params), "log_evidence": np.array(fitted.log_evidence)}
    arrays |= {"numbers": np.array(fitted.numbers or []), "starts": starts, "mean": np.array(mean), "covariance": covariance}
    if labels.transform is not None:
        arrays |= {f"parameter:{name}": values for name, values in result.parameters().items()}
    arrays |= {f"log_likelihood:{name}": values for name, values in result.log_likelihood().items()}
    arrays |= {f"observed:{name}": unmasked(name, values) for name, values in labels.observed.items()}
    for name, values in arrays.items():
        if values.dtype.kind not in _KINDS:
            raise TypeError(f"{name} has dtype {values.dtype}, which cannot be saved")
    arrays["text"] = np.array(json.dumps(text))
    content = io.BytesIO()
    # Not compressed, so that a file takes no more memory than its size.
    np.savez(content, sha256=np.array(_checksum(arrays)), **arrays)
    _replace(os.fsdecode(path), content.getvalue())


def load(path: str | os.PathLike[str]) -> Result:
    """The result in a file that :meth:`Result.save` wrote, without its target; every number has the same bits.

    A file whose contents do not have its checksum is an error, and so is one of an older version, which has none.

    >>> import mcsa, os, tempfile
    >>> result = mcsa.fit(mcsa.models.eight_schools(), seed=1)
    >>> path = os.path.join(tempfile.mkdtemp(), "schools.npz")
    >>> result.save(path)
    >>> bool((mcsa.load(path).draws == result.draws).all())
    True
    """
    try:
        arrays, text = _read(path)
        verdict = None
        if text["verdict"] is not None:
            ok, words, objections = text["verdict"]
            verdict = ok, words, [(fields, objection) for fields, objection in objections]
        fitted = FitResult.restored(
            (arrays["draws"], arrays["values"], arrays["log_p"], arrays["log_q"]),
            text["names"],
            arrays["numbers"].tolist() if text["has_numbers"] else None,
            tuple(arrays["log_evidence"].tolist()),
            verdict,
            tuple(text["evaluations"]),
            text["family"],
            arrays["params"].tolist(),
            text["shape"],
            (arrays["starts"], arrays["mean"].tolist(), arrays["covariance"]) if text["has_handover"] else None,
            tuple(text["sampled"]) if text["sampled"] else None,
            text["sample_size"],
        )
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{os.fspath(path)} is no result of mcsa, or is damaged: {error}") from error

    def of(kind: str) -> dict[str, np.ndarray]:
        return {name.removeprefix(kind): values for name, values in arrays.items() if name.startswith(kind)}

    parameters, likelihood = of("parameter:"), of("log_likelihood:")
    return Result(
        fitted,
        Labels(
            (lambda _: parameters) if parameters else None,
            text["dims"],
            text["coords"],
            (lambda _: likelihood) if likelihood else None,
            of("observed:"),
            frozenset(text["below_diagonal"]),
        ),
    )


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and text of a file, which belong together. Its members take no more memory than the file has bytes."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is no regular file")
    with zipfile.ZipFile(path) as file:
        members = file.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("its members are compressed, as those of older versions without a checksum are; numpy.load reads them")
        if len(set(names)) < len(names) or sum(member.file_size for member in members) > os.stat(path).st_size:
            raise ValueError("its members overlap")
        wanted = {*_ARRAYS, "text", "sha256"}
        if wrong := wanted.difference(names) or {name for name in names if name not in wanted and not name.startswith(_NAMED)}:
            raise ValueError(f"its members differ from those of a result by {', '.join(sorted(wrong))}")
        arrays = {name: _array(file.read(member)) for name, member in zip(names, members, strict=True)}
    if str(arrays.pop("sha256")) != _checksum(arrays):
        raise ValueError("its checksum differs")
    text = json.loads(str(arrays.pop("text")))
    if text["format"] != _FORMAT:
        raise ValueError(f"its format is {text['format']}")
    _agree(arrays, text)
    return arrays, text


def _agree(arrays: dict[str, np.ndarray], text: dict[str, Any]) -> None:
    """Parts of different fits do not belong together, though each be right."""
    (count, dim), width = arrays["draws"].shape, len(text["names"])
    sides = {"values": (count, width), "log_p": (count,), "log_q": (count,), "log_evidence": (4,)}
    if text["has_numbers"]:
        sides["numbers"] = (width, 6)
    if text["has_handover"]:
        sides |= {"starts": (len(arrays["starts"]), dim), "mean": (dim,), "covariance": (dim, dim)}
    for name, shape in sides.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
    for name, values in arrays.items():
        if name in _ARRAYS and values.dtype != np.float64:
            raise ValueError(f"{name} has dtype {values.dtype}, expected float64")
        if name.startswith(_NAMED[:2]) and values.shape[:1] != (count,):
            raise ValueError(f"{name} has shape {values.shape}; its first side must be {count}")
    if not np.isfinite(arrays["draws"]).all():
        raise ValueError("a draw is not finite")
    if text["verdict"] is not None and bool(text["verdict"][0]) != (not text["verdict"][2]):
        raise ValueError("the answer of the verdict is not that of its objections")


def _array(member: bytes) -> np.ndarray:
    """The array in a member, whose header is not trusted."""
    stream = io.BytesIO(member)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("a member is no array of plain entries")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    entries = member[stream.tell() :]
    if dtype.kind not in _KINDS or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(entries):
        raise ValueError("a member has not the bytes that its header states")
    return np.ndarray(shape, dtype, entries, order="F" if is_fortran else "C").copy()


def _checksum(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of names, types, shapes and entries, whatever the layout of the arrays."""
    digest = hashlib.sha256()
    for name, values in sorted(arrays.items()):
        entries = values.astype(values.dtype.newbyteorder("<")).tobytes()
        digest.update(json.dumps([name, values.dtype.newbyteorder("<").str, values.shape]).encode())
        digest.update(entries)
    return digest.hexdigest()


def _replace(path: str, content: bytes) -> None:
    """Replaces a file as a whole: the content is on the disk before the name moves to it."""
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        is_file = True
    if not is_file:
        with open(path, "wb") as file:
            file.write(content)
        return
    path = os.path.realpath(path)
    beside = f"{path}.{os.getpid()}.new"
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.remove(beside)
        raise


def _plain(value: Any) -> Any:
    """A label as JSON."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float) else str(value)
