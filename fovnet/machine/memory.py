"""Memory of this process: at its peak, and now."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

BYTES_PER_KIB = 1024.0


def peak_bytes() -> float:
    """This process's peak memory so far, bytes.

    On Linux getrusage includes the parent from which a process was forked; /proc does not.
    """
    peak_from_proc = _status_bytes("VmHWM:")
    if peak_from_proc:
        return peak_from_proc
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    if sys.platform == "darwin":
        return peak  # in bytes there, in KiB elsewhere
    return peak * BYTES_PER_KIB


def resident_bytes() -> float:
    """This process's memory now, bytes; its peak where /proc does not tell."""
    return _status_bytes("VmRSS:") or peak_bytes()


def _status_bytes(name: str) -> float:
    """The figure of this name in the status of this process in /proc, which has KiB, in bytes; 0
    where there is none."""
    status_file = Path("/proc/self/status")
    if status_file.exists():
        for line in status_file.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(name):
                return BYTES_PER_KIB * int(line.split()[1])
    return 0.0


def forget_peak() -> bool:
    """Reset the peak to the memory in use now; whether that was possible: on Linux, where /proc
    allows it (proc(5), clear_refs)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True
