"""Verdict on a fit: yes, or no with objections."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ._mcsa import RULE

__all__ = ["RULE", "Objection", "Verdict"]

_NUMBERS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


@dataclass(frozen=True, repr=False)
class Objection:
    """Objection of one check."""

    #: Kind of the objection, as ``mcsa::posterior::Objection`` in Rust names it: ``"weights"``, ``"mixing"``, ``"tail"``, ...
    kind: str
    #: The parameter that it is about; None if it is about the whole fit.
    parameter: str | None
    #: The numbers behind it by name.
    numbers: dict[str, float | bool | str]
    #: The objection in words.
    text: str

    @classmethod
    def read(cls, fields: str, text: str) -> Objection:
        """From the fields as JSON, where a number that is not finite is a word."""
        found = json.loads(fields)
        kind, parameter = found.pop("witness"), found.pop("name", None)
        return cls(kind, parameter, {name: _NUMBERS.get(value, value) for name, value in found.items()}, text)

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Verdict:
    """Verdict on a fit, which prints as its words.

    >>> import mcsa
    >>> slow = mcsa.fit(lambda z: -((1 + z**2).prod(axis=1) ** 0.25), dim=1, seed=1, evaluations=5_000).verdict
    >>> slow.ok
    False
    >>> all(objection.kind and objection.text for objection in slow.objections)
    True
    """

    #: True if all checks passed; False if none was run.
    ok: bool
    #: Objections of the checks; none if the verdict is yes, or if no check was run.
    objections: tuple[Objection, ...]
    #: The verdict in words: yes, with the rate at which it was wrong on planted failures, or no, with the objections.
    text: str

    @classmethod
    def read(cls, found: tuple[bool, str, list[tuple[str, str]]] | None) -> Verdict:
        """From the native part; None if no check was run."""
        if found is None:
            return cls(False, (), "no: no check was run, because the fit was made from chosen parts; mcsa.fit runs them")
        ok, text, objections = found
        return cls(ok, tuple(Objection.read(*objection) for objection in objections), text)

    def __bool__(self) -> bool:
        # Without it a no would be true.
        return self.ok

    def __repr__(self) -> str:
        return self.text
