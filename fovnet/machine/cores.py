"""How many threads may compute side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

VARIABLES = ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK")


def cores() -> int:
    """The cores that this process may run on; fewer if one of VARIABLES says so, or if its
    container may use less processor time; 1 or more."""
    affinity = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        affinity = len(os.sched_getaffinity(0))
    # OMP_NUM_THREADS may be a list, one number per level
    values = (os.environ.get(name, "").partition(",")[0].strip() for name in VARIABLES)
    limits = [int(value) for value in values if value.isdecimal() and int(value)]
    share = math.floor(min(affinity, processor_share()))
    return max(1, min(affinity, share, *limits))


def processor_share(
    group_list: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")
) -> float:
    """The processor time that this process's control groups may use, in cores: 1.5 is three cores
    half of the time; infinite without a limit, and on systems without control groups.

    group_list  the file that names the process's groups
    mount       the folder of all groups
    Source: cgroups(7); the kernel's admin-guide/cgroup-v2, and scheduler/sched-bwc for version 1.
    """
    try:
        entries = [line.split(":", 2)[1:] for line in group_list.read_text().splitlines()]
    except OSError:
        return math.inf
    groups = [group for names, path in entries for group in _groups_around(mount, names, path)]
    return min(map(_limit, groups), default=math.inf)


def _groups_around(mount: Path, names: str, path: str) -> Iterator[Path]:
    """The folders of a group and of those around it, whose limits hold too; none for groups that do
    not share out processor time.

    Version 2 names no controllers.  In a container the folder may be missing, as the outermost one
    there is the container's own.
    """
    if names and "cpu" not in names.split(","):
        return
    top = mount / "cpu" if names else mount
    group = top / path.strip("/")
    yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(top))


def _limit(group: Path) -> float:
    """A group's own limit: a quota and a period, in one file of version 2, in two of version 1."""
    try:
        if (group / "cpu.max").exists():
            numbers = (group / "cpu.max").read_text().split()
        else:
            files = (group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us")
            numbers = [path.read_text() for path in files]
        quota, period = map(int, numbers)
    except (OSError, ValueError):  # no such files, or the quota is "max"
        return math.inf
    return quota / period if quota > 0 and period > 0 else math.inf
