"""Fits a Stan program from the command line.

    python -m mcsa fit model.stan data.json --csv draws.csv --arviz draws.nc

Prints the table of the parameters and the verdict. Exit code 0 if the verdict is yes, 3 if it is no, 1 if there is no answer, 2 if the
command line is wrong.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import mcsa

__all__ = ["main"]


def main(given: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m mcsa", description="Fits of posteriors with a verdict.")
    fit = parser.add_subparsers(required=True, metavar="COMMAND").add_parser("fit", help="fit a Stan program")
    fit.add_argument("program", type=Path, help="a .stan file, or a library compiled by BridgeStan")
    fit.add_argument("data", type=Path, nargs="?", help="a JSON file; none if the program has no data")
    fit.add_argument("--seed", type=int, default=1)
    fit.add_argument("--draws", type=int, default=4000)
    fit.add_argument("--evaluations", type=int, help="largest number of evaluations (a million)")
    fit.add_argument("--seconds", type=float, help="largest time")
    fit.add_argument("--csv", type=Path, metavar="FILE", help="draws with equal weights, a column per entry of a parameter")
    fit.add_argument("--arviz", type=Path, metavar="FILE", help="the same as a netCDF file of ArviZ")
    fit.add_argument("--save", type=Path, metavar="FILE", help="the whole result, for mcsa.load")
    options = parser.parse_args(given)
    for path in (options.csv, options.arviz, options.save):
        if path is not None and not path.resolve().parent.is_dir():
            parser.error(f"there is no folder {path.resolve().parent}")
        if path is not None and path.is_dir():
            parser.error(f"{path} is a folder")
    if options.arviz is not None and importlib.util.find_spec("arviz") is None:
        parser.error("--arviz needs ArviZ: pip install arviz")
    if options.program.suffix == ".stan":
        print(f"{options.program}: a new program is compiled first, for about half a minute", file=sys.stderr)
    try:
        result = mcsa.fit(
            **mcsa.from_stan(options.program, options.data),
            seed=options.seed,
            draws=options.draws,
            evaluations=options.evaluations,
            seconds=options.seconds,
            progress=True,
        )
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        print(f"mcsa: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("mcsa: interrupted before there was an answer", file=sys.stderr)
        return 1
    print(result)
    if options.csv is not None:
        write_csv(result, options.csv)
    if options.arviz is not None:
        result.to_arviz().to_netcdf(options.arviz)
    if options.save is not None:
        result.save(options.save)
    return 0 if result.ok else 3


def write_csv(result: mcsa.Result, path: Path) -> None:
    """Draws with equal weights and generated quantities, a row each, under the names of the table."""
    names, values = result._flat(result._by_name_at(result.resampled()) | result.generated())
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(values.tolist())


if __name__ == "__main__":
    sys.exit(main())
