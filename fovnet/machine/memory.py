"""Memory of this process: at its peak, and now."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_bytes() -> float:
    """This process's peak memory so far, bytes.

    On Linux getrusage includes the parent from which a process was forked; /proc does not.
    """
    if peak := _told("VmHWM:"):
        return peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1.0 if sys.platform == "darwin" else 1024.0
    )


def resident_bytes() -> float:
    """This process's memory now, bytes; its peak where /proc does not tell."""
    return _told("VmRSS:") or peak_bytes()


def _told(name: str) -> float:
    """A line of /proc in bytes; 0 where there is none."""
    status = Path("/proc/self/status")
    lines = (
        status.read_text(encoding="ascii", errors="replace").splitlines() if status.exists() else ()
    )
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith(name)), 0.0)


def forget_peak() -> bool:
    """Reset the peak to the memory in use now; whether that was possible: on Linux, where /proc allows it
    (proc(5), clear_refs)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True
