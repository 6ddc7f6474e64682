"""From an exception in a training to the end (status and message) of its trial."""

from __future__ import annotations

from fovnet.errors import SearchError
from fovnet.net.stopping import End
from fovnet.unforeseen import is_disk_full

MEMORY_MESSAGES = (
    "can't allocate memory",
    "not enough memory",
    "alloc_failed",
    "std::bad_alloc",
    "out of memory",
    "could not create a primitive",
    "can't start new thread",
)
"""Texts of the plain RuntimeErrors by which CPU code, cuDNN, cuBLAS and C++ report that memory is
short."""


def end_of_fault(fault: Exception) -> End:
    """`out_of_memory` if memory was short, else `error` with the exception in one line.

    Raises SearchError ("disk-full") if a disk is full: this fails every training and is not caused
    by the configuration.
    """
    if is_disk_full(fault):
        raise SearchError(
            "disk-full",
            f"{fault.filename or 'the results'}: no space left on the disk ({fault.strerror}); "
            "free some, and run the same command again: it resumes from here",
        ) from fault
    message = (str(fault).strip().splitlines() or [""])[0]
    if is_memory_short(fault):
        return End("out_of_memory", message or "out of memory")
    return End("error", f"{type(fault).__name__}: {message}" if message else type(fault).__name__)


def is_memory_short(fault: Exception) -> bool:
    """Whether the exception means that memory was short; torch's own is known by its name, as it
    may be asked where torch is not imported."""
    if isinstance(fault, MemoryError) or type(fault).__name__ == "OutOfMemoryError":
        return True
    message = str(fault).lower()
    return isinstance(fault, RuntimeError) and any(words in message for words in MEMORY_MESSAGES)
