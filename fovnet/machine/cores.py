"""How many threads may compute side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

GIVEN = ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK")


def cores() -> int:
    """The cores that this process may run on; fewer if a variable of GIVEN says so, or if its container may
    use less processor time; 1 or more."""
    allowed = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    # OMP_NUM_THREADS may be a list, one number per level
    given = (os.environ.get(name, "").partition(",")[0].strip() for name in GIVEN)
    wanted = [int(number) for number in given if number.isdecimal() and int(number)]
    share = math.floor(min(allowed, processor_share()))
    return max(1, min(allowed, share, *wanted))


def processor_share(
    listed: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> float:
    """The processor time that this process's control groups may use, in cores: 1.5 is three cores half of the
    time; infinite without a limit, and on systems without control groups.

    listed  the file that names the process's groups      mounted  the folder of all groups
    Source: cgroups(7); the kernel's admin-guide/cgroup-v2, and scheduler/sched-bwc for version 1.
    """
    try:
        groups = [line.split(":", 2)[1:] for line in listed.read_text().splitlines()]
    except OSError:
        return math.inf
    around = [group for names, place in groups for group in _around(mounted, names, place)]
    return min(map(_limit, around), default=math.inf)


def _around(mounted: Path, names: str, place: str) -> Iterator[Path]:
    """The folders of a group and of those around it, whose limits hold too; none for groups that do not share
    out processor time.

    Version 2 names no controllers.  In a container the folder may be missing, as the outermost one there is
    the container's own.
    """
    if names and "cpu" not in names.split(","):
        return
    top = mounted / "cpu" if names else mounted
    group = top / place.strip("/")
    yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(top))


def _limit(group: Path) -> float:
    """A group's own limit: a quota and a period, in one file of version 2, in two of version 1."""
    try:
        one_file, two_files = (
            group / "cpu.max",
            (group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us"),
        )
        numbers = (
            one_file.read_text()
            if one_file.exists()
            else " ".join(path.read_text() for path in two_files)
        )
        quota, period = map(int, numbers.split())
    except (OSError, ValueError):  # no such files, or the quota is "max"
        return math.inf
    return quota / period if quota > 0 and period > 0 else math.inf
