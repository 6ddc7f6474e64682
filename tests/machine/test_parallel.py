"""Reading ahead: in order, and never more under way than number and bytes allow."""

from __future__ import annotations

import doctest
import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nibabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import data, integers, lists

from fovnet.machine import parallel
from fovnet.machine.parallel import READ_AHEAD, Admission, run_in_order
from fovnet.volume.sources.memory import BYTES_PER_VOXEL, LEAST_BYTES, estimate_bytes_to_read
from fovnet.volume.sources.source import source_of


def test_the_example_of_the_door_holds():
    assert doctest.testmod(parallel).failed == 0


@given(lists(integers(0, 20), max_size=40), integers(1, 6), integers(0, 30), data())
def test_the_door_keeps_order_and_both_bounds_and_never_closes_for_good(sizes, most, budget, draw):
    door = Admission(iter(enumerate(sizes)), most, lambda job: job[1], budget)
    inside, seen = [], []
    while True:
        new = list(door.admit())
        inside, seen = inside + new, seen + new
        assert len(inside) <= most
        assert len(inside) == 1 or sum(size for _, size in inside) <= budget
        if not inside:
            break
        for _ in range(draw.draw(integers(1, len(inside)))):
            door.leave()
            inside.pop(0)
    assert seen == list(enumerate(sizes))


def test_large_jobs_go_through_one_by_one_and_results_keep_their_order():
    drawn, ahead = [], []

    def jobs():
        for number in range(-12, 0):
            drawn.append(number)
            yield number

    for done, result in enumerate(
        run_in_order(abs, jobs(), 2, abs, size=lambda job: 10, budget=15), start=1
    ):
        assert result == 13 - done
        ahead.append(len(drawn) - done)
    # one under way beside the one taken, or looked at and sent away from the door
    assert max(ahead) <= 1
    assert max(ahead) < READ_AHEAD


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("order", ["<", ">"])
def test_the_grid_in_the_header_says_what_reading_takes(tmp_path: Path, packed, kind, order):
    header = kind.header_class(endianness=order)
    content = kind(np.zeros((11, 12, 13, 4), np.int16), np.eye(4), header).to_bytes()
    path = tmp_path / "v.nii"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert estimate_bytes_to_read(source_of(path)) == LEAST_BYTES + 11 * 12 * 13 * BYTES_PER_VOXEL


def test_what_no_header_tells_is_judged_by_its_size_and_what_is_not_there_takes_little(
    tmp_path: Path,
):
    (tmp_path / "v.mha").write_bytes(b"ObjectType = Image\nNDims = 3\n" + b"\0" * 99_971)
    assert (
        estimate_bytes_to_read(source_of(tmp_path / "v.mha"))
        == LEAST_BYTES + BYTES_PER_VOXEL * 100_000
    )
    (tmp_path / "v.txt").write_bytes(b"no volume" * 10_000)
    assert estimate_bytes_to_read(source_of(tmp_path / "v.txt")) == LEAST_BYTES
    for path in (tmp_path / "gone", Path("null\0byte")):
        assert estimate_bytes_to_read(source_of(path)) == LEAST_BYTES


def test_a_script_without_a_guard_is_told_so_and_no_job_is_blamed(tmp_path: Path):
    """Each process reads the script again, and asks for processes itself."""
    script = tmp_path / "script.py"
    script.write_text(
        "from fovnet.machine.parallel import run_in_order\nfrom fovnet.errors import ConfigError\n"
        "try:\n    print(list(run_in_order(abs, [-1, -2], 2, lambda job: 'blamed')))\n"
        "except ConfigError as fault:\n    print(fault.code)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=900
    )
    assert done.stdout.split() == ["processes-none"], done.stdout + done.stderr


def test_processes_end_with_the_one_that_began_them(tmp_path: Path):
    """Killed with SIGKILL, it has no chance to end them itself."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\nfrom fovnet.machine.parallel import run_in_order\n"
        "def work(job):\n    return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    for pid in run_in_order(work, range(1000), 2, abs):\n        print(pid, flush=True)\n        "
        "time.sleep(0.2)\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True
    ) as begun:
        assert begun.stdout is not None
        workers = {int(begun.stdout.readline()) for _ in range(4)}
        begun.kill()
    until = time.monotonic() + 900
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(alive, workers))


def test_ctrl_c_ends_jobs_under_way_at_once(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(
        "import signal, time\nfrom pathlib import Path\nfrom fovnet.machine.parallel import process_pool\n"
        "def work(path):\n    path.touch()\n    time.sleep(3600)\n"
        # whatever started the tests may have it ignored, as a shell does for what runs in the background
        "if __name__ == '__main__':\n    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    with process_pool(1) as pool:\n"
        f"        pool.submit(work, Path({str(tmp_path / 'begun')!r})).result()\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stderr=subprocess.PIPE, text=True
    ) as begun:
        until = time.monotonic() + 900
        while not (tmp_path / "begun").exists() and time.monotonic() < until:
            time.sleep(0.1)
        begun.send_signal(signal.SIGINT)
        try:
            _, errors = begun.communicate(timeout=900)
        finally:
            begun.kill()
    assert "KeyboardInterrupt" in errors.splitlines()[-1]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return (
        "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
        if Path(f"/proc/{pid}").exists()
        else True
    )
