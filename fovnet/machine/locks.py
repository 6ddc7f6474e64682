"""Locks between processes on an open file; released when it is closed or its process ends, for
whatever reason.

On a file system without locks (Lustre mounted without, NFS without its daemon) every lock is
granted: clusters, for which jobs are meant, have such file systems.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


def take_lock(file: IO[str] | int, *, shared: bool = False, wait: bool = False) -> None:
    """Acquire the lock of an open file, or of a folder's descriptor, for this process: exclusive or
    shared.

    wait  until it is free; otherwise raises BlockingIOError if another process holds it
    """
    operation = fcntl.LOCK_EX
    if shared:
        operation = fcntl.LOCK_SH
    if not wait:
        operation |= fcntl.LOCK_NB
    try:
        fcntl.flock(file, operation)
    except BlockingIOError:
        raise
    except OSError:
        pass


def release_lock(file: IO[str] | int) -> None:
    """Give back the lock of a file that stays open."""
    with suppress(OSError):  # as in `take_lock`: a file system without locks
        fcntl.flock(file, fcntl.LOCK_UN)


def lock_folder(folder: Path, *, wait: bool = False) -> int:
    """A descriptor of the folder, created if missing, that holds its exclusive lock; closing it
    releases the lock.

    wait, and raises BlockingIOError, as `take_lock`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        take_lock(descriptor, wait=wait)
    except BlockingIOError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def share_folder(folder: Path) -> Iterator[None]:
    """While the block runs, the shared lock of a folder, created if missing: a `lock_folder` waits
    or is refused.  Waits for one who has it alone."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        take_lock(descriptor, shared=True, wait=True)
        yield
    finally:
        os.close(descriptor)
