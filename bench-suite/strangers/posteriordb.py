"""Posteriors of posteriordb, by the path of a copy: Stan programs with data, and draws published for some of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from programs import compiled
from stranger import CERTAIN, CERTAIN_SD, Known, Stranger, known, stored


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
        published = base / f"reference_posteriors/draws/draws/{posterior['reference_posterior_name']}.json.zip"

        def arguments(program: Path = program, data: Path = data) -> dict[str, Any]:
            return compiled(program, built, _unzipped(data))

        def draws(published: Path = published) -> dict[str, np.ndarray]:
            return _draws(published) if published.exists() else {}

        def reference(name: str = path.stem, draws: Callable[[], dict[str, np.ndarray]] = draws) -> dict[str, Known]:
            of_draws = {key: known(chains) for key, chains in draws().items()}
            return of_draws or _summarised(base / "reference_posteriors", name) or stored(name)

        yield Stranger(path.stem, "posteriordb", arguments, reference, draws)


def data_of(folder: Path, name: str) -> dict[str, Any]:
    """The data of this name."""
    return json.loads(_unzipped(folder / f"posterior_database/data/data/{name}.json.zip"))


def _unzipped(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0]).decode()


def _summarised(folder: Path, name: str) -> dict[str, Known]:
    """Moments from published means of each parameter and of its square, with their errors; only those that these settle."""
    paths = [folder / f"summary_statistics/{kind}/{kind}/{name}.json" for kind in ("mean_value", "mean_squared_value")]
    if not all(path.exists() for path in paths):
        return {}
    first, second = (json.loads(path.read_text()) for path in paths)
    mean, square = np.array(first["mean_value"]), np.array(second["mean_squared_value"])
    variance = square - mean**2
    sd = np.sqrt(variance)
    of_mean, of_square = np.array(first["mcse_mean"]), np.array(second["mcse_mean"])
    # x = m + e has the square m^2 + 2 m e + e^2; what 2 m e has no part in is the error of e^2. At least that of a normal's draws.
    of_variance = np.maximum(np.sqrt(np.abs(of_square**2 - (2 * mean * of_mean) ** 2)), np.sqrt(2) * sd * of_mean)
    numbers = zip(first["names"], mean, sd, of_mean / sd, of_variance / (2 * variance))
    none = (np.nan,) * 3
    return {key: Known(m, s, none, e, f) for key, m, s, e, f in numbers if e <= CERTAIN and f <= CERTAIN_SD}


def _draws(path: Path) -> dict[str, np.ndarray]:
    chains = json.load(io.StringIO(_unzipped(path)))
    return {name: np.array([chain[name] for chain in chains], dtype=float) for name in chains[0]}
