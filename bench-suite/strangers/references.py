"""References by long runs of nutpie, kept if two of them agree; what cannot be settled is listed with its cause.

    python references.py --everyday --posteriordb FOLDER --programs FOLDER [--only NAME ...] [--shard K/N]

Each of two runs has 8 chains of 2,500 draws, the second with a smaller step (acceptance 0.95) and another seed. They agree if all
R-hats of all 16 chains together are below 1.01 and the smallest effective size is at least 4,000. Where R-hat is below 1.05 but this fails,
they are made again with four times as many draws. Of an array of more than 100 numbers 100 are stored, evenly spaced.
"""

from __future__ import annotations

import argparse
import csv
import signal
import sys
import warnings

import numpy as np

import methods
import run
from stranger import FOLDER, Stranger, columns, known

HEADS = "posterior,parameter,mean,sd,q5,q50,q95,mean_error,sd_error".split(",")
RUNS = ({"seed": 1, "target_accept": 0.8}, {"seed": 2, "target_accept": 0.95})
CHAINS, DRAWS, NEAR, LEAST, STORED = 8, (2_500, 10_000), 1.05, 4_000, 100


def settled(stranger: Stranger) -> tuple[dict[str, np.ndarray], str]:
    """Draws of all chains by parameter, and why they are no reference, if they are none."""
    arguments = stranger.arguments()
    for draws in DRAWS:
        parts = []
        for settings in RUNS:
            found = methods.nutpie(arguments, methods.Counted(arguments), chains=CHAINS, draws=draws, tune=1_000, **settings)
            parts.append({name: x.reshape(CHAINS, -1) for name, x in columns(found["draws"]).items()})
        shaped = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        r_hat, ess = methods.diagnosed(shaped)
        if r_hat < 1.01 and ess >= LEAST:
            return shaped, ""
        if r_hat > NEAR:
            break
    return shaped, f"R-hat {r_hat:.3f}, effective size {ess:.0f}"


def over(*_: object) -> None:
    raise TimeoutError("over the limit of time")


def thinned(names: list[str]) -> list[str]:
    """The names of numbers to store."""
    arrays: dict[str, list[str]] = {}
    for name in names:
        arrays.setdefault(name.partition("[")[0], []).append(name)
    places = {key: np.unique(np.linspace(0, len(found) - 1, STORED).round().astype(int)) for key, found in arrays.items()}
    return [arrays[key][place] for key in arrays for place in places[key]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_sources(parser)
    parser.add_argument("--limit", type=int, default=3_600, metavar="SECONDS", help="limit of a posterior in processor time")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGPROF, over)
    kept, still_open = FOLDER / "references.csv", FOLDER / "open.csv"
    seen = set()
    for path, heads in ((kept, HEADS), (still_open, ["posterior", "cause"])):
        if not path.exists():
            path.write_text(",".join(heads) + "\n")
        with path.open(newline="") as file:
            seen |= {row["posterior"] for row in csv.DictReader(file)}
    for stranger in run.strangers(given):
        if stranger.name in seen or (stranger.source != "everyday" and stranger.reference()):
            continue
        signal.setitimer(signal.ITIMER_PROF, given.limit)
        try:
            shaped, cause = settled(stranger)
        except Exception as error:  # noqa: BLE001: whatever it is, the others follow
            shaped, cause = {}, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        if cause:
            rows, path = [[stranger.name, cause]], still_open
        else:
            numbers = {name: known(shaped[name]) for name in thinned(list(shaped))}
            rows, path = [
                [stranger.name, name, *(f"{x:.6g}" for x in (k.mean, k.sd, *k.quantiles)), f"{k.mean_error:.2g}", f"{k.sd_error:.2g}"]
                for name, k in numbers.items()
            ], kept
        with path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        print(f"{stranger.name}: {cause or 'settled'}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
