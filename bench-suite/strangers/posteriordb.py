"""Posteriors of posteriordb, by the path of a copy: Stan programs with data, and draws published for some of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from programs import compiled
from stranger import Known, Stranger, known, stored


def strangers(folder: Path, built: Path) -> Iterator[Stranger]:
    """All posteriors whose program and data are there. Programs are compiled in ``built``, once."""
    base = folder / "posterior_database"
    if not base.is_dir():
        raise SystemExit(f"{folder} is no copy of posteriordb: git clone https://github.com/stan-dev/posteriordb gives one")
    for path in sorted((base / "posteriors").glob("*.json")):
        posterior = json.loads(path.read_text())
        program = base / f"models/stan/{posterior['model_name']}.stan"
        data = base / f"data/data/{posterior['data_name']}.json.zip"
        if not program.exists() or not data.exists():
            continue
        draws = base / f"reference_posteriors/draws/draws/{posterior['reference_posterior_name']}.json.zip"

        def arguments(program: Path = program, data: Path = data) -> dict[str, Any]:
            return compiled(program, built, _unzipped(data))

        def reference(name: str = path.stem, draws: Path = draws) -> dict[str, Known]:
            return _published(draws) if draws.exists() else stored(name)

        yield Stranger(path.stem, "posteriordb", arguments, reference)


def data_of(folder: Path, name: str) -> dict[str, Any]:
    """The data of this name."""
    return json.loads(_unzipped(folder / f"posterior_database/data/data/{name}.json.zip"))


def _unzipped(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0]).decode()


def _published(path: Path) -> dict[str, Known]:
    chains = json.load(io.StringIO(_unzipped(path)))
    return {name: known(np.array([chain[name] for chain in chains], dtype=float)) for name in chains[0]}
