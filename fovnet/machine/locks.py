"""Locks between processes on an open file; released when it is closed or its process ends, for whatever
reason.

On a file system without locks (Lustre mounted without, NFS without its daemon) every lock is granted:
clusters, for which jobs are meant, have such file systems.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


def take(opened: IO[str] | int, *, shared: bool = False, wait: bool = False) -> None:
    """Acquire the lock of an open file, or of a folder's descriptor, for this process: exclusive or shared.

    wait  until it is free; otherwise raises BlockingIOError if another process holds it
    """
    try:
        fcntl.flock(
            opened, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
        )
    except BlockingIOError:
        raise
    except OSError:
        pass


def release(opened: IO[str] | int) -> None:
    """Give back the lock of a file that stays open."""
    with suppress(OSError):  # as in `take`: a file system without locks
        fcntl.flock(opened, fcntl.LOCK_UN)


def alone(folder: Path, *, wait: bool = False) -> int:
    """A descriptor of the folder, created if missing, that holds its exclusive lock; closing it releases the
    lock.

    wait, and raises BlockingIOError, as `take`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder, os.O_RDONLY)
    try:
        take(place, wait=wait)
    except BlockingIOError:
        os.close(place)
        raise
    return place


@contextmanager
def together(folder: Path) -> Iterator[None]:
    """While the block runs, the shared lock of a folder, created if missing: whoever wants it `alone` waits
    or is refused.  Waits for one who has it alone."""
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder, os.O_RDONLY)
    try:
        take(place, shared=True, wait=True)
        yield
    finally:
        os.close(place)
