"""Writes the file of rows, and beside it the versions: `python collect.py ROWS FILE`."""

import datetime
import importlib.metadata
import pathlib
import platform
import sys

from rows import COLUMNS

rows, file = map(pathlib.Path, sys.argv[1:])
found = rows.read_text().splitlines()
file.write_text("\n".join([",".join(COLUMNS), *found]) + "\n")
packages = ("nutpie", "blackjax", "numpyro", "jax", "numpy", "arviz")
versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
pathlib.Path("environment.txt").write_text(
    f"rows.csv: {len(found)} rows, written by `cargo xtask anchors` on {datetime.date.today()}.\n"
    f"Python {platform.python_version()}, {versions}.\n"
    "Seconds are from a shared machine under load, without compilation: compare evaluations and gradients.\n"
)
print(f"{file}: {len(found)} rows")
