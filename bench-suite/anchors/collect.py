"""Puts new rows in the place of stored ones of the same method and case, and writes the versions: `python collect.py ROWS FILE`."""

import collections
import csv
import datetime
import importlib.metadata
import pathlib
import platform
import sys

from rows import COLUMNS


def method(row):
    return row["package"], row["method"], row["case"]


rows, file = map(pathlib.Path, sys.argv[1:])
with open(rows, newline="") as new:
    found = list(csv.DictReader(new, COLUMNS))
made = {method(row) for row in found}
with open(file, newline="") as stored:
    kept = [row for row in csv.DictReader(stored) if method(row) not in made]
with open(file, "w", newline="") as out:
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(kept + found, key=lambda row: (*method(row), int(row["seed"]))))
packages = ("nutpie", "blackjax", "numpyro", "jax", "numpy", "arviz")
versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
counts = collections.Counter((row["package"], row["method"]) for row in kept + found)
lines = [f"{package} {name}: {count} rows" for (package, name), count in sorted(counts.items())]
pathlib.Path("environment.txt").write_text(
    f"rows.csv: {len(kept + found)} rows; the last {len(found)} written by `cargo xtask anchors` on {datetime.date.today()}.\n"
    f"Python {platform.python_version()}, {versions}.\n"
    "Seconds are from a shared machine under load, without compilation: compare evaluations and gradients.\n"
    + "\n".join(lines) + "\n"
)
print(f"{file}: {len(found)} new rows, {len(kept)} kept")
