"""Parts that the tutorials share: tables beside exact answers, programs of Stan, pictures of ArviZ."""

import os
import shutil
import warnings
from pathlib import Path


def compare(reference, results, names=None):
    """Prints mean and standard deviation of every parameter, exact and by each source.

    Returns the errors of the means in standard deviations, and the ratios of standard deviations.
    """
    report = {}
    width = max(map(len, reference))
    print(f"{'':>{width}} {'exact':>14}" + "".join(f"{source:>16}" for source in results))
    for short, (mean, sd) in reference.items():
        rows = {source: result.summary()[(names or {}).get(short, short)] for source, result in results.items()}
        print(f"{short:>{width}} {mean:7.2f} {sd:6.2f}" + "".join(f"{row['mean']:9.2f} {row['sd']:6.2f}" for row in rows.values()))
        for source, row in rows.items():
            report[source, short] = (row["mean"] - mean) / sd, row["sd"] / sd
    for source, result in results.items():
        worst = max(abs(error) for (of, _), (error, _) in report.items() if of == source)
        answer = "yes" if result.ok else "no"
        print(f"{source}: largest error {worst:.3f} sd, k-hat {result.k_hat:.2f}, {sum(result.evaluations.values())} evaluations, verdict {answer}")
    return report


def stan_program(name, folder):
    """The library of a program in the folder that MCSA_STAN names, or else a copy of the program, which from_stan compiles."""
    library = Path(os.environ.get("MCSA_STAN", folder)) / f"{name}.so"
    if library.exists():
        return library
    program = Path(__file__).parents[2] / f"stan/programs/{name}.stan"
    copy = Path(folder) / program.name
    if not copy.exists():
        shutil.copy(program, copy)
    return copy


def picture(draw, path):
    """Writes the picture that a function of ArviZ draws."""
    import matplotlib.pyplot as plt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a warning on fonts and layouts is none on the data
        drawn = draw()
    # ArviZ 1.x gives a collection of plots, 0.x an array of axes.
    if hasattr(drawn, "savefig"):
        drawn.savefig(path, bbox_inches="tight")
    else:
        plt.gcf().savefig(path, bbox_inches="tight")
    plt.close("all")
