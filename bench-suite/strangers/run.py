"""Runs methods on posteriors that others wrote, each run in a process of its own with a time limit, and writes a row of each.

    cargo xtask strangers --posteriordb FOLDER --everyday [--only NAME ..] [--methods NAME ..] [--seeds N] [--shard K/N] [--trials]

Runs whose rows are there are not run again. `cargo xtask figures ours/strangers` makes the tables.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import methods
from stranger import FOLDER, Stranger, columns, compared

COLUMNS = (
    "source,posterior,dim,trial,method,seed,outcome,right,mean_error,sd_error,worst,ess,gradients,densities,seconds,building,way,reasons"
).split(",")


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Options that choose posteriors."""
    parser.add_argument("--posteriordb", type=Path, metavar="FOLDER", help="a copy of posteriordb")
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
    if given.everyday:
        import everyday

        found += everyday.strangers()
    if given.gym:
        import gym

        found += gym.strangers()
    if getattr(given, "planted", False):
        import planted

        found = [planted.with_second_mode(one) for one in found]
    part, parts = map(int, given.shard.split("/"))
    found = [one for one in found if (not given.only or one.name in given.only) and (not given.trials or one.is_trial)]
    return found[part - 1 :: parts]


def job(stranger: Stranger, method: str, seed: int) -> dict[str, Any]:
    """The row of one run, in this process."""
    warnings.filterwarnings("ignore")
    start = time.perf_counter()
    arguments = stranger.arguments()
    building = time.perf_counter() - start
    found = methods.run(arguments, method, seed)
    row = {"dim": arguments["dim"], "outcome": found["word"], "building": building}
    row |= {key: found[key] for key in ("ess", "gradients", "densities", "seconds", "way", "reasons")}
    reference = stranger.reference()
    if reference:
        row |= compared(columns(found["draws"]), found["weights"], reference)
    return row


def text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("\n", " ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_sources(parser)
    parser.add_argument("--planted", action="store_true", help="copies with a planted second mode in place of the posteriors")
    parser.add_argument("--methods", nargs="+", default=list(methods.METHODS), choices=list(methods.METHODS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="time limit of a run")
    parser.add_argument("--rows", type=Path, default=FOLDER / "rows.csv")
    parser.add_argument("--job", nargs=3, metavar=("NAME", "METHOD", "SEED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        name, method, seed = given.job
        given.only, given.shard = [name], "1/1"
        print("\n" + json.dumps(job(strangers(given)[0], method, int(seed)), default=float))
        return
    seen = set()
    if given.rows.exists():
        with given.rows.open(newline="") as file:
            seen = {(row["posterior"], row["method"], row["seed"]) for row in csv.DictReader(file)}
    else:
        given.rows.write_text(",".join(COLUMNS) + "\n")
    wanted = [
        (one, method, seed)
        for seed in range(1, given.seeds + 1)
        for one in strangers(given)
        for method in given.methods
        if (one.name, method, str(seed)) not in seen
    ]
    for place, (one, method, seed) in enumerate(wanted):
        row = {"source": one.source, "posterior": one.name, "trial": int(one.is_trial), "method": method, "seed": seed}
        command = [sys.executable, __file__, *sys.argv[1:], "--job", one.name, method, str(seed)]
        start = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=given.limit, env=os.environ | {"OMP_NUM_THREADS": "1"})
            lines = done.stdout.strip().splitlines()
            if done.returncode == 0 and lines:
                row |= json.loads(lines[-1])
            else:
                row |= {"outcome": "crash", "reasons": " ".join(done.stderr.strip().splitlines()[-1:])[:300]}
        except subprocess.TimeoutExpired:
            row |= {"outcome": "over", "seconds": time.perf_counter() - start}
        with given.rows.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([text(row.get(name, "")) for name in COLUMNS])
        print(f"{place + 1}/{len(wanted)} {one.name}, {method}, seed {seed}: {row['outcome']}, right {row.get('right', '?')}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
