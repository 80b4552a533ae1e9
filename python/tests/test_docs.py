"""Examples of docstrings."""

import doctest

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


@pytest.mark.parametrize("name", ["mcsa", "mcsa.ascent", "mcsa.comparison", "mcsa.models", "mcsa.result", "mcsa.fit", "mcsa.files", "mcsa.terms", "mcsa.verdict"])
def test_examples_run(name):
    import sys

    failed, tried = doctest.testmod(sys.modules[name])
    assert failed == 0 and tried > 0
