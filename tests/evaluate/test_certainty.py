"""What is certainly gained or lost by adapted networks: read off the intervals, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.evaluate.comparison import find_better_run
from fovnet.evaluate.gains import HEADLINES, Gain, certain_changes_in_words
from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.paired import rate_difference

SUBJECTS = [f"p{number}" for number in range(12)]
LOWER = {"slices_wrong", "statements_wrong"}


def measured(measure: str, steps: tuple[float, ...], *, region: str = "", kind: str = "") -> Gain:
    """A measure of 12 people with 100 things each, 50 counted before; after, as many more as `steps` says in
    turn."""
    change = np.resize(np.array(steps, dtype=np.float64), len(SUBJECTS))
    before = np.column_stack([np.full(12, 50.0), np.full(12, 100.0)])
    after = np.column_stack([50.0 + change, np.full(12, 100.0)])
    draws = Resampling(SUBJECTS, repeats=400, seed=1)
    return Gain(
        measure, region, kind, 1200, 1200, rate_difference(measure, "decided", before, after, draws)
    )


UP, DOWN, EITHER, NONE = (9.0, 10.0, 11.0), (-9.0, -10.0, -11.0), (-20.0, 20.0), (0.0,)


@pytest.mark.parametrize("measure", HEADLINES)
@pytest.mark.parametrize("steps", [UP, DOWN, EITHER, NONE])
@pytest.mark.parametrize("volumes", ["your subjects", "simulated people"])
def test_a_change_is_called_certain_where_its_interval_leaves_out_0(
    measure: str, steps: tuple[float, ...], volumes: str
) -> None:
    gain = measured(measure, steps)
    told = certain_changes_in_words({"others": [], volumes: [gain]})
    low, high = gain.difference.low, gain.difference.high
    if low is None or high is None or low <= 0 <= high:
        assert told == "no gain is certain; no loss is certain"
        return
    is_gain = (high < 0) == (measure in LOWER)
    words = f"{measure.replace('_', ' ')} {100 * gain.difference.difference:+.1f} points"
    change = f"{words} ({100 * low:+.1f} to {100 * high:+.1f}; {volumes})"
    assert told == (
        f"a certain gain: {change}; no loss is certain"
        if is_gain
        else f"no gain is certain; a certain loss: {change}"
    )
    assert steps in (UP, DOWN) and find_better_run(gain.difference) == (
        "second" if is_gain else "first"
    )


def test_several_are_listed_and_parts_are_not() -> None:
    told = certain_changes_in_words(
        {
            "your subjects": [
                measured("slices_wrong", DOWN),
                measured("surely_found", UP),
                measured("statements_wrong", EITHER),
                measured("slices_wrong", UP, region="head"),
                measured("slices_wrong", UP, kind="axial"),
            ],
            "simulated people": [measured("statements_decided", DOWN)],
        }
    )
    gains, losses = told.split("; a certain loss: ")
    assert gains.startswith("certain gains: slices wrong -10.0 points")
    assert "surely found +10.0 points" in gains and "statements wrong" not in gains
    assert losses.startswith("statements decided -10.0 points") and "simulated people" in losses


def test_without_an_interval_nothing_is_certain() -> None:
    draws = Resampling(["p0"], repeats=100, seed=1)
    before, after = np.array([[50.0, 100.0]]), np.array([[5.0, 100.0]])
    alone = rate_difference("slices_wrong", "decided", before, after, draws)
    told = certain_changes_in_words(
        {"your subjects": [Gain("slices_wrong", "", "", 100, 100, alone)]}
    )
    assert told == "no gain is certain; no loss is certain"
