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

DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


_LOG_BY_LINES: dict[str, Path] = {}


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
    raising_lines = "".join(traceback.format_tb(fault.__traceback__)) + type(fault).__name__
    if raising_lines not in _LOG_BY_LINES or not _LOG_BY_LINES[raising_lines].exists():
        with tempfile.NamedTemporaryFile(
            "wb", prefix="fovnet-", suffix=".log", delete=False
        ) as log:
            traceback_text = "".join(traceback.format_exception(fault))
            log.write(
                f"fovnet {__version__}: {words}\n{traceback_text}".encode(errors="backslashreplace")
            )
        _LOG_BY_LINES[raising_lines] = Path(log.name)
    return _LOG_BY_LINES[raising_lines]


def is_disk_full(fault: Exception) -> TypeGuard[OSError]:
    """Whether a disk or a quota is full, which is not the fault of a volume."""
    return isinstance(fault, OSError) and fault.errno in DISK_FULL_ERRORS
