"""From an exception in a training to the end that it stands for."""

from __future__ import annotations

import errno

import torch

from fovnet.errors import SearchError
from fovnet.net.stopping import End

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_MEMORY = ("can't allocate memory", "not enough memory", "alloc_failed", "std::bad_alloc", "out of memory")
"""Texts of the plain RuntimeErrors that processors, cuDNN, cuBLAS and C++ raise when memory is short."""


def end_of(fault: Exception) -> End:
    """`out_of_memory` where there was none, else `error` with the exception in a line.

    Raises SearchError ("disk-full") where a disk is full: that fails every training alike, so none is to be blamed for it.
    """
    message = (str(fault).strip().splitlines() or [""])[0]
    if isinstance(fault, OSError) and fault.errno in FULL:
        where = f"{fault.filename or 'the results'}: no room on the disk ({fault.strerror})"
        raise SearchError("disk-full", f"{where}; make some, and give the same command again: it goes on from here") from fault
    if is_starved(fault):
        return End("out_of_memory", message or "out of memory")
    return End("error", f"{type(fault).__name__}: {message}" if message else type(fault).__name__)


def is_starved(fault: Exception) -> bool:
    """Whether memory was short."""
    if isinstance(fault, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(fault, RuntimeError) and any(words in str(fault).lower() for words in NO_MEMORY)
