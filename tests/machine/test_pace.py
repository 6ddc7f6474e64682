"""The rate shown is that of the clock, and items of an earlier run do not enter it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fovnet.machine.pace import RATE_WINDOW_S, SECONDS_BETWEEN_LINES, Pace


@given(st.integers(0, 10**5), st.floats(0.02, 500.0), st.integers(3, 60))
def test_a_steady_pace_is_shown_as_it_is(kept: int, rate: float, steps: int) -> None:
    seconds = [0.0, *(10.0 * step for step in range(steps))]
    pace = Pace("volumes", iter(seconds).__next__)
    lines = [
        pace.progress_text(kept + round(rate * now * 1000), kept + 10**7 * 1000)
        for now in seconds[1:]
    ]
    assert lines[0] == ""
    shown = float(lines[-1].split()[0])
    assert abs(shown - 1000 * rate) <= 0.01 * 1000 * rate + 0.5


@given(st.lists(st.floats(0.1, 50.0), min_size=1, max_size=200))
def test_lines_are_a_minute_apart(waits: list[float]) -> None:
    now = [0.0]
    pace, lines = Pace("volumes", lambda: now[0]), []
    for done, wait in enumerate(waits):
        now[0] += wait
        pace.progress_text(done, 1000)
        if pace.minute_passed():
            lines.append(now[0])
    assert all(later - before >= SECONDS_BETWEEN_LINES for before, later in pairwise(lines))
    assert len(lines) >= sum(waits) // (SECONDS_BETWEEN_LINES + 50)


@given(st.lists(st.tuples(st.floats(1.0, 90.0), st.integers(1, 500)), min_size=2, max_size=30))
def test_the_pace_shown_is_that_of_the_last_two_minutes_and_no_less(
    steps: list[tuple[float, int]],
) -> None:
    """From the last count that is as old, or the first of all."""
    now, done = [0.0], [0]
    for wait, more in steps:
        now, done = [*now, now[-1] + wait], [*done, done[-1] + more]
    pace = Pace("volumes", iter([0.0, *now]).__next__)
    lines = [pace.progress_text(count, 10**6) for count in done]
    for at in range(1, len(now)):
        old = [before for before in range(at) if now[before] <= now[at] - RATE_WINDOW_S]
        since = old[-1] if old else 0
        rate = (done[at] - done[since]) / (now[at] - now[since])
        assert (
            abs(float(lines[at].split()[0]) - rate)
            <= (0.5 if rate >= 9.9 else 0.05 if rate >= 0.99 else 0.005) + 1e-9
        )
