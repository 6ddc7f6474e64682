"""Peak memory of this process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_bytes() -> float:
    """This process's peak memory so far, bytes.

    On Linux getrusage includes the parent from which a process was forked; /proc does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peaks = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if peaks:
            return 1024.0 * int(peaks[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def forget_peak() -> bool:
    """Reset the peak to the memory in use now; whether that was possible: on Linux, where /proc allows it
    (proc(5), clear_refs)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True
