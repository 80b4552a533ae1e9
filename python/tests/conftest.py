"""Settings of all tests."""

import signal

import pytest


@pytest.fixture(autouse=True)
def interrupts():
    """Ctrl-C raises, also where the tests run in the background and their shell ignores it for them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
