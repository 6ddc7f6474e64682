"""The rate told is that of the clock, and what an earlier run had done is no part of it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fovnet.maths.pace import LINE_S, Pace


@given(st.integers(0, 10**5), st.floats(0.02, 500.0), st.integers(3, 60))
def test_a_steady_pace_is_told_as_it_is(kept: int, rate: float, steps: int) -> None:
    seconds = [0.0, *(10.0 * step for step in range(steps))]
    pace = Pace("volumes", iter(seconds).__next__)
    said = [pace.told(kept + round(rate * now * 1000), kept + 10**7 * 1000) for now in seconds[1:]]
    assert said[0] == ""
    told = float(said[-1].split()[0])
    assert abs(told - 1000 * rate) <= 0.01 * 1000 * rate + 0.5


@given(st.lists(st.floats(0.1, 50.0), min_size=1, max_size=200))
def test_lines_are_a_minute_apart(waits: list[float]) -> None:
    now = [0.0]
    pace, lines = Pace("volumes", lambda: now[0]), []
    for done, wait in enumerate(waits):
        now[0] += wait
        pace.told(done, 1000)
        if pace.minute_passed():
            lines.append(now[0])
    assert all(later - before >= LINE_S for before, later in pairwise(lines))
    assert len(lines) >= sum(waits) // (LINE_S + 50)
