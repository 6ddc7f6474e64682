"""Training of a single configuration in this process, as in a search but without a journal: its
network and its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net.jobs.training_data import LabelledSlices
from fovnet.net.jobs.workers import TrainingJob, one_thread, train
from fovnet.net.paths import forget
from fovnet.records import digest, read_json, write_json
from fovnet.search.journal import lock_journal
from fovnet.search.trial import Outcome, Proposal, Trial, from_facts, to_facts

if TYPE_CHECKING:
    from torch import Tensor

    from fovnet.net.training.progress import Progress

NETWORK_FILE = "network.safetensors"
RECORD_FILE = "trial.json"
NAMES_NOT_DECIDING = (
    "pixels",
    "rows",
    "weights",
    "source",
    "stamp",
    "process_seconds",
    "recipe",
    "ranges",
)
"""What of a job does not decide its outcome, or does by what it holds."""


@dataclass(frozen=True)
class SingleTraining:
    """A configuration, its data, and the folder for its files: network.safetensors, trial.json, and
    a checkpoint during training.

    source   a hash of the slices
    validation_slices  as in a search, drawn by `seed`
    job      as of a search; rows, folder of the weights and source are this training's own
    row_frequencies  (n,) with which each training row is drawn; None if uniform
    training_seed  of the weights, the order and the augmentation; with that of a search's trial,
                   the network is the same
    """

    configuration: Mapping[str, Any]
    data: LabelledSlices
    source: str
    folder: Path
    job: TrainingJob
    seed: int
    training_seed: int
    validation_slices: int | None = None
    row_frequencies: Tensor | None = None

    @property
    def network(self) -> Path:
        """The path of the weights of the best epoch."""
        return self.folder / NETWORK_FILE

    @property
    def validation_rows(self) -> NDArray[np.int64]:
        """(v,) the validation rows of the score, ascending."""
        return self._data_of_training.validation

    @property
    def _data_of_training(self) -> LabelledSlices:
        return self.data.with_validation_rows(self.validation_slices, self.seed)

    @property
    def guess(self) -> float:
        """The validation loss of guessing, in nats."""
        return self._data_of_training.guess(self.row_frequencies)

    def outcome(self, report: Callable[[Progress, int], None] | None = None) -> Outcome:
        """The outcome of the training, written to trial.json; the recorded one if this very
        training was done before.

        After a kill it resumes after the last whole epoch.  Raises SearchError ("journal-owned")
        while another process trains there.
        """
        with lock_journal(self.folder):
            return self._train(report)

    def _train(self, report: Callable[[Progress, int], None] | None) -> Outcome:
        """The recorded outcome, or that of the training, recorded."""
        trial = self.read_record()
        if trial is not None:
            return trial.outcome
        one_thread()  # gives the same bits as in a search
        record_path = self.folder / RECORD_FILE
        # of another training: its network must not stand beside this one's record
        if record_path.exists():
            self.network.unlink(missing_ok=True)
            record_path.unlink()
        job = replace(
            self.job,
            rows=self._data_of_training.write(self.folder),
            weights=self.folder / "networks",
            source=digest([self.source, self.seed, self.validation_slices]),
        )
        proposal = Proposal(0, 0, self.configuration, self.training_seed, (), (), 0.0)
        outcome = train(job, proposal, report, self.network)
        write_json(
            record_path,
            {**to_facts(Trial(proposal, outcome)), "decides": self._deciding_hash},
            settings=self.configuration,
            seed=self.seed,
        )
        forget(self.network)
        return outcome

    @property
    def _deciding_hash(self) -> str:
        """A hash of everything that the outcome depends on; the recipe's numbers beside the job's,
        as in records of before."""
        recipe = self.job.recipe
        deciding_values = {**vars(self.job), **vars(recipe), **vars(recipe.ranges)}
        deciding_values_in_words = {
            name: repr(value)
            for name, value in deciding_values.items()
            if name not in NAMES_NOT_DECIDING
        }
        return digest(
            [
                self.configuration,
                deciding_values_in_words,
                self.source,
                self.seed,
                self.training_seed,
                self.validation_slices,
            ]
        )

    def read_record(self) -> Trial | None:
        """The record of this very training, if it was done before without an error, and its network
        is there if it has a score; else None."""
        trial, deciding_hash = self._record_in_folder()
        if trial is None or deciding_hash != self._deciding_hash or trial.outcome.status == "error":
            return None
        if trial.score is not None and not self.network.exists():
            return None
        return trial

    def replaces(self) -> Mapping[str, Any] | None:
        """The configuration of another training whose network in the folder this one's will
        replace; None if there is none."""
        trial, decides = self._record_in_folder()
        if trial is None or decides == self._deciding_hash or not self.network.exists():
            return None
        return trial.proposal.configuration

    def _record_in_folder(self) -> tuple[Trial | None, str | None]:
        """The record in the folder, and the hash of what it depends on; (None, None) if there is
        none that can be read."""
        try:
            facts = read_json(self.folder / RECORD_FILE)
            return from_facts(facts), facts.get("decides")
        except (OSError, ValueError, KeyError, TypeError):
            return None, None
