"""Results in ArviZ."""

import mcsa
import numpy as np
import pytest

arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")


def posterior(data):
    return data["posterior"] if "posterior" in data else data.posterior


def test_summaries_agree():
    result = mcsa.fit(mcsa.models.eight_schools(), seed=1)
    data = result.to_arviz()
    table = arviz.summary(data, round_to="none") if int(arviz.__version__.split(".")[0]) >= 1 else arviz.summary(data, round_to=None)
    ours = result.summary()
    for name in ("mu", "tau"):
        assert abs(float(table.loc[name, "mean"]) - ours[name]["mean"]) < 0.05 * ours[name]["sd"]
    assert posterior(data).attrs["verdict"] == "yes"


def test_draws_of_q_keep_their_weights():
    result = mcsa.fit(mcsa.models.eight_schools(), seed=1)
    data = result.to_arviz(resample=False)
    stats = data["sample_stats"] if "sample_stats" in data else data.sample_stats
    assert np.array_equal(np.asarray(stats["log_q"])[0], result.log_q)
    assert np.array_equal(np.asarray(stats["log_weight"])[0], result.log_weights)
