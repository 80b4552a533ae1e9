"""Examples of docstrings."""

import doctest

import mcsa
import mcsa.ascent
import mcsa.fit
import mcsa.models
import mcsa.result
import pytest


@pytest.mark.parametrize("name", ["mcsa", "mcsa.ascent", "mcsa.models", "mcsa.fit", "mcsa.result"])
def test_examples_run(name):
    import sys

    failed, tried = doctest.testmod(sys.modules[name])
    assert failed == 0 and tried > 0
