"""How many threads may compute side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

CORE_COUNT_VARIABLES = ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK")


def cores() -> int:
    """The cores that this process may run on; fewer if one of CORE_COUNT_VARIABLES says so, or if
    its container may use less processor time; 1 or more."""
    affinity_cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        affinity_cores = len(os.sched_getaffinity(0))
    # OMP_NUM_THREADS may be a list, one number per level
    first_values = (
        os.environ.get(name, "").partition(",")[0].strip() for name in CORE_COUNT_VARIABLES
    )
    limits_of_variables = [int(value) for value in first_values if value.isdecimal() and int(value)]
    whole_cores_of_share = math.floor(min(affinity_cores, processor_share()))
    return max(1, min(affinity_cores, whole_cores_of_share, *limits_of_variables))


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
        names_and_paths = [line.split(":", 2)[1:] for line in group_list.read_text().splitlines()]
    except OSError:
        return math.inf
    group_folders = [
        group_folder
        for names, path in names_and_paths
        for group_folder in _groups_around(mount, names, path)
    ]
    return min(map(_core_limit, group_folders), default=math.inf)


def _groups_around(mount: Path, controller_names: str, group_path: str) -> Iterator[Path]:
    """The folders of a group and of those around it, whose limits hold too; none for groups that do
    not share out processor time.

    Version 2 names no controllers.  In a container the folder may be missing, as the outermost one
    there is the container's own.
    """
    if controller_names and "cpu" not in controller_names.split(","):
        return
    controller_folder = mount
    if controller_names:
        controller_folder = mount / "cpu"
    group_folder = controller_folder / group_path.strip("/")
    yield from (
        folder
        for folder in (group_folder, *group_folder.parents)
        if folder.is_relative_to(controller_folder)
    )


def _core_limit(group_folder: Path) -> float:
    """The processor time that a group itself may use, in cores; infinite without a limit.

    It is a quota over a period: in one file of version 2, in two of version 1.
    """
    try:
        if (group_folder / "cpu.max").exists():
            quota_and_period = (group_folder / "cpu.max").read_text().split()
        else:
            limit_files = (group_folder / "cpu.cfs_quota_us", group_folder / "cpu.cfs_period_us")
            quota_and_period = [path.read_text() for path in limit_files]
        quota, period = map(int, quota_and_period)
    except (OSError, ValueError):  # no such files, or the quota is "max"
        return math.inf
    if quota <= 0 or period <= 0:
        return math.inf
    return quota / period
