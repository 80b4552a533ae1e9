"""Checks of arguments; an error names the argument."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["known", "mapping", "numbers", "real", "unmasked", "whole"]


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number from ``least`` to the largest of 64 bits."""
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}, expected a whole number") from None
    if not least <= found < 2**64:
        raise ValueError(f"{name} is {found}, expected {f'at least {least}' if found < least else 'less than 2**64'}")
    return found


def real(name: str, value: Any) -> float:
    """A number."""
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is a {type(value).__name__}, expected a number")
    return float(value)


def mapping(name: str, value: Any) -> dict[Any, Any]:
    """A dict; empty if nothing is given."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name} is a {type(value).__name__}, expected a dict")
    return dict(value or {})


def unmasked(name: str, values: Any) -> np.ndarray:
    """An array, of which every entry has a value."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries; expected a value for every entry")
    return np.asarray(values)


def numbers(name: str, values: Any, kept: type | None = None) -> np.ndarray:
    """An array of real numbers in C order, as float64 or of the type that is kept."""
    found = unmasked(name, values)
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {found.dtype}; expected real numbers")
    is_kept = kept is not None and found.dtype == kept
    return np.ascontiguousarray(found, dtype=kept if is_kept else np.float64).reshape(found.shape)


def known(given: Iterable[str], names: Iterable[str], what: str = "there is no option", all_of: str = "options") -> None:
    """An unknown name, by default of an option, is an error, which has all names."""
    names = list(names)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1, cutoff=0.7)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise TypeError(f"{what} {name!r}{hint}; the {all_of} are {', '.join(names)}")
