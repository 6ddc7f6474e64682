"""The paths in a results folder, so that every verb of a workflow finds the files of the one before
it; and that of the ensemble that comes with the package."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from fovnet.errors import ConfigError, ModelError
from fovnet.machine.locks import take_lock
from fovnet.records import checksum

SHIPPED_NETWORKS = Path(__file__).parent / "decision" / "shipped"
"""The ensemble that comes with the package."""
JOBS_PREFIX = "jobs-"
"""Prefix of the journals of searches whose slots are separate jobs."""


def shipped_folder(folder: Path = SHIPPED_NETWORKS) -> Path:
    """The ensemble that comes with this installation.  Raises ModelError "model-absent" if it has
    none."""
    if not (folder / "ensemble.json").is_file():
        raise ModelError(
            "model-absent",
            f"{folder}: this installation has no networks; give --model FOLDER, the folder "
            "`ensemble` of a workflow run, or make them once: make shipped, then fovnet export "
            f"shipped results/shipped --out {shlex.quote(str(folder))}",
        )
    return folder


@dataclass(frozen=True)
class Results:
    """The paths below one results folder; reading a path creates nothing."""

    folder: Path

    def take_lock(self) -> TextIO:
        """The folder's lock, held until the process ends or closes the file: two runs would
        overwrite each other's settings and files.

        Raises ConfigError "results-held" if another run holds it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = (self.folder / "run.lock").open("a")
        try:
            take_lock(lock)
        except BlockingIOError:
            lock.close()
            raise ConfigError(
                "results-held",
                f"{self.folder}: another run is working here; wait for it, or set another "
                "`results`",
            ) from None
        return lock

    @property
    def phantom(self) -> Path:
        """The simulated collection."""
        return self.folder / "phantom"

    def is_to_simulate(self, subjects: int) -> bool:
        """Whether simulated people are requested (`subjects` > 0) and the simulated collection does
        not exist yet."""
        return bool(subjects) and not (self.phantom / "volumes.tsv").exists()

    @property
    def slices(self) -> Path:
        """The packed slices of all collections."""
        return self.folder / "slices"

    @property
    def calibration(self) -> Path:
        """The device as measured, for `search.speed: measure`."""
        return self.folder / "calibration.json"

    @property
    def prior(self) -> Path:
        """The prior from the searches of `search.learn_from`."""
        return self.folder / "prior.safetensors"

    @property
    def search(self) -> Path:
        """`trials.tsv`, `current.json`, and one folder per journal."""
        return self.folder / "search"

    @property
    def trials(self) -> Path:
        """One row per trial, written when the search is done."""
        return self.search / "trials.tsv"

    @property
    def ensemble(self) -> Path:
        """The ensemble, as `fovnet predict --model` reads it."""
        return self.folder / "ensemble"

    @property
    def probabilities(self) -> Path:
        """The ensemble's class probabilities of the validation and test slices."""
        return self.folder / "probabilities.npz"

    @property
    def decisions(self) -> Path:
        """`spans.tsv` and one JSON per volume of the test split."""
        return self.folder / "decisions"

    @property
    def evaluation(self) -> Path:
        """`evaluation.json` and its tables."""
        return self.folder / "evaluation"

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / "report.html"

    def checksums(self, *files: Path) -> dict[str, str]:
        """The SHA-256 of files in the folder, by their path relative to it.  Raises OSError if one
        is missing."""
        return {file.relative_to(self.folder).as_posix(): checksum(file) for file in files}

    def journal_folder(self, digest: str) -> Path:
        """The journal of the search with these settings on these slices; every other search has its
        own."""
        return self.search / digest[:12]

    def jobs_folder(self, digest: str) -> Path:
        """The journal of the search with these settings whose slots are separate jobs; its name is
        known before there are slices."""
        return self.search / f"{JOBS_PREFIX}{digest[:12]}"
