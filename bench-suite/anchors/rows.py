"""Rows of results: what a run found, compared with what is known of the case."""

import csv
import glob
import os
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402

import measures  # noqa: E402
from targets import Target  # noqa: E402

COLUMNS = (
    "package,version,method,case,seed,p_evaluations,p_gradients,seconds,answer_error,spread_error,wasserstein,k_hat,ess,"
    "evidence_error,failed"
).split(",")
DRAWS = 4_000


class Run:
    """What a package returns: draws (a row each), counts, seconds, and log weights where the package has log q.

    `chains` is the number of chains, one after the other in `draws`; 0 for independent draws.
    """

    def __init__(self, draws, evaluations, gradients, seconds, log_weights=None, chains=0):
        self.draws = np.asarray(draws)
        self.evaluations, self.gradients, self.seconds = int(evaluations), int(gradients), seconds
        self.log_weights = None if log_weights is None else np.asarray(log_weights)
        self.chains = chains

    def measured(self, target):
        import arviz

        found = {"p_evaluations": self.evaluations, "p_gradients": self.gradients, "seconds": self.seconds}
        if not np.isfinite(self.draws).all():
            return found | {"failed": 1}
        weights = None
        if self.log_weights is not None:
            if not np.isfinite(self.log_weights).any() or np.isnan(self.log_weights).any():
                return found | {"failed": 1}
            weights, ess, log_z = measures.weigh(self.log_weights)
            found |= {"k_hat": float(arviz.psislw(self.log_weights.copy())[1]), "ess": ess}
            if target.log_normaliser is not None:
                found["evidence_error"] = abs(log_z - target.log_normaliser)
        if self.chains:
            shaped = self.draws.reshape(self.chains, -1, target.dim)
            found["ess"] = min(arviz.ess(shaped[:, :, k]) for k in range(target.dim))
        found |= measures.errors(self.draws, target, weights)
        return found | {"failed": int(not np.isfinite(found["answer_error"]))}


def text(value):
    return f"{float(value):.4g}" if isinstance(value, (float, np.floating)) else str(value)


def main(package, version, methods):
    """Runs each method on each case for each seed and writes a row at once, so that an interrupted run keeps its rows.

    `python SCRIPT CASES FILE SEEDS [METHOD]`; `methods` maps a name to a function from a target to a function from a seed to a
    `Run`: the outer call compiles. Names of methods of other scripts are passed over.
    """
    folder, file, seeds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    chosen = [name for name in methods if name in sys.argv[4:] or not sys.argv[4:]]
    with open(file, "a", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            target = Target(path)
            for method in chosen:
                prepared = methods[method](target)
                if prepared is None:
                    continue
                for seed in range(1, seeds + 1):
                    key = {"package": package, "version": version, "method": method, "case": target.title}
                    try:
                        found = prepared(seed).measured(target)
                    except (ArithmeticError, RuntimeError, ValueError) as error:
                        print(f"{package} {method} {target.title}: {error}", file=sys.stderr)
                        found = {"failed": 1}
                    row = key | {"seed": seed} | found
                    writer.writerow([text(row[name]) if name in row else "" for name in COLUMNS])
                    out.flush()
                print(f"{package} {method}: {target.title}", file=sys.stderr, flush=True)
