"""Stan programs in a folder and its subfolders, each beside its data: ``NAME.stan`` with ``NAME.data.json``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stranger import Stranger, stored

DATA = ".data.json"


def strangers(folder: Path, built: Path) -> Iterator[Stranger]:
    """All programs with data, named ``FOLDER-PROGRAM``. The folder's name is the source."""
    programs = sorted(folder.rglob("*.stan"))
    if not programs:
        raise SystemExit(f"{folder} has no Stan program: git clone https://github.com/stan-dev/example-models gives some hundred")
    for program in programs:
        data = data_of(program)
        if data is None:
            continue
        name = f"{program.parent.name}-{program.stem}"

        def arguments(program: Path = program, data: Path = data) -> dict[str, Any]:
            return compiled(program, built / folder.name / program.parent.name, data.read_text())

        yield Stranger(name, folder.name, arguments, lambda name=name: stored(name))


def data_of(program: Path) -> Path | None:
    """The data with the longest name that begins the program's, else the only data of the folder."""
    found = sorted(program.parent.glob(f"*{DATA}"))
    fitting = [data for data in found if program.stem.startswith(data.name.removesuffix(DATA))]
    if fitting:
        return max(fitting, key=lambda data: len(data.name))
    return found[0] if len(found) == 1 else None


def compiled(program: Path, built: Path, data: str) -> dict[str, Any]:
    """Arguments of ``mcsa.fit`` by a copy of the program in ``built``, which is compiled once."""
    import mcsa

    copy = built / program.name
    if not copy.exists() or copy.read_bytes() != program.read_bytes():
        built.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(program, copy)
    return mcsa.from_stan(copy, data)
