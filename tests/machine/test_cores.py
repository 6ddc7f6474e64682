"""How many threads may compute: what the machine, the container, the job and the user allow, the least of
them."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from fovnet.machine import cores as counted
from fovnet.machine.cores import cores, processor_share


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Eight cores, no limit, nothing given."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(counted, "processor_share", lambda: math.inf)
    for name in counted.CORE_COUNT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ({}, 8),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"OMP_NUM_THREADS": " 2 "}, 2),
        ({"OMP_NUM_THREADS": "64"}, 8),
        ({"OMP_NUM_THREADS": ""}, 8),
        ({"OMP_NUM_THREADS": "0"}, 8),
        ({"OMP_NUM_THREADS": "-1"}, 8),
        ({"OMP_NUM_THREADS": "many"}, 8),
        ({"SLURM_CPUS_PER_TASK": "5"}, 5),
        ({"SLURM_CPUS_PER_TASK": "5", "OMP_NUM_THREADS": "2"}, 2),
    ],
)
def test_variables_can_only_lower_the_number(
    eight: pytest.MonkeyPatch, given: dict[str, str], count: int
) -> None:
    for name, value in given.items():
        eight.setenv(name, value)
    assert cores() == count


@pytest.mark.parametrize(
    ("share", "count"), [(math.inf, 8), (16.0, 8), (3.0, 3), (2.5, 2), (1.0, 1), (0.25, 1)]
)
def test_a_share_of_processor_time_is_whole_cores_and_one_at_least(
    eight: pytest.MonkeyPatch, share: float, count: int
) -> None:
    eight.setattr(counted, "processor_share", lambda: share)
    assert cores() == count


@pytest.mark.parametrize(
    ("listed", "files", "share"),
    [
        ("0::/", {}, math.inf),
        ("0::/", {"cpu.max": "max 100000"}, math.inf),
        ("0::/", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/job/step", {"job/cpu.max": "200000 100000", "job/step/cpu.max": "max 100000"}, 2.0),
        ("0::/job/step", {"job/cpu.max": "400000 100000", "job/step/cpu.max": "50000 100000"}, 0.5),
        ("0::/seen/from/outside", {"cpu.max": "300000 100000"}, 3.0),
        (
            "3:cpu,cpuacct:/\n2:memory:/",
            {"cpu/cpu.cfs_quota_us": "250000", "cpu/cpu.cfs_period_us": "100000"},
            2.5,
        ),
        (
            "3:cpu,cpuacct:/job",
            {"cpu/job/cpu.cfs_quota_us": "-1", "cpu/job/cpu.cfs_period_us": "100000"},
            math.inf,
        ),
        (
            "3:cpuset:/\n2:memory:/",
            {"cpu/cpu.cfs_quota_us": "250000", "cpu/cpu.cfs_period_us": "100000"},
            math.inf,
        ),
        ("0::/", {"cpu.max": "damaged"}, math.inf),
    ],
)
def test_the_limits_of_control_groups(
    tmp_path: Path, listed: str, files: dict[str, str], share: float
) -> None:
    (tmp_path / "cgroup").write_text(f"{listed}\n")
    for name, text in files.items():
        (tmp_path / "sys" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys" / name).write_text(f"{text}\n")
    assert processor_share(tmp_path / "cgroup", tmp_path / "sys") == share
    assert processor_share(tmp_path / "nowhere", tmp_path / "sys") == math.inf
