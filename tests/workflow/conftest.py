"""One run of the whole workflow on the smoke configuration, for all tests that look at what it leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from fovnet.machine.locks import take_lock

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent


@dataclass(frozen=True)
class Shell:
    """Runs what a user would type, with this environment's programs first on the path."""

    folder: Path

    def __call__(
        self, *words: str | Path, check: bool = True, timeout: float = 600
    ) -> subprocess.CompletedProcess[str]:
        line = list(map(str, words))
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.folder,
            env=self.environment,
            check=False,
        )
        said = f"{' '.join(line)}: status {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        assert not check or done.returncode == 0, said
        return done

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("SNAKEMAKE")
        }
        return {**kept, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell in an empty folder."""
    return Shell(tmp_path_factory.mktemp("user"))


@pytest.fixture(scope="session")
def smoke(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of `snakemake --configfile configs/smoke.yaml`, run outside the checkout.

    Of several workers the first makes the run, and each has a copy of its own, which tests may change.
    """
    base = tmp_path_factory.getbasetemp()
    made = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "smoke-made"
    made.mkdir(exist_ok=True)
    with (made.parent / "smoke.lock").open("a") as lock:
        take_lock(lock, wait=True)
        if not (made / "results" / "smoke" / "report.html").exists():
            maker = Shell(made)
            maker(
                "snakemake",
                "--snakefile",
                ROOT / "Snakefile",
                "--cores",
                "2",
                "--configfile",
                ROOT / "configs/smoke.yaml",
            )
    # with the times of files, by which Snakemake judges
    shutil.copytree(made, shell.folder, dirs_exist_ok=True)
    return shell.folder / "results" / "smoke"
