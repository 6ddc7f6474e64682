"""What the C library does with memory that is freed."""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4       # glibc malloc.h


def keep_freed_memory() -> bool:
    """Whether this process from now on reuses large blocks instead of giving each back to the system: glibc only, else nothing happens.

    By default every array above some megabytes is mapped anew, and each of its pages costs a fault when first written.  Training's
    activations come and go thousands of times: without the faults a step takes 0.6 to 0.8 of the time, reading slices a half.  The
    price is that the process keeps its peak until it ends.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):       # another C library: musl has no mallopt
        return False
    return bool(mallopt(M_MMAP_MAX, 0) and mallopt(M_TRIM_THRESHOLD, 2**31 - 1))


def give_back_freed_memory() -> bool:
    """Whether anything was given back to the system of what this process has freed: glibc only (malloc_trim)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (OSError, AttributeError):
        return False
