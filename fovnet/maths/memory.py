"""How much memory this process has taken."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_bytes() -> float:
    """This process's peak memory so far.

    Linux's getrusage also remembers the parent that a process was begun from; /proc does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peaks = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if peaks:
            return 1024.0 * int(peaks[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)
