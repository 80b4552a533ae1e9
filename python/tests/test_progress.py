"""Line of progress, with and without tqdm."""

import sys
import types

import mcsa
import pytest


def fake(monkeypatch, name):
    """A tqdm that keeps what it is told; tqdm.auto chooses the bar of a notebook or of a terminal in the same way."""
    told = []

    class Bar:
        def __init__(self, **options):
            told.append(("made", name, options["leave"]))

        def set_description_str(self, text):
            told.append(text)

        def close(self):
            told.append("closed")

    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Bar
    package = types.ModuleType("tqdm")
    package.auto = auto
    monkeypatch.setitem(sys.modules, "tqdm", package)
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    if name == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    else:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: name == "terminal", raising=False)
    return told


@pytest.mark.parametrize("name", ["terminal", "notebook"])
def test_a_bar_is_told_every_stage_and_closed(monkeypatch, name):
    told = fake(monkeypatch, name)
    mcsa.fit(mcsa.models.eight_schools(), seed=1, progress=True)
    assert told[0] == ("made", name, True) and told[-1] == "closed"
    stages = {text.split(":")[0].split()[0] for text in told[1:-1]}
    assert {"start", "climb", "verdict"} <= stages or {"climb", "verdict"} <= stages, stages
    told.clear()
    mcsa.ascend(mcsa.models.eight_schools(), steps=2_500, progress=True)
    assert told[1:] == ["step 1000 of 2500", "step 2000 of 2500", "step 2500 of 2500", "closed"]


def test_a_bar_is_closed_after_an_exception(monkeypatch):
    told = fake(monkeypatch, "terminal")
    with pytest.raises(ZeroDivisionError):
        mcsa.fit(lambda z: 1 / 0, 2, progress=True)
    assert told[-1] == "closed"


def test_an_exception_of_the_bar_ends_the_fit(monkeypatch):
    fake(monkeypatch, "terminal")

    def broken(self, text):
        raise BrokenPipeError("no terminal")

    monkeypatch.setattr(sys.modules["tqdm.auto"].tqdm, "set_description_str", broken)
    state = mcsa.Fit(mcsa.models.eight_schools(), seed=1)
    with pytest.raises(BrokenPipeError):
        state.run(progress=True)
    # The state is whole: it goes on without the bar.
    assert state.run().ok


@pytest.mark.parametrize("has_bar", [True, False])
def test_lines_of_a_log(monkeypatch, capsys, has_bar):
    """One a stage, and none is written over itself, whether or not a bar could be made."""
    told = fake(monkeypatch, "log")
    if not has_bar:
        monkeypatch.setitem(sys.modules, "tqdm", None)
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    mcsa.fit(mcsa.models.eight_schools(), seed=1, progress=True)
    text = capsys.readouterr().err
    lines = text.strip().split("\n")
    assert 2 <= len(lines) <= 6 and any(line.startswith("climb") for line in lines), lines
    assert "\r" not in text and told == []


def test_a_long_stage_has_a_line_now_and_then(monkeypatch, capsys):
    fake(monkeypatch, "log")
    clock = iter([100.0, 103.0, 111.0, 112.0, 113.0])
    monkeypatch.setattr(sys.modules["mcsa.fit"].time, "monotonic", lambda: next(clock))
    line = sys.modules["mcsa.fit"].Line()
    for step in range(1, 4):
        line(f"step {step}000 of 9000")
    line("verdict: all")
    line("verdict: last")
    line.close()
    # The last line is not lost.
    shown = ["step 1000 of 9000", "step 3000 of 9000", "verdict: all", "verdict: last", ""]
    assert capsys.readouterr().err.split("\n") == shown
