"""Unexpected exceptions: their traceback goes into a log file, and a sentence tells what raised
them.

A volume that raises one, at whatever stage, is refused with the code "internal"; the others are
answered.
"""

from __future__ import annotations

import errno
import tempfile
import traceback
from pathlib import Path
from typing import TypeGuard

from fovnet._version import __version__
from fovnet.errors import VolumeError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


_LOGS: dict[str, Path] = {}


def internal(path: object, fault: Exception) -> VolumeError:
    """The refusal "internal" of a volume that raised `fault`, whose traceback is then in a log
    file."""
    return VolumeError(
        "internal",
        f"{path}: fovnet failed with an unexpected error ({type(fault).__name__}). The traceback "
        f"is in {log_of(fault)}; please report it; meanwhile, try converting the volume another "
        "way (dcm2niix).",
    )


def log_of(fault: Exception, words: str = "") -> Path:
    """A log file, readable by this user alone, with a traceback and the `words` before it; one for
    all exceptions that the same lines of code raise: 100,000 volumes that fail alike leave one file
    per process."""
    lines = "".join(traceback.format_tb(fault.__traceback__)) + type(fault).__name__
    if lines not in _LOGS or not _LOGS[lines].exists():
        with tempfile.NamedTemporaryFile(
            "wb", prefix="fovnet-", suffix=".log", delete=False
        ) as log:
            trace = "".join(traceback.format_exception(fault))
            log.write(f"fovnet {__version__}: {words}\n{trace}".encode(errors="backslashreplace"))
        _LOGS[lines] = Path(log.name)
    return _LOGS[lines]


def is_disk_full(fault: Exception) -> TypeGuard[OSError]:
    """Whether a disk or a quota is full, which is not the fault of a volume."""
    return isinstance(fault, OSError) and fault.errno in FULL
