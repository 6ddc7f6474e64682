"""What reads the output may end before fovnet does, as `head -1` does: that is no bug."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

VERBS = {
    "codes": ["codes"],
    "help of a verb": ["predict", "--help"],
    "help of a group": ["bench"],
    "an error": ["no-such-verb"],
}


@pytest.mark.parametrize("line", VERBS.values(), ids=VERBS)
def test_a_closed_pipe_ends_a_verb_quietly(line: list[str], tmp_path) -> None:
    """As by SIGPIPE, 141; also where all is written to one pipe, and none of it can be."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        both = subprocess.run(
            [sys.executable, "-m", "fovnet", *line],
            stdout=closed,
            stderr=closed,
            cwd=tmp_path,
            check=False,
            env=os.environ | {"TMPDIR": str(tmp_path)},
        )
    assert both.returncode == 141
    assert not list(tmp_path.glob("*.log"))


def test_only_the_output_s_pipe_counts(tmp_path) -> None:
    """A broken pipe to a worker is a bug like any other, and is told with its traceback."""
    script = (
        "import fovnet.cli as cli\ndef broken(**how):\n    raise BrokenPipeError(32, 'Broken "
        "pipe')\ncli.main(broken)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 1 and "traceback" in done.stderr
    assert "BrokenPipeError" in next(tmp_path.glob("*.log")).read_text()


def test_a_reader_that_ends_gets_what_it_asked_for() -> None:
    shell = f"set -o pipefail; {sys.executable} -m fovnet codes | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.stdout == "code\tstatus\tmeaning\tto_try\tconcerns\n"
    assert not done.stderr and done.returncode in (0, 141)


def test_an_output_closed_from_the_start_is_no_fault() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m fovnet codes >&-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr
