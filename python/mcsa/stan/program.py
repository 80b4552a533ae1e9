"""Stan programs as targets of :func:`mcsa.fit`, through the C interface of BridgeStan."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import compile

__all__ = ["from_stan"]


def from_stan(
    program: str | os.PathLike[str], data: Mapping[str, Any] | str | os.PathLike[str] | None = None, *, seed: int = 1
) -> dict[str, Any]:
    """Arguments of :func:`mcsa.fit` from a Stan program: log density and gradient, and the map to its parameters.

    ``mcsa.fit(**mcsa.from_stan("schools_model.so", data))``.

    Args:
        program: A library compiled by BridgeStan (``bridgestan.compile_model``), or a program in a file that ends in ``.stan``. The
            latter is compiled to a library beside it, once: by :mod:`mcsa.stan.compile` where the package ``httpstan`` and a C++
            compiler are there, else by the package ``bridgestan`` with its tools.
        data: A dict of numbers and arrays, JSON, or the path of a JSON file.
        seed: Seed of random numbers in the block ``transformed data``.

    The log density has all constants (``propto=False``) and the Jacobian of Stan's transforms. Parameters and transformed parameters
    are reported. Generated quantities are those of :meth:`mcsa.Result.generated`; ``log_lik`` is the log likelihood of each datum.
    """
    path = Path(program)
    if not path.exists():
        raise FileNotFoundError(f"there is no Stan program or library {path}")
    model = _Program(_compiled(path) if path.suffix == ".stan" else path, _json(data), seed)
    found = {
        "log_density": model.log_density,
        "gradient": model.gradient,
        "dim": model.dim,
        "names": model.names("bs_param_unc_names"),
        "transform": model.constrained,
    }
    quantities = {name.partition("[")[0] for name in model.names("bs_param_names", True, True)[len(model.names("bs_param_names", True, False)) :]}
    if _LOG_LIKELIHOOD in quantities:
        found["log_likelihood"] = lambda z: model.generated(z, 1)[_LOG_LIKELIHOOD]
    if quantities - {_LOG_LIKELIHOOD}:
        found["generated"] = lambda z, seed: {name: x for name, x in model.generated(z, seed).items() if name != _LOG_LIKELIHOOD}
    return found


#: Name that programs give to the log likelihood of each datum.
_LOG_LIKELIHOOD = "log_lik"


def _compiled(program: Path) -> Path:
    """Library of a program."""
    if compile.folder() is not None:
        # The name that BridgeStan gives it.
        library = program.with_name(f"{program.stem}_model.so")
        compile.compile_program(program, library)
        return library
    try:
        import bridgestan
    except ImportError as error:
        raise ImportError(
            "a Stan program is compiled with the package httpstan (pip install --no-deps httpstan==4.13.0) and a C++ compiler, or with "
            "bridgestan"
        ) from error
    return Path(bridgestan.compile_model(program))


def _json(data: Mapping[str, Any] | str | os.PathLike[str] | None) -> str:
    """Data as JSON."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise TypeError(f"data hold a {type(value).__name__}; expected numbers and arrays")

    if data is None:
        return ""
    if isinstance(data, Mapping):
        return json.dumps(dict(data), default=plain)
    text = os.fspath(data)
    return text if text.lstrip().startswith("{") else Path(text).read_text()


class _Program:
    """A program with data. Calls release the interpreter's lock."""

    def __init__(self, path: Path, data: str, seed: int) -> None:
        try:
            self._library = ctypes.CDLL(os.fspath(path.resolve()))
            construct = self._library.bs_model_construct
        except (OSError, AttributeError) as error:
            raise ValueError(f"{path} is no library of BridgeStan: {error}") from error
        # Pointers to numbers are given as addresses.
        number, flag, pointer = ctypes.c_int, ctypes.c_bool, ctypes.c_void_p
        message = ctypes.POINTER(ctypes.c_char_p)
        signatures = {
            "bs_model_construct": (pointer, [ctypes.c_char_p, ctypes.c_uint, message]),
            "bs_model_destruct": (None, [pointer]),
            "bs_free_error_msg": (None, [ctypes.c_char_p]),
            "bs_param_names": (ctypes.c_char_p, [pointer, flag, flag]),
            "bs_param_unc_names": (ctypes.c_char_p, [pointer]),
            "bs_param_num": (number, [pointer, flag, flag]),
            "bs_param_unc_num": (number, [pointer]),
            "bs_param_constrain": (number, [pointer, flag, flag, pointer, pointer, pointer, message]),
            "bs_rng_construct": (pointer, [ctypes.c_uint, message]),
            "bs_rng_destruct": (None, [pointer]),
            "bs_log_density": (number, [pointer, flag, flag, pointer, pointer, message]),
            "bs_log_density_gradient": (number, [pointer, flag, flag, pointer, pointer, pointer, message]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        # Libraries compiled here take batches; one compiled by BridgeStan takes a point at a time.
        self._takes_batches = hasattr(self._library, "mcsa_log_densities")
        if self._takes_batches:
            self._library.mcsa_log_densities.argtypes = [pointer, number, pointer, pointer]
            self._library.mcsa_gradients.argtypes = [pointer, number, pointer, pointer, pointer]
        self._message = ctypes.c_char_p()
        self._model = construct(data.encode(), seed, ctypes.byref(self._message))
        if not self._model:
            raise ValueError(f"{path} does not accept these data: {self._said()}")
        self.dim = int(self._library.bs_param_unc_num(self._model))
        if self.dim == 0:
            raise ValueError(f"{path} has no parameters")
        self._reported = {_entry(name)[0] for name in self._library.bs_param_names(self._model, True, False).decode().split(",")}

    def __del__(self) -> None:
        if getattr(self, "_model", None):
            self._library.bs_model_destruct(self._model)

    def _said(self) -> str:
        """The message of the last call; it is freed."""
        text = (self._message.value or b"an unknown error").decode(errors="replace").strip()
        if self._message.value is not None:
            self._library.bs_free_error_msg(self._message)
            self._message.value = None
        return text

    def names(self, function: str, *arguments: bool) -> list[str]:
        """Names with their indices in brackets, counted from 0 as in the arrays of :meth:`constrained`."""
        text = getattr(self._library, function)(self._model, *arguments).decode()
        return [stem + (f"[{','.join(map(str, index))}]" if index else "") for stem, index in map(_entry, text.split(","))]

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """Log density at each row. A point that the program rejects has density zero."""
        z, at = self._points(z)
        out = np.empty(len(z))
        to, row = _address(out), 8 * self.dim
        if self._takes_batches:
            self._library.mcsa_log_densities(self._model, len(z), at, to)
            return out
        function, message = self._library.bs_log_density, ctypes.byref(self._message)
        for i in range(len(z)):
            if function(self._model, False, True, at + row * i, to + 8 * i, message):
                self._said()
                out[i] = -np.inf
        return out

    def gradient(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log density and gradient at each row."""
        z, at = self._points(z)
        out, slopes = np.empty(len(z)), np.empty(z.shape)
        to, slope, row = _address(out), _address(slopes), 8 * self.dim
        if self._takes_batches:
            self._library.mcsa_gradients(self._model, len(z), at, to, slope)
            return out, slopes
        function, message = self._library.bs_log_density_gradient, ctypes.byref(self._message)
        for i in range(len(z)):
            if function(self._model, False, True, at + row * i, to + 8 * i, slope + row * i, message):
                self._said()
                out[i], slopes[i] = -np.inf, 0.0
        return out, slopes

    def _points(self, z: np.ndarray) -> tuple[np.ndarray, int]:
        """Points as the library reads them, and their address."""
        z = np.ascontiguousarray(z, dtype=np.float64)
        if z.ndim != 2 or z.shape[1] != self.dim:
            raise ValueError(f"points have shape {z.shape}; expected (N, {self.dim})")
        return z, _address(z)

    def constrained(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters and transformed parameters of each row by name: NaN where the program rejects a row, an error if it rejects all."""
        return self._written(z, None)

    def generated(self, z: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        """Generated quantities of each row by name, as :meth:`constrained`."""
        generator = self._library.bs_rng_construct(seed % 2**32, ctypes.byref(self._message))
        try:
            found = self._written(z, generator)
        finally:
            self._library.bs_rng_destruct(generator)
        return {name: values for name, values in found.items() if name not in self._reported}

    def _written(self, z: np.ndarray, generator: int | None) -> dict[str, np.ndarray]:
        """What the program writes for each row; with a generator generated quantities as well."""
        z, at = self._points(z)
        has_more = generator is not None
        flat = self._library.bs_param_names(self._model, True, has_more).decode().split(",")
        values = np.full((len(z), len(flat)), np.nan)
        to, rejected, said = _address(values), 0, ""
        for i in range(len(z)):
            places = (at + 8 * self.dim * i, to + 8 * len(flat) * i)
            if self._library.bs_param_constrain(self._model, True, has_more, *places, generator, ctypes.byref(self._message)):
                rejected, said = rejected + 1, self._said()
                values[i] = np.nan
        if rejected == len(z) > 0:
            raise ValueError(f"the parameters of the draws cannot be computed: {said}")
        return _arrays(flat, values)


def _address(array: np.ndarray) -> int:
    """Address of the numbers; ``array.ctypes.data`` takes as long as a density."""
    return int(array.__array_interface__["data"][0])


def _entry(name: str) -> tuple[str, tuple[int, ...]]:
    """Name and index of an entry ``theta.1.2``."""
    stem, *index = name.split(".")
    if not all(part.isdigit() for part in index):  # entries of tuples and parts of complex numbers
        return name, ()
    return stem, tuple(int(part) - 1 for part in index)


def _arrays(names: list[str], values: np.ndarray) -> dict[str, np.ndarray]:
    """Columns ``theta.1.2`` as arrays by name; Stan counts from 1, the first index fastest."""
    columns: dict[str, list[tuple[tuple[int, ...], int]]] = {}
    for column, name in enumerate(names):
        stem, index = _entry(name)
        columns.setdefault(stem, []).append((index, column))
    found = {}
    for stem, entries in columns.items():
        shape = tuple(max(places) + 1 for places in zip(*(place for place, _ in entries), strict=True))
        array = np.full((len(values), *shape), np.nan)
        for place, column in entries:
            within: tuple[Any, ...] = (slice(None), *place)
            array[within] = values[:, column]
        found[stem] = array
    return found
