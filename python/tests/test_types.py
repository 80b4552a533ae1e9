"""Types: the package passes mypy --strict, and the stubs of its native part are those of the module."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Folder in which mypy keeps what it knows of NumPy."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    return f"--cache-dir={tmp_path_factory.mktemp('mypy')}"


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package(cache):
    settings = SOURCES / "pyproject.toml"
    if not settings.is_file():
        pytest.skip("the sources of the package are not there")
    run("mypy", f"--config-file={settings}", cache, str(SOURCES / "mcsa"))


def test_stubs(cache):
    run("mypy.stubtest", "mcsa._mcsa")


def test_calls_of_a_user(cache, tmp_path):
    """Right calls pass; a wrong keyword, type or method is seen."""
    program = tmp_path / "user.py"
    right = [
        "result = mcsa.fit(lambda z: -0.5 * (z**2).sum(axis=1), 2, seed=1, draws=100, names=['a', 'b'])",
        "state = mcsa.Fit(mcsa.models.eight_schools(), share=0.5, dims={'theta': ['school']})",
        "number: float = result.k_hat",
        "rows = [(found.kind, found.parameter, found.numbers) for found in result.verdict.objections if not result.verdict.ok]",
        "declared = {'mu': mcsa.real(3), 'sigma': mcsa.positive()}",
        "by_name = mcsa.fit(lambda p: -p['sigma'], parameters=declared, dims={'mu': ['group']}, coords={'group': ['a', 'b', 'c']})",
        "by_jax = mcsa.fit(**mcsa.from_jax(lambda p: -p['sigma']), parameters=declared)",
        "early = mcsa.Ascent(mcsa.models.banana(width=1.0, bend=0.1), method='jsa').run(10)",
    ]
    wrong = [
        "mcsa.fit(mcsa.models.eight_schools(), sedd=3)",
        "mcsa.fit(mcsa.models.eight_schools(), draws='many')",
        "mcsa.fit(mcsa.models.eight_schools(), method='jsa')",
        "mcsa.fit(lambda p: -p['sigma'], parameters={'sigma': 'positive'})",
        "result.verdict.is_yes",
        "mcsa.ascend(mcsa.models.eight_schools(), walkers=3)",
        "mcsa.Fit(mcsa.models.eight_schools(), walkers=3)",
        "mcsa.Fit(mcsa.models.eight_schools(), vectorized='yes')",
        "result.draws.shape.size",
        "mcsa.models.funnel('three')",
    ]
    lines = ["import mcsa", *right]
    program.write_text("\n".join(lines))
    run("mypy", "--strict", cache, str(program))
    program.write_text("\n".join([*lines, *wrong]))
    done = subprocess.run([sys.executable, "-m", "mypy", cache, str(program)], capture_output=True, text=True)
    seen = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert seen == {len(lines) + 1 + k for k in range(len(wrong))}, done.stdout
