"""Locks between processes: on an open file, let go of when it is closed or its process dies, however it dies.

Where a file system knows no locks (Lustre mounted without, NFS without its daemon) nobody is kept out, and nobody is stopped either: the
clusters that jobs are for have such file systems.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO


def take(opened: IO[str] | int, *, shared: bool = False, wait: bool = False) -> None:
    """The lock of an open file, or folder's descriptor, for this process: alone, or shared with others that share it.

    wait  until it is free; else raises BlockingIOError where another process has it
    """
    try:
        fcntl.flock(opened, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:
        pass


def alone(folder: Path) -> int:
    """A descriptor of the folder, made where it was not, that has its lock; closing it lets go.  Raises BlockingIOError as `take`."""
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder, os.O_RDONLY)
    try:
        take(place)
    except BlockingIOError:
        os.close(place)
        raise
    return place
