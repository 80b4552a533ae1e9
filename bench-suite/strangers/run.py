"""Runs methods on posteriors that others wrote, each run in a process of its own with a time limit, and writes a row of each.

    cargo xtask strangers --posteriordb FOLDER --everyday [--only NAME ..] [--methods NAME ..] [--seeds N] [--shard K/N] [--trials]

Runs whose rows are there are not run again; a row of an earlier rule of the verdict is replaced. The moments of each run are kept:
`--judge` judges rows whose reference came later.
`cargo xtask figures ours/strangers` makes the tables.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import mcsa
import numpy as np

import methods
import planted
from stranger import FOLDER, Known, Stranger, columns, compared, summary

COLUMNS = (
    "source,posterior,dim,trial,method,seed,rule,outcome,right,mean_error,sd_error,worst,ess,gradients,densities,seconds,building,way,reasons"
).split(",")


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Options that choose posteriors."""
    parser.add_argument("--posteriordb", type=Path, metavar="FOLDER", help="a copy of posteriordb")
    parser.add_argument("--programs", type=Path, metavar="FOLDER", help="Stan programs, each with JSON data beside it")
    parser.add_argument("--gym", action="store_true", help="targets of inference_gym")
    parser.add_argument("--everyday", action="store_true", help="everyday models in PyMC")
    parser.add_argument("--build", type=Path, default=Path("build"), metavar="FOLDER", help="where programs are compiled")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--trials", action="store_true", help="only posteriors on which settings may be chosen")
    parser.add_argument("--shard", default="1/1", metavar="K/N")


def strangers(given: argparse.Namespace) -> list[Stranger]:
    """All posteriors of the sources that are there."""
    found: list[Stranger] = []
    if given.posteriordb:
        import posteriordb

        found += posteriordb.strangers(given.posteriordb, given.build)
    if given.programs:
        import programs

        found += programs.strangers(given.programs, given.build)
    if given.everyday:
        import everyday

        found += everyday.strangers()
    if given.gym:
        import gym

        found += gym.strangers()
    if fault := getattr(given, "planted", None):
        found = [planted.FAULTS[fault](one) for one in found]
    # A copy with a planted fault may be chosen by the name of its original.
    names = [{one.name, one.name.partition("+")[0]} for one in found]
    only = set(given.only)
    if absent := only.difference(*names):
        raise SystemExit(f"no posterior of these sources is named {', '.join(sorted(absent))}")
    part, parts = map(int, given.shard.split("/"))
    chosen = [one for one, own in zip(found, names) if (not only or own & only) and (not given.trials or one.is_trial)]
    return chosen[part - 1 :: parts]


def place_of(folder: Path, name: str, method: str, seed: str) -> Path:
    """File of the moments of a run."""
    return folder / f"{name}+{method.replace(' ', '-')}+{seed}.npz"


def keep(path: Path, found: dict[str, Known]) -> None:
    """Writes the moments of a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, names=list(found), numbers=[(one.mean, one.sd, *one.quantiles) for one in found.values()])


def kept(path: Path) -> dict[str, Known]:
    """The moments of a run."""
    with np.load(path) as file:
        return {str(name): Known(x[0], x[1], tuple(x[2:])) for name, x in zip(file["names"], file["numbers"].tolist())}


def rule(method: str) -> str:
    """The rule of the verdict; empty for other methods than the call."""
    return str(mcsa.verdict.RULE) if method.startswith("mcsa") else ""


def put(path: Path, row: dict[str, str]) -> None:
    """Puts a row into the file, in place of the one of the same run. Shards may do so at the same time."""
    with path.open("r+", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        rows = {run_of(one): one for one in csv.DictReader(file)} | {run_of(row): row}
        file.seek(0)
        file.truncate()
        write(file, rows.values())


def write(file: TextIO, rows: Iterable[dict[str, str]]) -> None:
    writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def run_of(row: dict[str, str]) -> tuple[str, ...]:
    return row["source"], row["posterior"], row["method"], row["seed"]


def judge(given: argparse.Namespace) -> None:
    """Judges the rows of runs that have no judgement yet, where moments and a reference are there."""
    with given.rows.open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_name = {one.name: one for one in strangers(given)}
    for row in rows:
        path = place_of(given.moments, row["posterior"], row["method"], row["seed"])
        if row["right"] or row["posterior"] not in by_name or not path.exists():
            continue
        if reference := by_name[row["posterior"]].reference():
            row |= {key: text(value) for key, value in compared(kept(path), reference).items()}
    with given.rows.open("w", newline="") as file:
        write(file, rows)


def job(stranger: Stranger, method: str, seed: int, moments: Path) -> dict[str, Any]:
    """The row of one run, in this process."""
    warnings.filterwarnings("ignore")
    start = time.process_time()
    arguments = stranger.arguments()
    building = time.process_time() - start
    found = methods.run(arguments, method, seed)
    row = {"dim": arguments["dim"], "outcome": found["word"], "building": building}
    row |= {key: found[key] for key in ("ess", "gradients", "densities", "seconds", "way", "reasons")}
    answer = summary(columns(found["draws"]), found["weights"])
    keep(place_of(moments, stranger.name, method, str(seed)), answer)
    reference = stranger.reference()
    return row | compared(answer, reference) if reference else row


def text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("\n", " ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_sources(parser)
    parser.add_argument("--planted", choices=list(planted.FAULTS), help="copies with a planted fault in place of the posteriors")
    parser.add_argument("--methods", nargs="+", default=list(methods.METHODS), choices=list(methods.METHODS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=int, default=600, metavar="SECONDS", help="limit of a run in processor time")
    parser.add_argument("--rows", type=Path, default=FOLDER / "rows.csv")
    parser.add_argument("--moments", type=Path, metavar="FOLDER", help="where the moments of runs are kept (moments in the folder of programs)")
    parser.add_argument("--judge", action="store_true", help="judge the rows whose reference came after the run, and end")
    parser.add_argument("--job", nargs=4, metavar=("SOURCE", "NAME", "METHOD", "SEED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.moments = given.moments or given.build / "moments"
    if given.judge:
        judge(given)
        return
    if given.job:
        source, name, method, seed = given.job
        given.only, given.shard = [name], "1/1"
        # Two sources may have a posterior of one name.
        stranger = next(one for one in strangers(given) if one.source == source)
        print("\n" + json.dumps(job(stranger, method, int(seed), given.moments), default=float))
        return
    seen = set()
    if given.rows.exists():
        with given.rows.open(newline="") as file:
            seen = {run_of(row) for row in csv.DictReader(file) if row["rule"] == rule(row["method"])}
    else:
        given.rows.write_text(",".join(COLUMNS) + "\n")
    wanted = [
        (one, method, seed)
        for seed in range(1, given.seeds + 1)
        for one in strangers(given)
        for method in given.methods
        if (one.source, one.name, method, str(seed)) not in seen
    ]
    for place, (one, method, seed) in enumerate(wanted):
        row = {"source": one.source, "posterior": one.name, "trial": int(one.is_trial), "method": method, "seed": seed, "rule": rule(method)}
        command = [sys.executable, __file__, *sys.argv[1:], "--job", one.source, one.name, method, str(seed)]
        # Processor time, since a shared machine would stretch the other kind.
        limited = partial(resource.setrlimit, resource.RLIMIT_CPU, (given.limit, given.limit + 5))
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, env=os.environ | {"OMP_NUM_THREADS": "1"})
        lines = done.stdout.strip().splitlines()
        if done.returncode == 0 and lines:
            row |= json.loads(lines[-1])
        elif done.returncode == -signal.SIGXCPU:
            row |= {"outcome": "over", "seconds": float(given.limit)}
        else:
            words = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            row |= {"outcome": "crash", "reasons": words[0][:300]}
        put(given.rows, {name: text(value) for name, value in row.items() if name in COLUMNS})
        print(f"{place + 1}/{len(wanted)} {one.name}, {method}, seed {seed}: {row['outcome']}, right {row.get('right', '?')}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
