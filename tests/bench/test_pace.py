"""The cost of a proposal: what is measured is a whole period, from a landscape that is smooth and seeded."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.bench import pace
from fovnet.bench.landscape import smooth_loss
from fovnet.bench.pace import measure_pace, proposals_to_time
from fovnet.search.look.hyperparameters import fitted_count
from fovnet.search.space import Space


def test_the_clock_runs_over_whole_periods_and_counts_their_refits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 100 trials a fit lasts from 98 to 105: five periods of 8 are 40 proposals, which know 61 to 100
    trials."""
    small = Space.of({"depth": range(12), "width": range(12), "kind": ("a", "b")})
    monkeypatch.setattr(pace, "paper_space", lambda: small)
    gp_pace = measure_pace("gp-ei", 100, seed=0)
    assert [n for n in range(61, 101) if fitted_count(n) == n] == [62, 67, 72, 78, 84, 91, 98]
    assert (gp_pace.rows, gp_pace.trials, gp_pace.proposals, gp_pace.refits) == (288, 100, 40, 7)
    assert 0 < gp_pace.median <= gp_pace.mean <= gp_pace.worst
    assert gp_pace.peak_mb >= gp_pace.idle_mb > 10


def test_a_short_search_is_timed_from_its_second_proposal_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        pace, "paper_space", lambda: Space.of({"depth": range(6), "width": range(6)})
    )
    assert proposals_to_time(2) == measure_pace("gp-ei", 2, seed=0).proposals == 1
    assert proposals_to_time(1000) % (fitted_count(1100) - fitted_count(1000)) == 0


def test_random_search_never_fits_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        pace, "paper_space", lambda: Space.of({"depth": range(30), "width": range(10)})
    )
    random_pace = measure_pace("random", 60, seed=0, diverged=0.5)
    assert random_pace.proposals == 40
    assert random_pace.mean < 0.05


def test_a_made_up_loss_is_smooth_and_standardised() -> None:
    """Neighbours along an axis differ far less than rows of chance do, which differ by √2 in root mean
    square."""
    space = Space.of({"depth": range(20), "width": range(20)})
    loss = smooth_loss(space, seed=0).reshape(20, 20)
    assert (loss.mean(), loss.std()) == (pytest.approx(0.0, abs=1e-12), pytest.approx(1.0))
    assert np.sqrt((np.diff(loss, axis=0) ** 2).mean()) < 0.3 * np.sqrt(2)
    assert np.array_equal(loss, smooth_loss(space, seed=0).reshape(20, 20))
    assert not np.array_equal(loss, smooth_loss(space, seed=1).reshape(20, 20))
