"""Computations side by side: in order, each with one thread, and nothing of it left behind."""

from __future__ import annotations

import threading

import pytest

from fovnet.net.inference import side_by_side as module
from fovnet.net.inference.side_by_side import FEWEST_ROWS_PER_PART, run_side_by_side, split_rows


def test_results_are_in_order_and_no_thread_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 3)
    thread_count, meeting = threading.active_count(), threading.Barrier(3)
    begun_threads: list[int] = []

    def square(number: int) -> int:
        meeting.wait(timeout=900)  # three are under way at once, or this fails
        return number**2

    squares = run_side_by_side(
        square, range(6), 100, lambda: begun_threads.append(threading.get_ident())
    )
    assert squares == [0, 1, 4, 9, 16, 25]
    assert len(set(begun_threads)) == 3 and threading.active_count() == thread_count


def test_no_more_are_under_way_than_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 64)
    names = run_side_by_side(lambda _: threading.get_ident(), range(50), 2)
    assert len(set(names)) <= 2
    assert len(set(run_side_by_side(lambda _: threading.get_ident(), range(5), 0))) == 1


def test_a_fault_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        run_side_by_side(lambda job: 1 // job, [1, 0, 2], 2)


@pytest.mark.parametrize("row_count", [*range(1, 80), 128])
def test_parts_hold_every_row_once_and_are_even_in_number_and_size(row_count: int) -> None:
    rows = list(range(row_count))
    parts = [rows[part] for part in split_rows(row_count)]
    sizes = [len(part) for part in parts]
    assert [row for part in parts for row in part] == rows and max(sizes) - min(sizes) <= 1
    assert min(sizes) >= min(row_count, FEWEST_ROWS_PER_PART) and (
        len(parts) == 1 if row_count < 2 * FEWEST_ROWS_PER_PART else len(parts) % 2 == 0
    )
