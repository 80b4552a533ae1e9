"""Simulation-based calibration of the call."""

import mcsa
import numpy as np
import pytest

SMALL = {"draws": 1000, "starts": 5, "level": 1e-4, "bias": 1.5, "factor": 5.0}


def simulate(rng):
    """A normal mean with a standard normal prior, and a datum with noise of scale 1."""
    z = rng.normal(size=1)
    return z, z[0] + rng.normal()


def density(scale):
    return lambda z, y: -0.5 * (z[:, 0] ** 2 + ((y - z[:, 0]) / scale) ** 2)


def test_a_conjugate_model_is_calibrated():
    def slope(z, y):
        return y - 2 * z

    transform = lambda z: {"mean": z[:, 0], "square": z**2}  # noqa: E731
    found = mcsa.calibrate(simulate, density(1.0), slope, data_sets=100, transform=transform, **SMALL)
    assert found.ok and found.power > 0.95, found
    assert found.names == ["mean", "square[0]", "log density"]
    assert found.ranks.shape[1] == 3 and len(found.ranks) + len(found.noes) in (50, 100)
    assert "Calibrated" in repr(found)


def test_wrong_noise_is_caught_early():
    """Counterexample of the former: noise of a quarter of the scale. False alarm 1e-4."""
    found = mcsa.calibrate(simulate, density(0.25), data_sets=1000, **SMALL)
    assert found.conclusion == "wrong" and len(found.ranks) + len(found.noes) == 50, found


def test_same_seed_same_ranks():
    first, second, other = (mcsa.calibrate(simulate, density(1.0), data_sets=3, seed=seed, **SMALL) for seed in (1, 1, 2))
    assert np.array_equal(first.ranks, second.ranks) and not np.array_equal(first.ranks, other.ranks)
    assert first.conclusion == "open"


def test_faults_are_named():
    with pytest.raises(ValueError, match="simulator and density disagree"):
        mcsa.calibrate(simulate, lambda z, y: np.full(len(z), -np.inf), data_sets=1)
    with pytest.raises(ValueError, match="factor is 1"):
        mcsa.calibrate(simulate, density(1.0), factor=1.0)
    with pytest.raises(ValueError, match="share no file"):
        mcsa.calibrate(simulate, density(1.0), checkpoint="fit")
    with pytest.raises(TypeError, match="no option 'walkers'"):
        mcsa.calibrate(simulate, density(1.0), walkers=3)
    # An exception of a function is no no.
    with pytest.raises(ValueError, match="matmul|mismatch"):
        mcsa.calibrate(simulate, density(1.0), lambda z, y: z @ np.ones((3, 3)), data_sets=1)


def test_a_density_may_work_in_place():
    def in_place(z, y):
        found = density(1.0)(z, y)
        z[:] = 9.0
        return found

    options = {"data_sets": 20, "draws": 1000, "starts": 5}
    first, second = (mcsa.calibrate(simulate, given, **options) for given in (density(1.0), in_place))
    assert np.array_equal(first.ranks, second.ranks)


def test_the_picture():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    found = mcsa.calibrate(simulate, density(1.0), data_sets=5, **SMALL)
    axes = found.plot(pyplot.subplots()[1])
    assert len(axes.lines) == 2
    pyplot.close("all")
