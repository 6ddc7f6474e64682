"""Computations side by side: in order, each with one thread, and nothing of it left behind."""

from __future__ import annotations

import threading

import pytest
import torch

from fovnet.net.inference import side_by_side as module
from fovnet.net.inference.side_by_side import FEWEST_ROWS_PER_PART, run_side_by_side, split_rows


def test_results_are_in_order_each_of_one_thread_and_the_callers_own_number_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "cores", lambda: 3)
    before, alive, met = torch.get_num_threads(), threading.active_count(), threading.Barrier(3)

    def work(job: int) -> tuple[int, int]:
        met.wait(timeout=900)  # three are under way at once, or this fails
        return job, torch.get_num_threads()

    try:
        torch.set_num_threads(2)
        assert run_side_by_side(work, range(6), 100) == [(job, 1) for job in range(6)]
        assert torch.get_num_threads() == 2 and threading.active_count() == alive
        later: list[int] = []
        thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert later == [2], "a thread of the user's begins with the user's number"
    finally:
        torch.set_num_threads(before)


def test_no_more_are_under_way_than_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 64)
    names = run_side_by_side(lambda _: threading.get_ident(), range(50), 2)
    assert len(set(names)) <= 2
    assert len(set(run_side_by_side(lambda _: threading.get_ident(), range(5), 0))) == 1


def test_a_fault_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        run_side_by_side(lambda job: 1 // job, [1, 0, 2], 2)


@pytest.mark.parametrize("n", [*range(1, 80), 128])
def test_parts_hold_every_row_once_and_are_even_in_number_and_size(n: int) -> None:
    parts = split_rows(torch.arange(n))
    sizes = [len(part) for part in parts]
    assert torch.cat(list(parts)).tolist() == list(range(n)) and max(sizes) - min(sizes) <= 1
    assert min(sizes) >= min(n, FEWEST_ROWS_PER_PART) and (
        len(parts) == 1 if n < 2 * FEWEST_ROWS_PER_PART else len(parts) % 2 == 0
    )
