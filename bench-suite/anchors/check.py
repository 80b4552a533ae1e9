"""Checks the log densities and gradients in `targets.py` against the program's, at its points: `python check.py CASES`."""

import glob
import os
import sys

from targets import Target

LIMIT = 1e-10

failures = 0
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))):
    target = Target(path)
    value, slope = target.disagreement()
    failures += not (value <= LIMIT and slope <= LIMIT)
    print(f"{target.title}: log density {value:.1e}, gradient {slope:.1e}")
if failures:
    sys.exit(f"{failures} cases differ by more than {LIMIT}")
