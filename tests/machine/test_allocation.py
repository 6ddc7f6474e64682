"""Memory that is freed stays with the process, where the C library can be set to keep it."""

from __future__ import annotations

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
from fovnet.machine.allocation import keep_freed_memory
kept = keep_freed_memory() if sys.argv[1] == "kept" else False
def fill():
    np.ones(8 << 20, dtype=np.uint8)
fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    fill()
print(int(kept), resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> tuple[int, int]:
    answer = subprocess.run(
        [sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True
    )
    kept, count = answer.stdout.split()
    return int(kept), int(count)


def test_a_large_array_made_again_costs_no_page_faults() -> None:
    kept, count = faults("kept")
    # musl and macOS: nothing is promised there, so there is nothing to test
    if not kept:
        pytest.skip("this C library has no mallopt: freed memory is handled as it sees fit")
    # where pages are huge the default faults 25 times an array, else 2,048 times
    assert count < faults("default")[1] / 10
