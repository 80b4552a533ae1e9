"""Examples of docstrings."""

import doctest
import re
from pathlib import Path

import mcsa
import mcsa.ascent
import mcsa.comparison
import mcsa.files
import mcsa.fit
import mcsa.models
import mcsa.result
import mcsa.terms
import mcsa.verdict
import pytest


def test_programs_of_the_chapter_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chapter = Path(__file__).parents[2] / "docs" / "book" / "src" / "python.md"
    programs = re.findall(r"```python\n(.*?)```", chapter.read_text(), re.DOTALL)
    assert len(programs) >= 4
    known: dict[str, object] = {}
    for program in programs:
        for package in ("arviz", "jax"):
            if package in program:
                pytest.importorskip(package)
        exec(compile(program, str(chapter), "exec"), known)


@pytest.mark.parametrize("name", ["mcsa", "mcsa.ascent", "mcsa.comparison", "mcsa.models", "mcsa.result", "mcsa.fit", "mcsa.files", "mcsa.terms", "mcsa.verdict"])
def test_examples_run(name):
    import sys

    failed, tried = doctest.testmod(sys.modules[name])
    assert failed == 0 and tried > 0
