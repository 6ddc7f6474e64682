"""The cost of a proposal: what is measured is a whole period, from a landscape that is smooth and seeded."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.bench import pace
from fovnet.bench.landscape import smooth_loss
from fovnet.bench.pace import measure, period_at
from fovnet.search.fitting import milestone
from fovnet.search.space import Space


def test_the_clock_runs_over_whole_periods_and_counts_their_refits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the first multiple of a period above 40; what lies between two refits grows with the trials."""
    small = Space.of({"depth": range(12), "width": range(12), "kind": ("a", "b")})
    monkeypatch.setattr(pace, "paper_space", lambda: small)
    told = measure("gp-ei", 60, seed=0)
    refits = [n for n in range(61, 62 + told.proposals) if milestone(n) == n]
    period = period_at(60)
    assert milestone(60) + period in refits
    assert (told.rows, told.trials) == (288, 60)
    assert told.proposals % period == 0 and 40 <= told.proposals < 40 + period
    assert told.refits in (len(refits), len(refits) - 1)                      # one may fall on the first, which is not under the clock
    assert 0 < told.median <= told.mean <= told.worst
    assert told.peak_mb >= told.idle_mb > 10


def test_random_search_never_fits_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "paper_space", lambda: Space.of({"depth": range(30), "width": range(10)}))
    told = measure("random", 30, seed=0, diverged=0.5)
    assert told.proposals == 40
    assert told.mean < 0.05


def test_a_made_up_loss_is_smooth_and_standardised() -> None:
    """Neighbours along an axis differ far less than rows of chance do, which differ by √2 in root mean square."""
    space = Space.of({"depth": range(20), "width": range(20)})
    loss = smooth_loss(space, seed=0).reshape(20, 20)
    assert (loss.mean(), loss.std()) == (pytest.approx(0.0, abs=1e-12), pytest.approx(1.0))
    assert np.sqrt((np.diff(loss, axis=0) ** 2).mean()) < 0.3 * np.sqrt(2)
    assert np.array_equal(loss, smooth_loss(space, seed=0).reshape(20, 20))
    assert not np.array_equal(loss, smooth_loss(space, seed=1).reshape(20, 20))
