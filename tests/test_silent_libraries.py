"""Warnings and log messages of libraries do not reach the terminal of the command line, and are errors in
tests as before."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from fovnet.cli import _silent_libraries

LIBRARY = """
import logging, warnings
import numpy as np

def library(job):
    warnings.warn("a private tag")
    logging.getLogger("pydicom").warning("an odd value")
    logger = logging.getLogger("nibabel.global")
    logger.handlers or logger.addHandler(logging.StreamHandler())
    logger.error("a wrong header")
    return float(np.log(np.zeros(1))[0] + job)
"""
COMMAND = """
import sys
from fovnet.cli import app, main
from fovnet.machine.parallel import run_in_order
from library import library

@app.command()
def odd(workers: int) -> None:
    print([float(one) for one in run_in_order(library, [1, 2, 3], workers, lambda job: job)])

if __name__ == "__main__":
    sys.argv = ["fovnet", "odd", sys.argv[1]]
    main()
"""


def run(
    tmp_path, workers: int, *options: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What a verb leaves on the terminal that reads three odd files with this many workers."""
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "command.py").write_text(COMMAND)
    where = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    known = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    line = [sys.executable, *options, str(tmp_path / "command.py"), str(workers)]
    return subprocess.run(
        line,
        env=known | where | environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_what_libraries_say_of_odd_files_does_not_reach_the_terminal(
    tmp_path, workers: int
) -> None:
    done = run(tmp_path, workers)
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("[-inf, -inf, -inf]", "", 0)


@pytest.mark.parametrize(
    ("options", "environment"), [(("-W", "always"), {}), ((), {"PYTHONWARNINGS": "always"})]
)
def test_whoever_asks_python_for_warnings_sees_them(
    tmp_path, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    done = run(tmp_path, 1, *options, **environment)
    assert "divide by zero" in done.stderr and "a private tag" in done.stderr


def test_warnings_are_errors_again_afterwards() -> None:
    before = dict(os.environ), logging.root.manager.disable, list(warnings.filters)
    with _silent_libraries():
        np.log(np.zeros(1))
    assert (dict(os.environ), logging.root.manager.disable, list(warnings.filters)) == before
    with pytest.raises(RuntimeWarning):
        np.log(np.zeros(1))
